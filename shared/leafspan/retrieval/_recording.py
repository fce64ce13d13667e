"""Records a retrieval as an OpenTelemetry span, if the application has set up a tracer provider."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from leafspan.checks import is_unicode, shown
from leafspan.errors import LeafspanError
from leafspan.flows import Flow
from leafspan.spans import citation
from leafspan.values import Passage, Query

_SUPPRESSED = "suppress_instrumentation"  # set by OpenTelemetry and OpenInference where leafspan must not record


def opentelemetry() -> Any:
    """The module ``opentelemetry.trace``, or None if nobody records spans.

    This does not import it: an application that has set up a tracer provider has imported it.
    """
    if "opentelemetry.trace" not in sys.modules:
        return None
    try:
        from opentelemetry import context, trace  # waits where another thread is importing them right now
    except ImportError:  # then nobody can have set up a provider
        return None
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return None
    return None if context.get_value(_SUPPRESSED) else trace


REDACTED = "__REDACTED__"
"""The text that replaces a hidden question, as in OpenInference's own instrumentations."""


@dataclass(frozen=True, slots=True)
class Hiding:
    """What to leave out of spans."""

    inputs: bool  # whether to hide questions, and everything that may quote one
    outputs: bool  # whether to hide the texts and metadata of passages

    @classmethod
    def of_environment(cls) -> Hiding:
        """Read ``OPENINFERENCE_HIDE_INPUTS`` and ``OPENINFERENCE_HIDE_OUTPUTS``: ``true``, in any case, hides."""
        return cls(_is_true("OPENINFERENCE_HIDE_INPUTS"), _is_true("OPENINFERENCE_HIDE_OUTPUTS"))


def _is_true(name: str) -> bool:
    return os.environ.get(name, "").strip().casefold() == "true"


KIND = "openinference.span.kind"
Attributes = dict[str, str | float]


def input_attributes(asked: object, hiding: Hiding) -> Attributes:
    """The attributes of a question, or an empty dict if the query has no text."""
    text = asked.text if isinstance(asked, Query) else asked
    if not isinstance(text, str):
        return {}
    return {"input.value": REDACTED if hiding.inputs else valid(text), "input.mime_type": "text/plain"}


def document_attributes(passages: Sequence[Passage], hiding: Hiding) -> Attributes:
    """The attributes of passages. Ids and scores are never hidden."""
    found: Attributes = {}
    for number, passage in enumerate(passages):
        name = f"retrieval.documents.{number}.document"
        found[f"{name}.id"] = valid(str(passage.id))
        found[f"{name}.score"] = float(passage.score)
        if not hiding.outputs:
            found[f"{name}.content"] = valid(passage.text)
            why = {} if hiding.inputs else {"trace": passage.trace.explain()}  # it may quote phrasings of the question
            found[f"{name}.metadata"] = to_json({**passage.metadata, **citation(passage), **why})
    return found


def to_json(value: Mapping[str, object]) -> str:
    """Values by key as JSON. Values that JSON does not have become their repr."""
    try:
        return _dumped(value)
    except (TypeError, ValueError, RecursionError):  # such as a key that is not a text, in another source's metadata
        return _dumped(
            {
                key if isinstance(key, str) else shown(key): each if _fits(each) else shown(each)
                for key, each in value.items()
            }
        )


def _dumped(value: object) -> str:
    return valid(json.dumps(value, ensure_ascii=False, allow_nan=False, default=shown))


def _fits(value: object) -> bool:
    try:
        _dumped(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def valid(text: str) -> str:
    """Make a text valid Unicode: an exporter would drop all spans for one lone surrogate."""
    return text if is_unicode(text) else text.encode(errors="replace").decode()


T = TypeVar("T")


class Recording:
    """The record of one call of ``retrieve``. The flow that retrieves fills it, and the span gets it at the end.

    So an abandoned flow does not touch a span that has ended.
    """

    def __init__(self, *, is_on: bool, several: bool = False) -> None:
        self.is_on = is_on
        self.several = several
        self._asked: Any = None
        self._found: Any = None

    def note(self, asked: Any, found: Any) -> None:
        """Record the queries, in any form, and the passages for each."""
        self._asked, self._found = asked, found

    def of(self, flow: Flow[T], asked: Any) -> Flow[T]:
        """Wrap the flow of a retrieval so that it records its queries and results."""
        return self._noting(flow, asked) if self.is_on else flow

    def _noting(self, flow: Flow[T], asked: Any) -> Flow[T]:
        self.note(asked, None)
        found = yield from flow
        self.note(asked, found)
        return found

    @property
    def found(self) -> list[tuple[Any, Sequence[Passage]]]:
        """Each query with its passages."""
        if self._found:
            return list(zip(self._asked, self._found, strict=True))
        return [] if self.several or self._asked is None else [(self._asked[0], ())]


_OFF = Recording(is_on=False)


@contextmanager
def recorded(
    strategy: object, options: Mapping[str, object], *, several: bool = False, private: bool = False
) -> Iterator[Recording]:
    """A context in which a retrieval is recorded, as a span of the kind ``RETRIEVER``, if the application records spans.

    ``several`` queries are a span of the kind ``CHAIN``, with a span of the kind ``RETRIEVER`` for each query. Spans of
    calls that the retrieval makes, such as to a language model, are below it. An error is recorded and raised.
    """
    trace = opentelemetry()
    if trace is None:
        yield _OFF
        return
    hiding = Hiding.of_environment()
    tracer = trace.get_tracer("leafspan")
    began = time.time_ns()
    span = tracer.start_span(f"{type(strategy).__name__}.retrieve", start_time=began)
    recording = Recording(is_on=span.is_recording(), several=several)
    failure: BaseException | None = None
    try:
        with trace.use_span(span, record_exception=False, set_status_on_exception=False):
            yield recording
    except BaseException as error:
        failure = error
        raise
    finally:
        if recording.is_on:
            hidden = ("where",) if private or hiding.inputs else ()  # a filter may quote names
            given = {name: value for name, value in options.items() if value is not None and name not in hidden}
            _describe(span, recording, {"strategy": type(strategy).__name__, **given}, hiding)
            _describe_each(trace, tracer, span, began, recording, hiding)
            if failure is not None:
                _fail(trace, span, failure, hiding, private=private)
        span.end()


def _describe(span: Any, recording: Recording, options: Mapping[str, object], hiding: Hiding) -> None:
    span.set_attributes({KIND: "CHAIN" if recording.several else "RETRIEVER", "metadata": to_json(options)})
    for asked, found in () if recording.several else recording.found:
        span.set_attributes({**input_attributes(asked, hiding), **document_attributes(found, hiding)})


def _describe_each(trace: Any, tracer: Any, span: Any, began: int, recording: Recording, hiding: Hiding) -> None:
    """Add a span for each of several queries."""
    above = trace.set_span_in_context(span)
    for asked, found in recording.found if recording.several else ():
        below = tracer.start_span(span.name, context=above, start_time=began)
        below.set_attributes({KIND: "RETRIEVER", **input_attributes(asked, hiding), **document_attributes(found, hiding)})
        below.end()


def _fail(trace: Any, span: Any, error: BaseException, hiding: Hiding, *, private: bool) -> None:
    name = type(error).__name__
    if hiding.inputs or (private and not isinstance(error, LeafspanError)):
        span.add_event("exception", {"exception.type": name})
        described = name
    elif private:
        span.add_event("exception", {"exception.type": name, "exception.message": valid(str(error))})
        described = f"{name}: {error}"
    else:
        span.record_exception(error)
        described = f"{name}: {error}"
    span.set_status(trace.Status(trace.StatusCode.ERROR, valid(described)))

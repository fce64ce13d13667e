"""Records a retrieval as an OpenTelemetry span, if the application has set up a tracer provider."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

from leafspan.checks import is_unicode, shown
from leafspan.errors import LeafspanError
from leafspan.flows import METRICS, Flow, instrument
from leafspan.spans import citation
from leafspan.values import Passage, Query

T = TypeVar("T")

_SUPPRESSED = "suppress_instrumentation"  # set by OpenTelemetry and OpenInference where leafspan must not record
_KIND = "openinference.span.kind"
_REDACTED = "__REDACTED__"  # instead of a hidden question, as in OpenInference's own instrumentations


class Recording:
    """The record of one call of ``retrieve``. The flow that retrieves fills it, and the span gets it at the end.

    So an abandoned flow does not touch a span that has ended.
    """

    def __init__(self, *, is_on: bool, several: bool = False) -> None:
        self.is_on = is_on
        self._several = several  # several queries in the call
        self._queries: Any = None
        self._rows: Any = None

    def note(self, queries: Any, rows: Any) -> None:
        """Record the queries, in any form, and the passages for each."""
        self._queries, self._rows = queries, rows

    def of(self, flow: Flow[T], queries: Any) -> Flow[T]:
        """Wrap the flow of a retrieval so that it records its queries and results."""
        return self._noting(flow, queries) if self.is_on else flow

    def _noting(self, flow: Flow[T], queries: Any) -> Flow[T]:
        self.note(queries, None)
        rows = yield from flow
        self.note(queries, rows)
        return rows

    @property
    def results(self) -> list[tuple[Any, Sequence[Passage]]]:
        """Each query with its passages."""
        if self._rows:
            return list(zip(self._queries, self._rows, strict=True))
        return [] if self._several or self._queries is None else [(self._queries[0], ())]


_OFF = Recording(is_on=False)


@contextmanager
def recorded(strategy: object, *, several: bool = False, private: bool = False) -> Iterator[Recording]:
    """A context in which a retrieval is measured, and recorded as a span of the kind ``RETRIEVER`` if there are spans.

    ``several`` queries are a span of the kind ``CHAIN``, with a span of the kind ``RETRIEVER`` for each query. Spans of
    calls that the retrieval makes, such as to a language model, are below it. An error is recorded and raised.
    """
    trace, began = _opentelemetry(), time.time_ns()
    name = type(strategy).__name__
    is_on, recording, within = False, _OFF, nullcontext()
    if trace is not None:
        tracer = trace.get_tracer("leafspan")
        span = tracer.start_span(f"{name}.retrieve", start_time=began)
        is_on = span.is_recording()
        recording = Recording(is_on=is_on, several=several)
        within = trace.use_span(span, record_exception=False, set_status_on_exception=False)
    failure: BaseException | None = None
    try:
        with within:
            yield recording
    except BaseException as error:
        failure = error
        raise
    finally:
        if METRICS in sys.modules:
            failed = {} if failure is None else {"error.type": type(failure).__name__}
            instrument("leafspan.retrieve.duration")((time.time_ns() - began) / 1e9, {"leafspan.strategy": name, **failed})
        if is_on:
            span.set_attribute(_KIND, "CHAIN" if several else "RETRIEVER")
            above = trace.set_span_in_context(span)
            for query, passages in recording.results:
                below = tracer.start_span(span.name, context=above, start_time=began) if several else span
                below.set_attributes({_KIND: "RETRIEVER", **_attributes(query, passages)})
                if several:
                    below.end()
            if failure is not None:
                _fail(trace, span, failure, private=private)
        if trace is not None:
            span.end()


def _opentelemetry() -> Any:
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


def _hides(what: str) -> bool:
    """Whether the environment hides inputs (questions, and everything that may quote one) or outputs."""
    return os.environ.get(f"OPENINFERENCE_HIDE_{what}", "").strip().casefold() == "true"


def _attributes(query: object, passages: Sequence[Passage]) -> dict[str, str | float]:
    """The attributes of a question and its passages. Ids and scores are never hidden."""
    hides_inputs, hides_outputs = _hides("INPUTS"), _hides("OUTPUTS")
    attributes: dict[str, str | float] = {}
    text = query.text if isinstance(query, Query) else query
    if isinstance(text, str):
        attributes = {"input.value": _REDACTED if hides_inputs else _valid(text), "input.mime_type": "text/plain"}
    for number, passage in enumerate(passages):
        name = f"retrieval.documents.{number}.document"
        attributes[f"{name}.id"] = _valid(str(passage.id))
        attributes[f"{name}.score"] = float(passage.score)
        if not hides_outputs:
            attributes[f"{name}.content"] = _valid(passage.text)
            why = {} if hides_inputs else {"trace": passage.trace.explain()}  # it may quote phrasings of the question
            attributes[f"{name}.metadata"] = _to_json({**passage.metadata, **citation(passage), **why})
    return attributes


def _to_json(values: Mapping[str, object]) -> str:
    """Values by key as JSON. Values that JSON does not have become their repr."""
    try:
        return _dumped(values)
    except (TypeError, ValueError, RecursionError):  # such as a key that is not a text, in another source's metadata
        plain = {key if isinstance(key, str) else shown(key): value for key, value in values.items()}
        return _dumped({key: value if _fits(value) else shown(value) for key, value in plain.items()})


def _dumped(value: object) -> str:
    return _valid(json.dumps(value, ensure_ascii=False, allow_nan=False, default=shown))


def _fits(value: object) -> bool:
    try:
        _dumped(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _valid(text: str) -> str:
    """Make a text valid Unicode: an exporter would drop all spans for one lone surrogate."""
    return text if is_unicode(text) else text.encode(errors="replace").decode()


def _fail(trace: Any, span: Any, error: BaseException, *, private: bool) -> None:
    name = type(error).__name__
    description = f"{name}: {error}"
    if _hides("INPUTS") or (private and not isinstance(error, LeafspanError)):
        span.add_event("exception", {"exception.type": name})
        description = name
    elif private:
        span.add_event("exception", {"exception.type": name, "exception.message": _valid(str(error))})
    else:
        span.record_exception(error)
    span.set_status(trace.Status(trace.StatusCode.ERROR, _valid(description)))

"""A retrieval as a span."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from leafspan.errors import LeafspanError
from leafspan.flows import Flow
from leafspan.telemetry._attributes import KIND, document_attributes, input_attributes, to_json, valid
from leafspan.telemetry._hiding import Hiding
from leafspan.telemetry._tracer import opentelemetry
from leafspan.values import Passage

T = TypeVar("T")


class Recording:
    """What is recorded of one call of ``retrieve``. The flow that retrieves notes it; the span gets it at the end.

    So a flow that nobody waits for any more touches no span that has ended.

    Attributes:
        is_on: Whether anything is recorded.
        several: Whether several queries are asked.
    """

    def __init__(self, *, is_on: bool, several: bool = False) -> None:
        self.is_on = is_on
        self.several = several
        self._asked: Any = None
        self._found: Any = None

    def note(self, asked: Any, found: Any) -> None:
        """Note the queries, in any of their forms, and what was found for each."""
        self._asked, self._found = asked, found

    def of(self, flow: Flow[T], asked: Any) -> Flow[T]:
        """The flow of a retrieval, which notes what it was asked and what it has found."""
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

    For ``several`` queries it is a span of the kind ``CHAIN``, with one of the kind ``RETRIEVER`` for each query. Spans of
    what the retrieval calls, such as a language model, are below it. An error is recorded, and raised.
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
            hidden = ("where",) if private or hiding.inputs else ()  # it may quote names
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
    """A span for each of several queries, which were searched together."""
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

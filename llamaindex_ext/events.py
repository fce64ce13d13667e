"""Events for LlamaIndex's instrumentation, in addition to the events of every retriever."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from llama_index.core import instrumentation
from llama_index.core.instrumentation.events import BaseEvent

from leafspan import Passage

DISPATCHER = instrumentation.get_dispatcher("llamaindex_ext")  # type: ignore[attr-defined]


class RetrievalTraceEvent(BaseEvent):
    """Why each passage of a retrieval was returned. It comes between the two events of LlamaIndex's own.

    Args:
        traces: For the id of each node, best first, the sentences that say how the passage came about.
    """

    traces: dict[str, list[str]]

    @classmethod
    def class_name(cls) -> str:
        """The name of the class."""
        return "RetrievalTraceEvent"


def say(events: Iterable[BaseEvent]) -> None:
    """Send events to LlamaIndex's instrumentation."""
    for event in events:
        DISPATCHER.event(event)


def say_traces(passages: Sequence[Passage]) -> None:
    """Send the traces of passages, if a handler listens."""
    if _is_heard():
        say([RetrievalTraceEvent(traces={passage.id: passage.trace.explain() for passage in passages})])


def _is_heard() -> bool:
    each = DISPATCHER
    while not each.event_handlers:
        if not each.propagate:
            return False
        each = each.parent
    return True

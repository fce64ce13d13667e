"""A collection of an embedded Chroma in another process, which writes it for this one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from leafspan.flows import Call, Flow
from leafspan.store._writing_messages import Ask
from leafspan.store._writing_process import WritingProcess

# Leaves of one write. Each reads all records that Chroma has not written to its files yet, so that writes of a thousand
# take a quarter more of the processor's time.
_STEP = 2_500


class CollectionElsewhere:
    """A collection whose methods are those of ``Collection`` that a writer needs, done by a writing process.

    Args:
        process: The process, which has begun.
        name: Name of the collection.
    """

    def __init__(self, process: WritingProcess, name: str) -> None:
        self._process = process
        self._name = name
        self.step = _STEP

    elsewhere = True

    def get(self, ids: Sequence[str], include: Sequence[str]) -> Flow[dict[str, dict[str, Any]]]:
        """See Collection."""
        return (yield self._ask("get", list(ids), list(include)))  # type: ignore[no-any-return]

    def scan(self, include: Sequence[str]) -> Flow[dict[str, dict[str, Any]]]:
        """See Collection."""
        return (yield self._ask("scan", list(include)))  # type: ignore[no-any-return]

    def add(self, ids: Sequence[str], *, begun: Callable[[], None] = lambda: None, **columns: Any) -> Flow[None]:
        """See Collection. When the other process has got them, ``begun`` is called."""
        yield self._ask("add", ids, begun=begun, **columns)

    def upsert(self, ids: Sequence[str], **columns: Any) -> Flow[None]:
        """See Collection."""
        yield self._ask("upsert", ids, **columns)

    def delete(self, ids: Sequence[str]) -> Flow[None]:
        """See Collection."""
        if ids:
            yield self._ask("delete", ids)

    def _ask(self, method: str, *arguments: Any, begun: Callable[[], None] = lambda: None, **options: Any) -> Call:
        asked = Ask(self._name, method, arguments, options)
        return Call(
            self._process.ask, (asked, begun), finish=True, what=f"the process that writes {str(self._process.path)!r}"
        )

"""Reading that starts again where a writer got in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from leafspan.engine import Flow
from leafspan.errors import Overtaken
from leafspan.scope import Scope
from leafspan.store import Gone, Reader, Store

T = TypeVar("T")
_ATTEMPTS = 10


def reading(store: Store, read: Callable[[Reader], Flow[T]], scope: Scope | None = None) -> Flow[T]:
    """What ``read`` makes of a reader, from the beginning each time something it saw had been replaced.

    The reader sees what is in ``scope``, or everything.

    Raises:
        Overtaken: if that happened at every one of ten attempts.
    """
    stale: set[tuple[str, str]] = set()
    for attempt in range(_ATTEMPTS):
        reader = yield from store.reader(stale, scope=scope, again=attempt > 0)
        try:
            return (yield from read(reader))
        except Gone:
            continue
        finally:
            reader.leave()
    raise Overtaken(
        f"what was being read had gone at each of {_ATTEMPTS} attempts: somebody replaces it all the time, or leaves are "
        "missing, which doctor() tells"
    )

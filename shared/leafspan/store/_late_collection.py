"""A table of an embedded Chroma that is opened only if something is asked of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from collections.abc import Collection as Collected
from typing import Any, Protocol

from leafspan.engines import Field, Near, Record
from leafspan.engines.chroma import Collection, Opened
from leafspan.flows import Flow


class ReadableTable(Protocol):
    """What reading needs of a table: see ``FlowTable``."""

    @property
    def searches_among(self) -> bool:
        """Whether ``nearest`` takes ``among``."""
        ...

    def nearest(
        self, vectors: Any, count: int, fields: Collected[Field] = (), *, among: Collected[str] | None = None
    ) -> Flow[list[list[Near]]]:
        """The nearest records of each vector."""
        ...

    def get(self, ids: Collected[str], fields: Collected[Field]) -> Flow[dict[str, Record]]:
        """The records with these ids."""
        ...

    def scan(self, fields: Collected[Field]) -> Flow[dict[str, Record]]:
        """All records."""
        ...


class LateChroma:
    """Chroma for one reader and all who use it: entered when it is first asked, and left with the last of them."""

    def __init__(self, enter: Callable[[], Flow[Opened]]) -> None:
        self._enter = enter
        self._opened: Opened | None = None
        self._users = 1
        self._mutex = threading.Lock()

    def opened(self) -> Flow[Opened]:
        """The open client."""
        if (known := self._opened) is not None:
            return known
        opened = yield from self._enter()
        with self._mutex:
            if self._opened is None and self._users > 0:
                self._opened = opened
                return opened
        opened.leave()  # another thread was faster, or nobody waits for this any more
        return self._opened or opened

    def stay(self) -> None:
        """Count one more user."""
        with self._mutex:
            self._users += 1

    def leave(self) -> None:
        """Count one user less."""
        with self._mutex:
            self._users -= 1
            opened = self._opened if self._users == 0 else None
        if opened is not None:
            opened.leave()


class LateCollection:
    """A collection whose methods are those of ``Collection``."""

    searches_among = False

    def __init__(self, find: Callable[[], Flow[Collection]]) -> None:
        self._find = find

    def nearest(
        self, vectors: Any, count: int, fields: Collected[Field] = (), *, among: Collected[str] | None = None
    ) -> Flow[list[list[Near]]]:
        """See Collection."""
        return (yield from (yield from self._find()).nearest(vectors, count, fields))

    def get(self, ids: Collected[str], fields: Collected[Field]) -> Flow[dict[str, Record]]:
        """See Collection."""
        return (yield from (yield from self._find()).get(ids, fields)) if ids else {}

    def scan(self, fields: Collected[Field]) -> Flow[dict[str, Record]]:
        """See Collection."""
        return (yield from (yield from self._find()).scan(fields))

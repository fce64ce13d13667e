"""A table of an embedded Chroma that is opened at its first use."""

from __future__ import annotations

import threading
from collections.abc import Callable
from collections.abc import Collection as Collected
from typing import Any, Protocol

from leafspan.engines import Field, Near, Record
from leafspan.engines.chroma import Collection, Opened
from leafspan.flows import Flow


class ReadableTable(Protocol):
    """The methods of a table that readers use: see ``FlowTable``."""

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
    """Chroma for one reader and all its users. The first use enters it, and the last user leaves it."""

    def __init__(self, enter: Callable[[], Flow[Opened]]) -> None:
        self._enter = enter
        self._opened: Opened | None = None
        self._users = 1
        self._mutex = threading.Lock()

    def opened(self) -> Flow[Opened]:
        """Return the open client."""
        if (known := self._opened) is not None:
            return known
        opened = yield from self._enter()
        with self._mutex:
            if self._opened is None and self._users > 0:
                self._opened = opened
                return opened
        opened.leave()  # another thread was faster, or all users have left
        return self._opened or opened

    def stay(self) -> None:
        """Add a user."""
        with self._mutex:
            self._users += 1

    def leave(self) -> None:
        """Remove a user."""
        with self._mutex:
            self._users -= 1
            opened = self._opened if self._users == 0 else None
        if opened is not None:
            opened.leave()


class LateCollection:
    """A collection that is opened at its first use, with the methods of ``Collection``."""

    searches_among = False

    def __init__(self, find: Callable[[], Flow[Collection]]) -> None:
        self._find = find

    def nearest(
        self, vectors: Any, count: int, fields: Collected[Field] = (), *, among: Collected[str] | None = None
    ) -> Flow[list[list[Near]]]:
        return (yield from (yield from self._find()).nearest(vectors, count, fields))

    def get(self, ids: Collected[str], fields: Collected[Field]) -> Flow[dict[str, Record]]:
        return (yield from (yield from self._find()).get(ids, fields)) if ids else {}

    def scan(self, fields: Collected[Field]) -> Flow[dict[str, Record]]:
        return (yield from (yield from self._find()).scan(fields))

"""Where the trees of an index are: in an index of their own beside it, a document a tree, a leaf a summary."""

from __future__ import annotations

from collections.abc import Callable

from leafspan.documents import TREE_SETTINGS, IndexSettings
from leafspan.engine import Flow
from leafspan.errors import IndexMismatch, IndexNotFound
from leafspan.search import SearchIndexes
from leafspan.store import Store


class Trees:
    """The trees of an index, opened when they are first needed.

    Args:
        open_store: Flow that opens their store. It is told whether to make the store if there is none.
        settings: Settings of the index.
    """

    def __init__(self, open_store: Callable[[bool], Flow[Store]], settings: IndexSettings) -> None:
        self._open_store = open_store
        self._settings = settings
        self._opened: SearchIndexes | None = None

    def existing(self) -> Flow[SearchIndexes | None]:
        """Where they are, None if no tree was ever built."""
        if self._opened is not None:
            return self._opened
        try:
            return (yield from self._open(False))
        except IndexNotFound:
            return None

    def made(self) -> Flow[SearchIndexes]:
        """Where they are, made if no tree was ever built."""
        return self._opened or (yield from self._open(True))

    def close(self) -> None:
        """Close their store, if it is open."""
        if self._opened is not None:
            self._opened.store.close()

    def _open(self, create: bool) -> Flow[SearchIndexes]:
        store = yield from self._open_store(create)
        if store.settings != TREE_SETTINGS:
            raise IndexMismatch("there is another index where this one has its trees; choose another name for one of them")
        self._opened = SearchIndexes.of(store, self._settings)
        return self._opened

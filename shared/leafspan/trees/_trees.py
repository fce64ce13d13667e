"""The trees of an index, stored in an index of their own beside it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from leafspan.documents import TREE_SETTINGS, IndexSettings
from leafspan.errors import IndexMismatch, IndexNotFound
from leafspan.flows import Flow
from leafspan.search import SearchIndexes
from leafspan.store import Store


class Trees:
    """The trees of an index, opened when they are first needed.

    They are stored in an index of their own, in which each tree is a document and each summary a leaf.
    """

    def __init__(self, open_store: Callable[[bool], Flow[Store]], settings: IndexSettings) -> None:
        self._open_store = open_store
        self._settings = settings
        self._opened: SearchIndexes | None = None
        self._mutex = threading.Lock()

    def existing(self) -> Flow[SearchIndexes | None]:
        """The search indexes of the trees, None if no tree was ever built.

        Raises:
            IndexMismatch: if the place of the trees holds another index.
        """
        if self._opened is not None:
            return self._opened
        try:
            return (yield from self._open(False))
        except IndexNotFound:
            return None

    def created(self) -> Flow[SearchIndexes]:
        """The search indexes of the trees, created if no tree was ever built.

        Raises:
            IndexMismatch: if the place of the trees holds another index.
        """
        return self._opened or (yield from self._open(True))

    def close(self) -> None:
        """Close the search indexes of the trees, if they are open."""
        if self._opened is not None:
            self._opened.close()

    def _open(self, create: bool) -> Flow[SearchIndexes]:
        store = yield from self._open_store(create)
        if store.settings != TREE_SETTINGS:
            raise IndexMismatch("the place of this index's trees holds another index; choose another name for one of them")
        with self._mutex:  # with a client, the shared store locks out other writers of the process
            if self._opened is None:  # else another thread has just opened it
                self._opened = SearchIndexes.of(store, self._settings)
            return self._opened

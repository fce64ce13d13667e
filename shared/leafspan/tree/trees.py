"""Where the trees of an index are: in an index of their own beside it, a document a tree, a leaf a summary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from leafspan.derived import derived
from leafspan.engine import Flow
from leafspan.errors import IndexMismatch, IndexNotFound
from leafspan.matching import WordSearch
from leafspan.mirror import Mirror
from leafspan.settings import TREE_SETTINGS, Indexing
from leafspan.store import Store


@dataclass(frozen=True, slots=True)
class TreeSources:
    """The store of the trees, and what is derived from it."""

    store: Store
    words: WordSearch
    copy: Mirror | None


class Trees:
    """The trees of an index, opened when they are first wanted.

    ``open_store``: gives their store, and makes it where there is none if it is told to.
    """

    def __init__(self, open_store: Callable[[bool], Flow[Store]], indexing: Indexing) -> None:
        self._open_store = open_store
        self._indexing = indexing
        self._opened: TreeSources | None = None

    def existing(self) -> Flow[TreeSources | None]:
        """Where they are, None where none was ever built."""
        if self._opened is not None:
            return self._opened
        try:
            return (yield from self._open(False))
        except IndexNotFound:
            return None

    def made(self) -> Flow[TreeSources]:
        """Where they are, or will be."""
        return self._opened or (yield from self._open(True))

    def close(self) -> None:
        """Let go of them."""
        if self._opened is not None:
            self._opened.store.close()

    def _open(self, create: bool) -> Flow[TreeSources]:
        store = yield from self._open_store(create)
        if store.settings != TREE_SETTINGS:
            raise IndexMismatch("there is another index where this one has its trees; choose another name for one of them")
        self._opened = TreeSources(store, *derived(store, self._indexing))
        return self._opened

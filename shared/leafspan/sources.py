"""Where a retrieval's answers come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from leafspan.checked_embedder import CheckedEmbedder
from leafspan.derived import derived
from leafspan.engine import Flow
from leafspan.matching import WordSearch
from leafspan.mirror import Mirror
from leafspan.settings import Indexing
from leafspan.store import Store
from leafspan.tree.trees import Trees


@dataclass(frozen=True, slots=True)
class Sources:
    """``copy``: the vectors once more, in a file, for an index in a folder."""

    store: Store
    embedder: CheckedEmbedder
    words: WordSearch
    copy: Mirror | None
    trees: Trees

    @classmethod
    def of(
        cls, store: Store, embedder: CheckedEmbedder, indexing: Indexing, open_trees: Callable[[bool], Flow[Store]]
    ) -> Sources:
        """The sources of an index; ``open_trees`` opens the store of its trees, and makes it if it is told to."""
        words, copy = derived(store, indexing)
        return cls(store, embedder, words, copy, Trees(open_trees, indexing))

    def close(self) -> None:
        """Let go of them."""
        self.store.close()
        self.trees.close()

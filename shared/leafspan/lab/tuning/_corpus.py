"""What a tuning asks of an index, and of indexes of the same documents with leaves of other lengths."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from leafspan.errors import InvalidArgument
from leafspan.flows import Call, Flow
from leafspan.indexing import DocumentInfo, Stats
from leafspan.lexical import BM25Settings
from leafspan.retrieval import Limits
from leafspan.splitting import HierarchicalSplitter, Splitter
from leafspan.strategies import Strategy
from leafspan.values import Document, Passage


@dataclass(frozen=True, slots=True)
class Corpus:
    """What a tuning asks of an index.

    Attributes:
        documents: Lists the documents.
        get: From an id to the document.
        stats: What the index was made with.
        passages: From queries, a strategy and limits to the passages for each query.
        bm25: How BM25 scores, where a strategy does not say.
        splitter: How documents are cut into leaves.
        made_with: From a splitter and a folder to an index of the same documents there.
        close: Lets go of the index.
    """

    documents: Callable[[], Flow[list[DocumentInfo]]]
    get: Callable[[str], Flow[Document]]
    stats: Callable[[], Flow[Stats]]
    passages: Callable[[Any, Strategy, Limits], Flow[Any]]
    bm25: BM25Settings
    splitter: Splitter | None
    made_with: Callable[[Splitter, str], Flow[Corpus]]
    close: Callable[[], None]

    def ask(self, texts: list[str], strategy: Strategy, **limits: Any) -> Flow[list[list[Passage]]]:
        """The passages for each text, within limits as ``Index.retrieve`` has them."""
        return (yield from self.passages(texts, strategy, Limits.of(**limits)))  # type: ignore[no-any-return]


class Corpora:
    """An index, and indexes of its documents with longer or shorter leaves, each made when it is first asked for.

    They are in temporary folders, until ``close``.

    Args:
        corpus: The index.
        lengths: Longest leaves of the others, in the units of the index's splitter.

    Raises:
        InvalidArgument: if there are lengths, and the index's splitter has none.
    """

    def __init__(self, corpus: Corpus, lengths: Sequence[int]) -> None:
        self._splitter = corpus.splitter
        if lengths and not isinstance(self._splitter, HierarchicalSplitter):
            raise InvalidArgument(
                f"leaf_words needs an index with a HierarchicalSplitter, got leaf_words={lengths!r} and {self._splitter!r}"
            )
        self._own = corpus
        self._made: dict[int, Corpus] = {}
        self._folders: list[tempfile.TemporaryDirectory[str]] = []

    @property
    def length(self) -> int | None:
        """Longest leaf of the index. None if its splitter has no such option."""
        return self._splitter.leaf_words if isinstance(self._splitter, HierarchicalSplitter) else None

    def splitter(self, length: int) -> HierarchicalSplitter:
        """That of the index, with this longest leaf. Parents that would not be longer than a leaf are left out."""
        assert isinstance(self._splitter, HierarchicalSplitter)
        parents = tuple(each for each in self._splitter.parent_words if each > length)
        return replace(self._splitter, leaf_words=length, parent_words=parents)

    def of(self, length: int | None) -> Flow[Corpus]:
        """The index with this longest leaf."""
        if length is None or length == self.length:
            return self._own
        if length not in self._made:
            folder = tempfile.TemporaryDirectory(prefix="leafspan-", ignore_cleanup_errors=True)
            self._folders.append(folder)
            self._made[length] = yield from self._own.made_with(self.splitter(length), folder.name)
        return self._made[length]

    def close(self) -> Flow[None]:
        """Delete the indexes that were made."""
        for each in self._made.values():
            yield Call(each.close, finish=True)
        for folder in self._folders:
            yield Call(folder.cleanup, finish=True)

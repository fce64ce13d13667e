"""What a tuning asks of an index, and of indexes of the same documents with leaves of other lengths."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from leafspan.documents import OpenOptions
from leafspan.errors import InvalidArgument
from leafspan.flows import Call, Flow
from leafspan.index import Index
from leafspan.retrieval import Limits
from leafspan.splitting import HierarchicalSplitter, Splitter
from leafspan.strategies import Strategy
from leafspan.values import Passage


class Corpus:
    """What a tuning asks of an index."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self.bm25 = index._settings.bm25
        self.splitter = index._settings.splitter
        self.documents = index._list_documents
        self.get = index._get
        self.stats = index._stats
        self.passages = index._passages
        self.close = index.close

    def ask(self, texts: list[str], strategy: Strategy, **limits: Any) -> Flow[list[list[Passage]]]:
        """The passages for each text, within limits as ``Index.retrieve`` has them."""
        return (yield from self.passages(texts, strategy, Limits.of(**limits)))  # type: ignore[no-any-return]

    def made_with(self, splitter: Splitter, folder: str) -> Flow[Corpus]:
        """An index of the same documents in a folder, with another splitter."""
        settings = self._index._settings
        kept = {name: getattr(settings, name) for name in ("context_sentences", "title_weight", "analyzer", "bm25")}
        options = OpenOptions(splitter=splitter, **kept)
        yield from self._index._embedder.identity()  # which says what it is, if the index remembers it
        embedder = self._index._embedder.embedder
        made = yield from Index._open(folder, None, "kb", embedder, options, None, False, True, self._index._timeout)
        try:
            documents = []
            for each in (yield from self.documents()):
                documents.append((yield from self.get(each.id)))
            yield from made._ingest(documents, False)
        except BaseException:
            made.close()
            raise
        return Corpus(made)


class Corpora:
    """An index, and indexes of its documents with longer or shorter leaves, each made when it is first asked for.

    They are in temporary folders, until ``close``.

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

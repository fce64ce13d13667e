"""Gives a tuning its index, and indexes of the same documents with shorter or longer leaves."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from leafspan.documents import OpenOptions
from leafspan.errors import InvalidArgument
from leafspan.flows import Call, Flow
from leafspan.index import Index, _Opening
from leafspan.indexing import AddOptions
from leafspan.retrieval import Limits
from leafspan.splitting import HierarchicalSplitter, Splitter
from leafspan.strategies import Strategy
from leafspan.values import Passage


class Corpus:
    """An index as a tuning uses it."""

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
        """The passages for each text, with limits as in ``Index.retrieve``."""
        return (yield from self.passages(texts, strategy, Limits.of(**limits)))  # type: ignore[no-any-return]

    def made_with(self, splitter: Splitter, folder: str) -> Flow[Corpus]:
        """Make an index of the same documents in a folder, with another splitter."""
        settings = self._index._settings
        kept = {name: getattr(settings, name) for name in ("context_sentences", "title_weight", "analyzer", "bm25")}
        options = OpenOptions(splitter=splitter, **kept)
        yield from self._index._embedder.identity()  # so that the embedder is known, if the index remembers it
        embedder = self._index._embedder.embedder
        made = yield from Index._open(
            _Opening(folder, None, "kb", embedder, options, embedding_cache=False, timeout=self._index._timeout)
        )
        try:
            documents = []
            for each in (yield from self.documents()):
                documents.append((yield from self.get(each.id)))
            yield from made._ingest(documents, AddOptions(progress=False))
        except BaseException:
            made.close()
            raise
        return Corpus(made)


class Corpora:
    """An index, and indexes of its documents with longer or shorter leaves. Each is made when it is first needed.

    The indexes are in temporary folders until ``close``.

    Raises:
        InvalidArgument: if lengths are given, but the index's splitter has no length.
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
        """The longest leaf of the index. None if its splitter has no such option."""
        return self._splitter.leaf_words if isinstance(self._splitter, HierarchicalSplitter) else None

    def splitter(self, length: int) -> HierarchicalSplitter:
        """The index's splitter with this longest leaf. Parents that are not longer than a leaf are left out."""
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
        """Delete the temporary indexes."""
        for each in self._made.values():
            yield Call(each.close, finish=True)
        for folder in self._folders:
            yield Call(folder.cleanup, finish=True)

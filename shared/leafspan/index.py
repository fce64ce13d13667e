"""The index: documents go in, passages come out."""

from __future__ import annotations

from dataclasses import replace
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any, Self

from leafspan.checked_embedder import CheckedEmbedder
from leafspan.doctor import Finding, examining
from leafspan.embedding import to_embedder
from leafspan.engine import Flow, arun, run
from leafspan.errors import InvalidArgument
from leafspan.lexical import Analysis, BM25Settings
from leafspan.settings import TREE_SETTINGS, Indexing, Wanted
from leafspan.sources import Sources
from leafspan.splitting import Splitter
from leafspan.store import Store, open_store
from leafspan.view import View
from leafspan.wordllama import default_embedder


class Index(View):
    """Documents in Chroma, cut into leaves, from which every strategy retrieves. Open one with ``Index.open``.

    Each method has an asynchronous twin whose name starts with ``a``, which does not block the event loop. An index may
    be used by many threads. It can be closed, or used in a ``with`` statement.
    """

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        client: Any = None,
        name: str = "kb",
        embedder: Any = None,
        splitter: Splitter | None = None,
        context_sentences: int | None = None,
        title_weight: float | None = None,
        analyzer: Analysis | None = None,
        bm25: BM25Settings | None = None,
        cache: str | Path | None = None,
        create: bool = True,
        timeout: float = 30.0,
    ) -> Self:
        """The index in the folder ``path``, or behind a Chroma ``client`` (a server, Chroma Cloud, in memory).

        ``name``: an index has the Chroma collections ``{name}.leaves`` and ``{name}.manifest``, so a folder can hold
        several. ``embedder``: a LangChain Embeddings, a LlamaIndex BaseEmbedding, a Chroma EmbeddingFunction or a function
        from texts to vectors; by default WordLlama, which is bundled and works offline. ``splitter``: by default
        ``HierarchicalSplitter()``. ``context_sentences``: so many sentences of each neighbour are indexed with a leaf, 0
        by default. ``title_weight``: a leaf's vector is that of its text plus so many times that of its title and headings
        (all of length 1), 0.3 by default. ``analyzer``: how texts become the terms that BM25 counts, by default
        ``Analyzer("english")``; or a function from a text to a list of terms. ``bm25``: k1, b and variant. ``cache``: a
        folder for what is derived from an index behind a client, by default in the user's cache folder. ``create``: make
        it where there is none. ``timeout``: seconds to wait for another writer.

        Raises:
            InvalidArgument: if not exactly one of ``path`` and ``client`` is given, the client is asynchronous, or another
                option is out of its range.
            WriterBusy: if it has to be made, and another writer holds the folder for longer than the timeout.
            IndexNotFound: if there is none, and ``create`` is False.
            IndexMismatch: if it was made with another splitter, weight or format. Another embedder is noticed, and raises
                the same, at the first embedding.
        """
        if iscoroutinefunction(getattr(client, "get_or_create_collection", None)):
            raise InvalidArgument(f"client must not be asynchronous here, got {client!r}: use `await Index.aopen(...)`")
        wanted = Wanted(splitter, context_sentences, title_weight, analyzer, bm25)
        return run(cls._opening(path, client, name, embedder, wanted, cache, create, timeout))

    @classmethod
    async def aopen(
        cls,
        path: str | Path | None = None,
        *,
        client: Any = None,
        name: str = "kb",
        embedder: Any = None,
        splitter: Splitter | None = None,
        context_sentences: int | None = None,
        title_weight: float | None = None,
        analyzer: Analysis | None = None,
        bm25: BM25Settings | None = None,
        cache: str | Path | None = None,
        create: bool = True,
        timeout: float = 30.0,
    ) -> Self:
        """Like ``open``; the only way in with Chroma's asynchronous client, for which only the ``a...`` methods work."""
        wanted = Wanted(splitter, context_sentences, title_weight, analyzer, bm25)
        return await arun(cls._opening(path, client, name, embedder, wanted, cache, create, timeout))

    @classmethod
    def _opening(
        cls,
        path: str | Path | None,
        client: Any,
        name: str,
        embedder: Any,
        wanted: Wanted,
        cache: str | Path | None,
        create: bool,
        timeout: float,
    ) -> Flow[Self]:
        used = default_embedder() if embedder is None else to_embedder(embedder)
        settings = Indexing.made(wanted).record()
        store = yield from open_store(path, client, name, settings=settings, create=create, timeout=timeout, cache=cache)
        indexing = Indexing.recorded(store.settings, wanted)

        def open_trees(create: bool) -> Flow[Store]:
            place: dict[str, Any] = {"settings": TREE_SETTINGS, "timeout": timeout, "cache": cache}
            return (yield from open_store(path, client, f"{name}.tree", create=create, **place))

        return cls(Sources.of(store, CheckedEmbedder(store, used, timeout), indexing, open_trees), indexing, timeout)

    def doctor(self, *, mend: bool = True) -> list[Finding]:
        """Look for what is not whole, and mend it: half-written documents, leaves that belong to none, missing leaves.

        Of the documents' trees, too, whose leaves are summaries; what is missing of these the next ``build_tree`` restores.

        Nothing is wrong where the list is empty. A document with missing leaves cannot be mended from within: its finding
        says so, and the next ``add`` of it restores it. Run it while nobody else writes to a server.

        Raises:
            WriterBusy: if another writer holds the index for longer than the timeout.
        """
        return run(self._examining(mend))

    async def adoctor(self, *, mend: bool = True) -> list[Finding]:
        """Like ``doctor``."""
        return await arun(self._examining(mend))

    def _examining(self, mend: bool) -> Flow[list[Finding]]:
        findings = yield from examining(self._store, mend=mend, timeout=self._timeout)
        if (trees := (yield from self._sources.trees.existing())) is not None:
            remedy = "build_tree() makes its tree again"
            found = yield from examining(trees.store, mend=mend, timeout=self._timeout, remedy=remedy)
            findings += [replace(each, problem=f"its tree: {each.problem}") for each in found]
        return findings

    @property
    def client(self) -> Any:
        """The Chroma client in use, for looking at the collections; write to them only through the index."""
        return self._store.client

    def close(self) -> None:
        """Let go of the files. An index behind a client of yours leaves that client open, and can still be used."""
        self._sources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

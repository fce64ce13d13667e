"""The index: documents go in, passages come out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, overload

from leafspan.adding import Added, adding, deleting
from leafspan.checked_embedder import CheckedEmbedder
from leafspan.doctor import Finding, examining
from leafspan.documents import read_documents
from leafspan.embedding import Embedder, to_embedder
from leafspan.engine import Call, Flow, arun, run
from leafspan.errors import IndexMismatch, InvalidArgument
from leafspan.listing import DocumentInfo, Stats, getting, listing, listing_leaves
from leafspan.packing import Budget
from leafspan.progress import Progress
from leafspan.queries import to_queries
from leafspan.retrieval import Limits, retrieving
from leafspan.settings import Indexing
from leafspan.splitting import Splitter
from leafspan.store import Store, open_store
from leafspan.strategies import AutoMerging, Strategy
from leafspan.values import Document, Passage, Query
from leafspan.wordllama import default_embedder

Numbers = Sequence[float]


class Index:
    """Documents in Chroma, cut into leaves, from which every strategy retrieves. Open one with ``Index.open``.

    Each method has an asynchronous twin whose name starts with ``a``, which does not block the event loop. An index may
    be used by many threads. It can be closed, or used in a ``with`` statement.
    """

    def __init__(self, store: Store, embedder: Embedder, indexing: Indexing, timeout: float) -> None:
        self._store = store
        self._embedder = CheckedEmbedder(store, embedder, timeout)
        self._indexing = indexing
        self._timeout = timeout

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
        create: bool = True,
        timeout: float = 30.0,
    ) -> Self:
        """The index in the folder ``path``, or behind a Chroma ``client`` (a server, Chroma Cloud, in memory).

        ``name``: an index has the Chroma collections ``{name}.leaves`` and ``{name}.manifest``, so a folder can hold
        several. ``embedder``: a LangChain Embeddings, a LlamaIndex BaseEmbedding, a Chroma EmbeddingFunction or a function
        from texts to vectors; by default WordLlama, which is bundled and works offline. ``splitter``: by default
        ``HierarchicalSplitter()``. ``context_sentences``: so many sentences of each neighbour are indexed with a leaf, 0
        by default. ``title_weight``: a leaf's vector is that of its text plus so many times that of its title and headings
        (all of length 1), 0.3 by default. ``create``: make it where there is none. ``timeout``: seconds to wait for another
        writer.

        Raises:
            InvalidArgument: if not exactly one of ``path`` and ``client`` is given, or an option is out of its range.
            WriterBusy: if it has to be made, and another writer holds the folder for longer than the timeout.
            IndexNotFound: if there is none, and ``create`` is False.
            IndexMismatch: if it was made with another splitter, weight or format. Another embedder is noticed, and raises
                the same, at the first embedding.
        """
        indexing = (splitter, context_sentences, title_weight)
        return run(cls._opening(path, client, name, embedder, indexing, create, timeout))

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
        create: bool = True,
        timeout: float = 30.0,
    ) -> Self:
        """Like ``open``; the only way in with Chroma's asynchronous client, for which only the ``a...`` methods work."""
        return await arun(
            cls._opening(path, client, name, embedder, (splitter, context_sentences, title_weight), create, timeout)
        )

    @classmethod
    def _opening(
        cls,
        path: str | Path | None,
        client: Any,
        name: str,
        embedder: Any,
        indexing: tuple[Splitter | None, int | None, float | None],
        create: bool,
        timeout: float,
    ) -> Flow[Self]:
        used = default_embedder() if embedder is None else to_embedder(embedder)
        settings = Indexing.wanted(*indexing).record()
        store = yield from open_store(path, client, name, settings=settings, create=create, timeout=timeout)
        return cls(store, used, Indexing.recorded(store.settings, *indexing), timeout)

    def add(self, documents: Iterable[object] | object, *, progress: bool | None = None) -> Added:
        """Add documents, replace those whose text, title or metadata have changed, and skip the others.

        ``documents``: leafspan, LangChain or LlamaIndex Documents, mappings with id and text, or ``pathlib.Path``s of
        text and Markdown files or folders of them; one, or any iterable. They are written in groups: where something
        fails or the process is killed, earlier groups are there, and the others are as they were; add them again.
        ``progress``: show a bar; by default where a person is watching.

        Raises:
            InvalidDocument: if one cannot be stored, or an id occurs twice. Of a list, nothing is written then.
            IndexMismatch: if the index was made with another embedder.
            WriterBusy: if another writer holds the index for longer than the timeout.
        """
        return run(self._adding(documents, progress))

    async def aadd(self, documents: Iterable[object] | object, *, progress: bool | None = None) -> Added:
        """Like ``add``."""
        return await arun(self._adding(documents, progress))

    def delete(self, ids: Iterable[str]) -> list[str]:
        """Delete documents by id; the ids of those that were there. Unknown ids do not matter.

        Raises:
            InvalidArgument: if ``ids`` is anything but a list (or other iterable) of strings.
            WriterBusy: if another writer holds the index for longer than the timeout.
        """
        return run(deleting(self._store, ids, timeout=self._timeout))

    async def adelete(self, ids: Iterable[str]) -> list[str]:
        """Like ``delete``."""
        return await arun(deleting(self._store, ids, timeout=self._timeout))

    def documents(self) -> list[DocumentInfo]:
        """All documents, without their texts, in the order of their ids."""
        return run(listing(self._store))

    async def adocuments(self) -> list[DocumentInfo]:
        """Like ``documents``."""
        return await arun(listing(self._store))

    def get(self, document_id: str) -> Document:
        """The document with its full text, as it was added.

        Raises:
            DocumentNotFound: if there is none of that id.
        """
        return run(getting(self._store, document_id))

    async def aget(self, document_id: str) -> Document:
        """Like ``get``."""
        return await arun(getting(self._store, document_id))

    def leaves(self, document_id: str | None = None) -> list[Passage]:
        """The leaves of a document, or of all, in the order of ids and texts, each as a passage with score 0.

        Their ids are those of the leaves in Chroma.

        Raises:
            DocumentNotFound: if there is no document of that id.
        """
        return run(listing_leaves(self._store, document_id))

    async def aleaves(self, document_id: str | None = None) -> list[Passage]:
        """Like ``leaves``."""
        return await arun(listing_leaves(self._store, document_id))

    def count(self) -> int:
        """The number of documents."""
        return len(run(listing(self._store)))

    async def acount(self) -> int:
        """Like ``count``."""
        return len(await arun(listing(self._store)))

    def stats(self) -> Stats:
        """The index in numbers."""
        return run(self._summing_up())

    async def astats(self) -> Stats:
        """Like ``stats``."""
        return await arun(self._summing_up())

    def doctor(self, *, mend: bool = True) -> list[Finding]:
        """Look for what is not whole, and mend it: half-written documents, leaves that belong to none, missing leaves.

        Nothing is wrong where the list is empty. A document with missing leaves cannot be mended from within: its finding
        says so, and the next ``add`` of it restores it. Run it while nobody else writes to a server.

        Raises:
            WriterBusy: if another writer holds the index for longer than the timeout.
        """
        return run(examining(self._store, mend=mend, timeout=self._timeout))

    async def adoctor(self, *, mend: bool = True) -> list[Finding]:
        """Like ``doctor``."""
        return await arun(examining(self._store, mend=mend, timeout=self._timeout))

    @overload
    def retrieve(
        self,
        query: str | Query | Numbers,
        strategy: Strategy | None = None,
        *,
        k: int | None = None,
        candidates: int | None = None,
        budget: int | Budget | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> list[Passage]: ...

    @overload
    def retrieve(
        self,
        query: list[str] | list[Query] | list[Numbers],
        strategy: Strategy | None = None,
        *,
        k: int | None = None,
        candidates: int | None = None,
        budget: int | Budget | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> list[list[Passage]]: ...

    def retrieve(
        self,
        query: str | Query | Numbers | list[str] | list[Query] | list[Numbers],
        strategy: Strategy | None = None,
        *,
        k: int | None = None,
        candidates: int | None = None,
        budget: int | Budget | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> list[Passage] | list[list[Passage]]:
        """The passages that a strategy finds for a query, best first; or a list of them for each of several queries.

        ``query``: a text, or its vector; or a list of them, which are searched in one call. ``strategy``: by default
        ``AutoMerging()``. ``k``: at most so many passages, 5 by default, or all where a budget is given. ``candidates``:
        the leaves looked at before merging, by default 4 * k and at least 24. ``budget``: at most so many words in all, or
        tokens with ``Budget(512, count=...)``; the first passage that does not fit ends the list, and the first of all is
        returned even where it alone is over. ``where``: a filter of Chroma's on the documents' metadata.

        Passages of one result never share text; ties go by document id, then position. An empty index gives none.

        Raises:
            InvalidArgument: if an option is out of its range, or a query is blank.
            IndexMismatch: if the index was made with another embedder.
            Overtaken: if what was read was replaced at every one of ten attempts.
        """
        flow = self._retrieving(query, strategy, Limits.of(k, candidates, budget, where))
        passages: list[Passage] | list[list[Passage]] = run(flow)
        return passages

    @overload
    async def aretrieve(
        self,
        query: str | Query | Numbers,
        strategy: Strategy | None = None,
        *,
        k: int | None = None,
        candidates: int | None = None,
        budget: int | Budget | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> list[Passage]: ...

    @overload
    async def aretrieve(
        self,
        query: list[str] | list[Query] | list[Numbers],
        strategy: Strategy | None = None,
        *,
        k: int | None = None,
        candidates: int | None = None,
        budget: int | Budget | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> list[list[Passage]]: ...

    async def aretrieve(
        self,
        query: str | Query | Numbers | list[str] | list[Query] | list[Numbers],
        strategy: Strategy | None = None,
        *,
        k: int | None = None,
        candidates: int | None = None,
        budget: int | Budget | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> list[Passage] | list[list[Passage]]:
        """Like ``retrieve``."""
        flow = self._retrieving(query, strategy, Limits.of(k, candidates, budget, where))
        passages: list[Passage] | list[list[Passage]] = await arun(flow)
        return passages

    @property
    def client(self) -> Any:
        """The Chroma client in use, for looking at the collections; write to them only through the index."""
        return self._store.client

    def close(self) -> None:
        """Let go of the files. An index behind a client of yours leaves that client open, and can still be used."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _adding(self, documents: Iterable[object] | object, show: bool | None) -> Flow[Added]:
        if self._indexing.splitter is None:
            recorded = self._store.settings["splitter"]
            raise IndexMismatch(f"the index was made with the splitter {recorded}; open it with that splitter to add to it")
        checked: Iterable[Document] = read_documents(documents)
        total = None
        if isinstance(documents, Sequence):
            checked = every = yield Call(list, (checked,))
            total = len(every)
        progress = Progress(total, show=show)
        try:
            return (
                yield from adding(
                    self._store,
                    self._embedder.documents,
                    checked,
                    indexing=self._indexing,
                    timeout=self._timeout,
                    progress=progress,
                )
            )
        finally:
            progress.close()

    def _retrieving(self, query: Any, strategy: Strategy | None, limits: Limits) -> Flow[Any]:
        if isinstance(strategy, type) or not (strategy is None or callable(getattr(strategy, "retrieve", None))):
            raise InvalidArgument(f"strategy must be a strategy such as AutoMerging(), got {strategy!r}")
        queries, single = to_queries(query)
        vectors = [each.vector for each in queries if each.vector is not None]
        if vectors:
            identity = yield from self._embedder.identity()
            length = identity.dimension if identity else len(vectors[0])
            for vector in vectors:
                if len(vector) != length:
                    raise InvalidArgument(f"a query's vector must have {length} dimensions, got {len(vector)}")
        used = AutoMerging() if strategy is None else strategy
        results = yield from retrieving(self._store, self._embedder.queries, used, queries, limits)
        return results[0] if single else results

    def _summing_up(self) -> Flow[Stats]:
        documents = yield from listing(self._store)
        identity = yield from self._embedder.identity()
        return Stats(
            documents=len(documents),
            leaves=sum(document.leaves for document in documents),
            words=sum(document.words for document in documents),
            characters=sum(document.characters for document in documents),
            embedder=identity.name if identity else None,
            dimension=identity.dimension if identity else None,
            splitter=self._store.settings["splitter"],
            context_sentences=self._indexing.context_sentences,
            title_weight=self._indexing.title_weight,
        )

"""An index as a LangChain vector store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import signature
from typing import Any, Self

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever

from langchain_ext.documents import to_stored_document
from langchain_ext.retriever import BaseSpanRetriever
from langchain_ext.retrievers import (
    AutoMergingRetriever,
    BM25Retriever,
    HybridRetriever,
    ParentDocumentRetriever,
    RelevantSegmentsRetriever,
    SentenceWindowRetriever,
    TreeRetriever,
)
from leafspan import Document as StoredDocument
from leafspan import Index, InvalidArgument, Query, Rerank, Strategy, Vector, View
from leafspan.hosting import (
    arun,
    check_choice,
    check_flag,
    check_index,
    check_number,
    check_option_names,
    check_whole,
    delete,
    run,
    shown,
    to_documents,
    with_ids,
)

_HOSTS_OWN = tuple(VectorStoreRetriever.allowed_search_types)
_ADD_OPTIONS = ("ids", "flatten_metadata", "volatile_keys", "batch_size")
_RETRIEVERS: Mapping[str, type[BaseSpanRetriever]] = {
    "bm25": BM25Retriever,
    "hybrid": HybridRetriever,
    "parent-document": ParentDocumentRetriever,
    "sentence-window": SentenceWindowRetriever,
    "auto-merging": AutoMergingRetriever,
    "relevant-segments": RelevantSegmentsRetriever,
    "tree": TreeRetriever,
}
_NAMES: Mapping[str, str] = {"filter": "where", "score_threshold": "min_score", "fetch_k": "candidates"}
"""Names of search options in leafspan's retrievers."""
_KINDS: Mapping[str, str] = {"score_threshold": "similarity_score_threshold", "fetch_k": "mmr", "lambda_mult": "mmr"}
"""The search type that a LangChain option belongs to."""

Metadatas = Sequence[Mapping[str, Any] | None] | None


class IndexEmbeddings(Embeddings):
    """The embedder of an index, for filters and rerankers of LangChain. A private view embeds masked texts."""

    def __init__(self, index: View) -> None:
        self._index = index

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """See Embeddings."""
        return run(self._index._vectors(texts, questions=False)) if texts else []

    def embed_query(self, text: str) -> list[float]:
        """See Embeddings."""
        return run(self._index._vectors([text], questions=True))[0]


class SpanVectorStore(VectorStore):
    """An index or a view of one, as a LangChain vector store.

    What is added becomes documents of the index. A Document that is one leaf is found as it was added. Of a longer one the
    leaves are found that are nearest to the question: each has an id of its own, and in its metadata ``doc_id``, ``start``
    and ``end``. Through a view of one tenant's documents, nothing else is found, changed or deleted.

    Args:
        index: Index to search and to add to, or a view of one.
        split: Whether the index cuts what is added into leaves. With False, each Document is one leaf, and so is found as
            it was added: for chunks that a text splitter has made. Default: True.

    Raises:
        InvalidArgument: if an option is of a wrong type.
    """

    def __init__(self, index: View | None = None, *, split: bool = True, **others: Any) -> None:
        if others:
            advice = "; open an index first: SpanVectorStore(Index.open(path, name=..., embedder=...))"
            raise InvalidArgument(f"{type(self).__name__} has no option {next(iter(others))!r}{advice}")
        if index is None:
            raise InvalidArgument("index must be an Index or a view of one, got None")
        check_index(index)
        check_flag("split", split)
        self.index = index
        self._split = split
        self._embeddings: Embeddings | None = None

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: Metadatas = None,
        *,
        ids: list[str] | None = None,
        split: bool = True,
        **options: Any,
    ) -> Self:
        """Open or create an index, add the texts, and return a vector store over the index.

        Args:
            texts: The texts.
            embedding: Embeddings of LangChain, or anything else that ``Index.open`` takes. Default: the bundled model.
            metadatas: Metadata for each text, None for none. Default: none.
            ids: An id for each text. Default: see ``add_documents``.
            split: See the class.
            options: Options of ``Index.open``: ``path``, or ``client``, and others.

        Raises:
            InvalidArgument: if an option is unknown or out of its range, or there is not one of ``metadatas`` and ``ids``
                for each text.
        """
        documents = _documents(texts, metadatas)
        opened = Index.open(**cls._open_options(embedding, options))
        with _closed_on_failure(opened):
            store = cls(opened, split=split)
            store._embeddings = embedding
            store.add_documents(documents, ids=ids)
        return store

    @classmethod
    async def afrom_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: Metadatas = None,
        *,
        ids: list[str] | None = None,
        split: bool = True,
        **options: Any,
    ) -> Self:
        """Like ``from_texts``."""
        documents = _documents(texts, metadatas)
        opened = await Index.aopen(**cls._open_options(embedding, options))
        with _closed_on_failure(opened):
            store = cls(opened, split=split)
            store._embeddings = embedding
            await store.aadd_documents(documents, ids=ids)
        return store

    @classmethod
    def _open_options(cls, embedding: Embeddings | None, options: Mapping[str, Any]) -> dict[str, Any]:
        names = [name for name in signature(Index.open).parameters if name != "embedder"]
        check_option_names(f"{cls.__name__}.from_texts", options, names)
        return {"embedder": embedding, **options}

    @property
    def embeddings(self) -> Embeddings:
        """The ``embedding`` of ``from_texts`` or ``from_documents``, or else embeddings by the index's own embedder."""
        return self._embeddings or IndexEmbeddings(self.index)

    def add_documents(self, documents: list[Document], **options: Any) -> list[str]:
        """Add Documents, replace those whose ids are there already, and skip those that have not changed.

        Args:
            documents: The Documents. They are not changed.
            options: ``ids``, an id for each Document, instead of its own. Default: its own id, or else one of its source
                and a hash of its text and metadata, so that it can be added again without harm. ``flatten_metadata``,
                whether nested metadata are flattened; default: False, they are an error. ``volatile_keys``, metadata
                keys that are not part of that hash: see ``View.add``. ``batch_size``, which LangChain's ``index`` passes,
                has no effect: the index makes groups itself.

        Returns:
            The ids of the Documents, in their order.

        Raises:
            InvalidArgument: if an option is unknown, or there are more or fewer ids than Documents.
            InvalidDocument: if a Document cannot be stored, or two different ones have the same id. Then nothing is added.
        """
        made = self._to_add(documents, **options)
        self.index.add(made)
        return [document.id for document in made]

    async def aadd_documents(self, documents: list[Document], **options: Any) -> list[str]:
        """Like ``add_documents``."""
        made = await asyncio.to_thread(self._to_add, documents, **options)
        await self.index.aadd(made)
        return [document.id for document in made]

    def _to_add(self, documents: Iterable[Document], **options: Any) -> list[StoredDocument]:
        check_option_names(f"add_documents of {type(self).__name__}", options, _ADD_OPTIONS)
        rules = {name: options[name] for name in ("flatten_metadata", "volatile_keys") if name in options}
        return to_documents(documents, options.get("ids"), split=self._split, **{"flatten_metadata": False, **rules})

    def add_texts(
        self, texts: Iterable[str], metadatas: Metadatas = None, *, ids: list[str] | None = None, **options: Any
    ) -> list[str]:
        """Add texts: see ``add_documents``.

        Args:
            texts: The texts.
            metadatas: Metadata for each text, None for none. Default: none.
            ids: An id for each text. Default: one made of its source and a hash of text and metadata.
            options: The other options of ``add_documents``.

        Raises:
            InvalidArgument: if there is not one of ``metadatas`` and ``ids`` for each text.
        """
        return self.add_documents(_documents(texts, metadatas), ids=ids, **options)

    async def aadd_texts(
        self, texts: Iterable[str], metadatas: Metadatas = None, *, ids: list[str] | None = None, **options: Any
    ) -> list[str]:
        """Like ``add_texts``."""
        return await self.aadd_documents(_documents(texts, metadatas), ids=ids, **options)

    def delete(self, ids: list[str] | None = None, **options: Any) -> bool:
        """Delete documents. Missing ids are ignored.

        Args:
            ids: Ids of documents, as ``add_documents`` returns them. Give either this or ``where``.
            options: ``where``, a filter on the documents' metadata.

        Returns:
            True.

        Raises:
            InvalidArgument: if not exactly one of ``ids`` and ``where`` is given, or an id belongs to a passage, not to a
                document. Then nothing is deleted.
        """
        check_option_names(f"delete of {type(self).__name__}", options, ("where",))
        run(delete(self.index, ids, options.get("where")))
        return True

    async def adelete(self, ids: list[str] | None = None, **options: Any) -> bool:
        """Like ``delete``."""
        check_option_names(f"adelete of {type(self).__name__}", options, ("where",))
        await arun(delete(self.index, ids, options.get("where")))
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The existing Documents with these ids, in the order of the ids: whole documents and passages.

        Raises:
            InvalidArgument: if ``ids`` is not a list of strings.
        """
        return [to_stored_document(each) for each in run(with_ids(self.index, ids))]

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Like ``get_by_ids``."""
        return [to_stored_document(each) for each in await arun(with_ids(self.index, ids))]

    def get(
        self,
        ids: str | Sequence[str] | None = None,
        where: object = None,
        limit: int | None = None,
        offset: int | None = None,
        where_document: object = None,
        include: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """Ids, texts and metadata of whole documents, in the order of their ids: like Chroma's ``get``.

        Args:
            ids: An id, or a list of ids. Default: all.
            where: Filter on the documents' metadata, in any dialect. Default: all documents.
            limit: Most documents, >= 0. Default: all.
            offset: Number of documents to leave out, >= 0. Default: 0.
            where_document: Must be None: no filter reads texts.
            include: Which of ``"documents"`` and ``"metadatas"`` to return; the other is None. Default: both.

        Raises:
            InvalidArgument: if an option is out of its range, or not available here.
        """
        if where_document is not None:
            check_option_names(f"get of {type(self).__name__}", ["where_document"], [])
        kinds = ("documents", "metadatas")
        wanted = [ids] if isinstance(ids, str) else None if ids is None else [*ids] if isinstance(ids, Iterable) else [ids]
        if wanted is not None and not all(isinstance(each, str) for each in wanted):
            raise InvalidArgument(f"ids must be a string or a list of strings, got {shown(ids)}")
        if isinstance(include, str) or not isinstance(include, Iterable | None):
            raise InvalidArgument(f"include must be a list, such as ['documents'], got {shown(include)}")
        for each in kinds if include is None else include:
            if each not in kinds:
                advice = "; embed texts with store.embeddings" if each == "embeddings" else ""
                raise InvalidArgument(f"include must have only documents and metadatas, got {shown(each)}{advice}")
        first = 0 if offset is None else check_whole("offset", offset, 0)
        end = None if limit is None else first + check_whole("limit", limit, 0)
        listed = [each for each in self.index.documents(where) if wanted is None or each.id in wanted][first:end]
        if include is None or "documents" in include:
            documents = self.get_by_ids([each.id for each in listed])
        else:
            documents = [to_stored_document(StoredDocument(each.id, "", each.title, each.metadata)) for each in listed]
        values = [each.page_content for each in documents], [each.metadata for each in documents]
        parts = zip(kinds, values, strict=True)
        return {
            "ids": [each.id for each in documents],
            **{kind: part if include is None or kind in include else None for kind, part in parts},
        }

    def similarity_search(self, query: str, k: int = 4, filter: object = None, **options: Any) -> list[Document]:
        """The Documents and passages nearest to a question, best first.

        Args:
            query: The question.
            k: Most results, >= 1. Default: 4.
            filter: Filter on the documents' metadata, in any dialect. Default: all documents.
            options: None; an error suggests the right option.

        Raises:
            InvalidArgument: if an option is out of its range, or the question is blank.
        """
        return [document for document, _ in self.similarity_search_with_score(query, k, filter, **options)]

    async def asimilarity_search(self, query: str, k: int = 4, filter: object = None, **options: Any) -> list[Document]:
        """Like ``similarity_search``."""
        return [document for document, _ in await self.asimilarity_search_with_score(query, k, filter, **options)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, filter: object = None, **options: Any
    ) -> list[tuple[Document, float]]:
        """Like ``similarity_search``, with scores: cosine similarities in [-1, 1], where higher is better."""
        self._check_search(options)
        passages = self.index.retrieve(Query(query), Vector(), k=k, where=filter)
        return [(to_stored_document(each), each.score) for each in passages]

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, filter: object = None, **options: Any
    ) -> list[tuple[Document, float]]:
        """Like ``similarity_search_with_score``."""
        self._check_search(options)
        passages = await self.index.aretrieve(Query(query), Vector(), k=k, where=filter)
        return [(to_stored_document(each), each.score) for each in passages]

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda similarity: min(1.0, max(0.0, similarity))  # as in other stores with cosine distance

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, filter: object = None, **options: Any
    ) -> list[Document]:
        """Like ``similarity_search`` for a vector, which must be as long as the index's vectors."""
        return self._search(_of(embedding), {"strategy": Vector(), "k": k, "where": filter}, options)

    async def asimilarity_search_by_vector(
        self, embedding: list[float], k: int = 4, filter: object = None, **options: Any
    ) -> list[Document]:
        """Like ``similarity_search_by_vector``."""
        return await self._asearch(_of(embedding), {"strategy": Vector(), "k": k, "where": filter}, options)

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, filter: object = None, **options: Any
    ) -> list[Document]:
        """Like ``similarity_search``, but with varied results: maximal marginal relevance.

        Args:
            query: The question.
            k: Most results, >= 1. Default: 4.
            fetch_k: Number of nearest passages to choose from, >= 1. Default: 20.
            lambda_mult: Weight in [0, 1] of nearness to the question, against difference from earlier results.
                Default: 0.5.
            filter: Filter on the documents' metadata, in any dialect. Default: all documents.
            options: None; an error suggests the right option.

        Raises:
            InvalidArgument: if an option is out of its range, or the question is blank.
        """
        return self._search(Query(query), _diverse(k, fetch_k, lambda_mult, filter), options)

    async def amax_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, filter: object = None, **options: Any
    ) -> list[Document]:
        """Like ``max_marginal_relevance_search``."""
        return await self._asearch(Query(query), _diverse(k, fetch_k, lambda_mult, filter), options)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: object = None,
        **options: Any,
    ) -> list[Document]:
        """Like ``max_marginal_relevance_search`` for a vector, which must be as long as the index's vectors."""
        return self._search(_of(embedding), _diverse(k, fetch_k, lambda_mult, filter), options)

    async def amax_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: object = None,
        **options: Any,
    ) -> list[Document]:
        """Like ``max_marginal_relevance_search_by_vector``."""
        return await self._asearch(_of(embedding), _diverse(k, fetch_k, lambda_mult, filter), options)

    def _search(self, query: Query, call: Mapping[str, Any], others: Mapping[str, Any]) -> list[Document]:
        self._check_search(others)
        return [*map(to_stored_document, self.index.retrieve(query, **call))]

    async def _asearch(self, query: Query, call: Mapping[str, Any], others: Mapping[str, Any]) -> list[Document]:
        self._check_search(others)
        return [*map(to_stored_document, await self.index.aretrieve(query, **call))]

    def _check_search(self, options: Mapping[str, Any]) -> None:
        owner = f"a search of {type(self).__name__}"
        for name in _KINDS.keys() & options.keys():
            raise InvalidArgument(f"{owner} has no option {name!r}: that is for search_type={_KINDS[name]!r}")
        check_option_names(owner, options, ("k", "filter"))

    def search(self, query: str, search_type: str, **options: Any) -> list[Document]:
        """The results of ``as_retriever`` with this ``search_type``, and the options as its ``search_kwargs``."""
        if search_type in _HOSTS_OWN:
            return super().search(query, search_type, **options)
        return self.as_retriever(search_type=search_type, search_kwargs=options).invoke(query)

    async def asearch(self, query: str, search_type: str, **options: Any) -> list[Document]:
        """Like ``search``."""
        if search_type in _HOSTS_OWN:
            return await super().asearch(query, search_type, **options)
        return await self.as_retriever(search_type=search_type, search_kwargs=options).ainvoke(query)

    def as_retriever(self, **options: Any) -> BaseRetriever:  # type: ignore[override]  # there, a host's own retriever
        """A retriever that searches this store.

        Args:
            options: ``search_type``: ``"similarity"`` (the default), ``"mmr"`` or ``"similarity_score_threshold"``, for
                LangChain's own ``VectorStoreRetriever``; or ``"hybrid"``, ``"bm25"``, ``"relevant-segments"``,
                ``"auto-merging"``, ``"sentence-window"``, ``"parent-document"`` or ``"tree"``, for the retriever of this
                package, such as ``HybridRetriever``. ``search_kwargs``: options of each search, such as ``k``, ``filter``,
                ``fetch_k``, ``lambda_mult`` and ``score_threshold``; for a retriever of this package, its options, where
                ``filter``, ``score_threshold`` and ``fetch_k`` mean ``where``, ``min_score`` and ``candidates``. Options of
                any retriever, such as ``tags``, also work.

        Raises:
            InvalidArgument: if ``search_type`` is something else, or a retriever of this package has no such option.
        """
        kind = options.get("search_type", _HOSTS_OWN[0])
        check_choice("search_type", kind, (*_HOSTS_OWN, *_RETRIEVERS))
        if kind in _HOSTS_OWN:
            return super().as_retriever(**options)
        own = {**options, **(options.get("search_kwargs") or {})}
        for name in _NAMES.keys() & own.keys():
            here = _NAMES[name]
            if here in own:
                raise InvalidArgument(f"search_kwargs must have either {name} or {here}, got both")
            own[here] = own.pop(name)
        own = {name: value for name, value in own.items() if name not in ("search_type", "search_kwargs")}
        retriever = _RETRIEVERS[kind]
        check_option_names(retriever.__name__, own, [name for name in retriever.model_fields if name != "index"])
        return retriever(index=self.index, **{"tags": self._get_retriever_tags(), **own})


@contextmanager
def _closed_on_failure(opened: Index) -> Iterator[None]:
    try:
        yield
    except BaseException:
        opened.close()
        raise


def _documents(texts: Iterable[str], metadatas: Metadatas) -> list[Document]:
    if isinstance(texts, str):
        raise InvalidArgument(f"texts must be a list of strings, got {shown(texts)}")
    listed = list(texts)
    if metadatas is not None and len(metadatas) != len(listed):
        raise InvalidArgument(f"metadatas must have one for each of the {len(listed)} texts, got {len(metadatas)}")
    documents = []
    for text, own in zip(listed, metadatas or [None] * len(listed), strict=True):
        if own is not None and not isinstance(own, Mapping):
            raise InvalidArgument(f"each of metadatas must be a mapping, or None without metadata, got {shown(own)}")
        documents.append(Document(page_content=text, metadata=dict(own or {})))
    return documents


def _diverse(k: int, fetch_k: int, lambda_mult: float, where: object) -> dict[str, Any]:
    """The strategy of maximal marginal relevance, and the call's options."""
    check_whole("k", k, 1)
    check_whole("fetch_k", fetch_k, 1)
    check_number("lambda_mult", lambda_mult, at_least=0, at_most=1)
    base = Vector(k=fetch_k)
    # With 0, too, the first result is the nearest one, and nearness decides between equally different results.
    strategy: Strategy = Rerank(base=base, diversity=1 - lambda_mult) if lambda_mult < 1 else base
    return {"strategy": strategy, "k": min(k, fetch_k), "where": where}


def _of(embedding: Any) -> Query:
    """A query with this vector. The core refuses anything but a vector."""
    is_list = isinstance(embedding, Sequence) and not isinstance(embedding, str)
    return Query(vector=tuple(embedding) if is_list else embedding)

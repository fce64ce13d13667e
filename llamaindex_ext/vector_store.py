"""An index as a LlamaIndex vector store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import Field
from llama_index.core.schema import BaseNode, ObjectType
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryResult,
)

from leafspan import BM25, Hybrid, InvalidArgument, Passage, Query, Rerank, Strategy, Vector, View
from leafspan import Document as StoredDocument
from leafspan.hosting import (
    Call,
    Flow,
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
from llamaindex_ext.documents import SOURCE, TYPE, to_stored_node, with_node

_DOCUMENT_ID = "doc_id"  # of leafspan's filters
_OF_SOURCE = (SOURCE, "document_id", _DOCUMENT_ID)  # keys under which LlamaIndex's stores have the id of a node's source
_NO_TEXTS = [ObjectType.IMAGE.value, ObjectType.INDEX.value]
_TEXTS = MetadataFilters(filters=[MetadataFilter(key=TYPE, value=_NO_TEXTS, operator=FilterOperator.NIN)])
_WORDS = ("sparse", "text_search")
_MODES = ("default", *_WORDS, "hybrid", "mmr")
_MMR = ("mmr_threshold", "mmr_prefetch_k", "mmr_prefetch_factor")


class IndexEmbedding(BaseEmbedding):
    """The embedder of an index. A private view embeds masked texts."""

    index: View = Field(exclude=True)

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex stores it."""
        return "IndexEmbedding"

    def _get_query_embedding(self, query: str) -> list[float]:
        return run(self.index._vectors([query], questions=True))[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return (await arun(self.index._vectors([query], questions=True)))[0]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return (await self._aget_text_embeddings([text]))[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return run(self.index._vectors(texts, questions=False))

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await arun(self.index._vectors(texts, questions=False))


class SpanVectorStore(BasePydanticVectorStore):
    """An index or a view of one, as a LlamaIndex vector store.

    Each node becomes a document of the index, which embeds it itself; a node's own ``embedding`` is not used. Nodes come
    back as they were added. What ``View.add`` has added is found as ``VectorRetriever`` finds it.

    LlamaIndex needs an embed model all the same, and an ``IngestionPipeline`` drops nodes without an embedding: use
    ``embed_model``. Questions reach the index as texts, and only a query without a text is searched by its vector.

    Args:
        index: Index to search and to add to, or a view of one.
        split: Whether the index cuts nodes into leaves. Then of a longer node the leaves are found that are nearest to the
            question, each with an id of its own, and ``doc_id``, ``start`` and ``end`` in its metadata. Default: False,
            each node is one leaf, since a node parser has cut the text already.

    Raises:
        InvalidArgument: if an option is of a wrong type.
    """

    stores_text: bool = True
    is_embedding_query: bool = False
    index: View = Field(exclude=True)
    split: bool = False

    def __init__(self, index: View, *, split: bool = False) -> None:
        if index is None:
            raise InvalidArgument("index must be an Index or a view of one, got None")
        check_index(index)
        check_flag("split", split)
        super().__init__(index=index, split=split)  # type: ignore[call-arg]

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex stores it."""
        return "SpanVectorStore"

    @property
    def client(self) -> View:
        """The index."""
        return self.index

    @property
    def embed_model(self) -> BaseEmbedding:
        """An embed model for LlamaIndex that embeds as the index does."""
        return IndexEmbedding(index=self.index, model_name=self.index._embedder.embedder.name)

    def add(self, nodes: Sequence[BaseNode], **options: Any) -> list[str]:
        """Add nodes, replace those whose ids are there already, and skip those that have not changed.

        Filters see nested metadata flattened: ``{"a": {"b": 1}}`` as ``"a.b"``. Of nodes of one id, the last is added.

        Returns:
            The ids of the nodes, in their order.

        Raises:
            InvalidArgument: if ``nodes`` is no list of nodes, an option is given, or a node has a picture,
                sound or film but no text, or as bytes, which LlamaIndex does not write. Then nothing is added.
            InvalidDocument: if a node cannot be stored. Then nothing is added.
        """
        made = self._to_add(nodes, options)
        self.index.add(list(made.values()))
        return [node.node_id for node in nodes]

    async def async_add(self, nodes: Sequence[BaseNode], **options: Any) -> list[str]:
        """Like ``add``."""
        made = await asyncio.to_thread(self._to_add, nodes, options)
        await self.index.aadd(list(made.values()))
        return [node.node_id for node in nodes]

    def _to_add(self, nodes: Any, options: Mapping[str, Any]) -> dict[str, StoredDocument]:
        check_option_names(f"add of {type(self).__name__}", options, ())
        if not isinstance(nodes, Sequence) or not all(isinstance(node, BaseNode) for node in nodes):
            raise InvalidArgument(f"nodes must be a list of LlamaIndex nodes, got {shown(nodes)}")
        made: dict[str, StoredDocument] = {}
        for node in nodes:
            [document] = to_documents(node, [node.node_id], split=self.split, flatten_metadata=True)
            made[document.id] = with_node(document, node)
        return made

    def delete(self, ref_doc_id: str, **options: Any) -> None:
        """Delete the nodes whose source is this document, and the document itself if it is there.

        Raises:
            InvalidArgument: if ``ref_doc_id`` is no string, or an option is given.
        """
        run(self._delete(ref_doc_id, options))

    async def adelete(self, ref_doc_id: str, **options: Any) -> None:
        """Like ``delete``."""
        await arun(self._delete(ref_doc_id, options))

    def _delete(self, ref_doc_id: str, options: Mapping[str, Any]) -> Flow[None]:
        check_option_names(f"delete of {type(self).__name__}", options, ())
        if not isinstance(ref_doc_id, str):
            raise InvalidArgument(f"ref_doc_id must be a string, got {shown(ref_doc_id)}")
        return delete(self.index, None, _of_source(ref_doc_id))

    def delete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **options: Any
    ) -> None:
        """Delete nodes. Missing ids are ignored.

        Args:
            node_ids: Ids of nodes. Default: of all.
            filters: Filters on metadata. Default: none; give these or ``node_ids``, or both: then both must hold.
            options: None; an error suggests the right option.

        Raises:
            InvalidArgument: if neither is given, or an id belongs to a passage, not to a node. Then nothing is deleted.
        """
        run(self._delete_nodes(node_ids, filters, options))

    async def adelete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **options: Any
    ) -> None:
        """Like ``delete_nodes``."""
        await arun(self._delete_nodes(node_ids, filters, options))

    def _delete_nodes(self, node_ids: Any, filters: Any, options: Mapping[str, Any]) -> Flow[None]:
        check_option_names(f"delete_nodes of {type(self).__name__}", options, ())
        if node_ids is None and filters is None:
            raise InvalidArgument("give node_ids or filters, got neither: to delete all nodes, use clear()")
        both = None if filters is None else _where(filters, node_ids=node_ids)
        return delete(self.index, node_ids if both is None else None, both)

    def clear(self) -> None:
        """Delete all documents of the index, or of the view."""
        self.index.sync([], within="everything", allow_empty=True)

    async def aclear(self) -> None:
        """Like ``clear``."""
        await self.index.a_sync([], within="everything", allow_empty=True)

    def get_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        """The existing nodes with these ids, in the order of the ids, or all, in the order of their ids.

        Args:
            node_ids: Ids of nodes, or of passages of longer ones. Default: all.
            filters: Filters on metadata. Default: none.

        Raises:
            InvalidArgument: if an argument is of a wrong type.
        """
        return [to_stored_node(each) for each in run(with_ids(self.index, run(self._ids(node_ids, filters))))]

    async def aget_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        """Like ``get_nodes``."""
        return [to_stored_node(each) for each in await arun(with_ids(self.index, await arun(self._ids(node_ids, filters))))]

    def _ids(self, node_ids: list[str] | None, filters: Any) -> Flow[list[str]]:
        if filters is not None and filters != MetadataFilters(filters=[]):
            return (yield from self._matching(_where(filters, node_ids=node_ids)))
        return (yield from self._matching(None)) if node_ids is None else node_ids

    def _matching(self, where: MetadataFilters | None) -> Flow[list[str]]:
        return [each.id for each in (yield Call(self.index.documents, (where,), native=self.index.adocuments))]

    def query(self, query: VectorStoreQuery, **options: Any) -> VectorStoreQueryResult:
        """The nodes that a query finds, best first, with their scores: see docs/scores.md.

        Args:
            query: The query. Its mode is ``"default"`` (vectors), ``"sparse"`` or ``"text_search"`` (BM25), ``"hybrid"``
                (``Hybrid``, with ``alpha`` as the share of the vectors) or ``"mmr"``. ``sparse_top_k`` and ``hybrid_top_k``
                are numbers of results in their modes. ``node_ids`` that name images and index nodes only restrict nothing:
                ``VectorStoreIndex.as_retriever`` passes the ids of its own.
            options: For ``"mmr"``, as in LlamaIndex's Chroma store: ``mmr_threshold``, the weight in [0, 1] of nearness
                against difference, by default 0.5, and ``mmr_prefetch_k``, the number of nearest nodes to choose from, or
                ``mmr_prefetch_factor``, by default 4, for as many times ``similarity_top_k``.

        Raises:
            InvalidArgument: if the mode is another one, an option is out of its range, or the query has neither a text nor
                a vector as long as the index's vectors.
        """
        question, call = run(self._call(query, options))
        return _result(self.index.retrieve(question, **call))

    async def aquery(self, query: VectorStoreQuery, **options: Any) -> VectorStoreQueryResult:
        """Like ``query``."""
        question, call = await arun(self._call(query, options))
        return _result(await self.index.aretrieve(question, **call))

    def _call(self, query: VectorStoreQuery, options: Mapping[str, Any]) -> Flow[tuple[Query, dict[str, Any]]]:
        if not isinstance(query, VectorStoreQuery):
            raise InvalidArgument(f"query must be a VectorStoreQuery, got {shown(query)}")
        mode, node_ids = getattr(query.mode, "value", query.mode), query.node_ids
        check_choice("mode", mode, _MODES)
        check_option_names(f"mode {mode!r} of {type(self).__name__}", options, _MMR if mode == "mmr" else ())
        if node_ids and not (yield from self._matching(_where(_TEXTS, node_ids=node_ids))):
            node_ids = None
        k = query.hybrid_top_k if mode == "hybrid" else query.sparse_top_k if mode in _WORDS else None
        k = query.similarity_top_k if k is None else k
        check_whole("similarity_top_k", k, 1)
        where = _where(query.filters, node_ids=node_ids or None, doc_ids=query.doc_ids or None)
        strategy = _diverse(k, query, options) if mode == "mmr" else _plain(mode, query.alpha)
        vector = None if query.query_str or query.query_embedding is None else tuple(query.query_embedding)
        return Query(query.query_str or None, vector), {"strategy": strategy, "k": k, "where": where}


def _plain(mode: str, alpha: float | None) -> Strategy:
    if mode == "hybrid" and alpha is not None:
        check_number("alpha", alpha, at_least=0, at_most=1)
        if 0 < alpha < 1:
            return Hybrid(weights=(1 - alpha, alpha))
        mode = "default" if alpha else "sparse"
    return Vector() if mode == "default" else Hybrid() if mode == "hybrid" else BM25()


def _diverse(k: int, query: VectorStoreQuery, options: Mapping[str, Any]) -> Strategy:
    """The strategy of maximal marginal relevance."""
    threshold, factor = options.get("mmr_threshold", query.mmr_threshold), options.get("mmr_prefetch_factor", 4)
    threshold = 0.5 if threshold is None else threshold
    check_number("mmr_threshold", threshold, at_least=0, at_most=1)
    check_number("mmr_prefetch_factor", factor, at_least=1)
    nearest = options.get("mmr_prefetch_k", int(k * factor))
    check_whole("mmr_prefetch_k", nearest, 1)
    base = Vector(k=max(k, nearest))
    return Rerank(base=base, diversity=1 - threshold) if threshold < 1 else base


def _of_source(value: Any, operator: FilterOperator = FilterOperator.EQ) -> MetadataFilters:
    """A filter on the id of a node's source. A document that has no source, or was not added as a node, is its own."""
    parts: list[Any] = [MetadataFilter(key=key, value=value, operator=operator) for key in (SOURCE, _DOCUMENT_ID)]
    negative = operator in (FilterOperator.NE, FilterOperator.NIN, FilterOperator.IS_EMPTY)
    return MetadataFilters(filters=parts, condition=FilterCondition.AND if negative else FilterCondition.OR)


def _where(filters: Any, *, node_ids: Any = None, doc_ids: Any = None) -> MetadataFilters | None:
    """The filters that all must hold."""
    parts: list[Any] = [] if filters is None else [_translated(filters)]
    for name, ids in (("node_ids", node_ids), ("doc_ids", doc_ids)):
        if ids is not None and not (isinstance(ids, list | tuple) and all(isinstance(id_, str) for id_ in ids)):
            raise InvalidArgument(f"{name} must be a list of strings, got {shown(ids)}")
    if node_ids is not None:
        parts.append(MetadataFilter(key=_DOCUMENT_ID, value=list(node_ids), operator=FilterOperator.IN))
    if doc_ids is not None:
        parts.append(_of_source(list(doc_ids), FilterOperator.IN))
    return MetadataFilters(filters=parts) if parts else None


def _translated(filters: Any) -> MetadataFilters:
    """The filters with LlamaIndex's keys for the id of a node's source as leafspan's."""
    if not isinstance(filters, MetadataFilters):
        raise InvalidArgument(f"filters must be LlamaIndex's MetadataFilters, got {shown(filters)}")
    parts: list[Any] = [
        _translated(each)
        if isinstance(each, MetadataFilters)
        else _of_source(each.value, each.operator)
        if each.key in _OF_SOURCE
        else each
        for each in filters.filters
    ]
    return MetadataFilters(filters=parts, condition=filters.condition)


def _result(passages: Iterable[Passage]) -> VectorStoreQueryResult:
    nodes = [(to_stored_node(each), each.score) for each in passages]
    ids = [node.node_id for node, _ in nodes]
    return VectorStoreQueryResult([node for node, _ in nodes], [score for _, score in nodes], ids)

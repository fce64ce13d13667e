"""What a LightRAG finds in its graph, in LangChain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from langchain_ext.documents import to_document
from langchain_ext.retriever import NamedRetriever
from leafspan import Strategy
from leafspan.hosting import GraphKind, LightRAGMode, LightRAGShape
from leafspan.sources import LightRAG


class LightRAGRetriever(NamedRetriever):
    """Like the core's ``LightRAG``, but a LangChain retriever.

    Without an index, all results are passages of their own kind.

    Args:
        index: Index to search, or a view of one. Default: none, for what searches other sources only.
        instance: A ``lightrag.LightRAG`` that is initialised, or a ``LightRAGThread``.
        mode: ``"local"``: entities that fit the question, and what belongs to them. ``"global"``: relations. ``"hybrid"``:
            both. ``"naive"``: chunks by their vectors, without the graph. ``"mix"``: all of these. ``"bypass"``: nothing is
            searched; only for answers. Default: ``"mix"``.
        kinds: What becomes a passage, of ``"chunk"``, ``"entity"`` and ``"relation"``. Chunks alone can be merged or
            widened by another strategy, if all of them are leaves. Default: ('chunk', 'entity', 'relation').
        params: Further options of ``lightrag.QueryParam`` by name, such as ``{"top_k": 20, "hl_keywords": ["tea"]}``.
            Default: LightRAG's own. Chunks are reranked only if the instance has a model for it.
        timeout: Most seconds for a question, > 0. Default: 60.
        k: Most passages, >= 1. Default: 5, or any number if a budget is given or the strategy has a limit of its own, such
            as ``min_score``.
        candidates: Leaves to look at before merging, in [1, 10000]. Default: as many as it takes to fill the budget or to
            find all above ``min_score``; with ``k``, 4 * k and at least 24.
        budget: Most words in all passages together, >= 1, or tokens with ``Budget(512, count=...)``. The first passage that
            does not fit is cut to the leaves around its best hit that do, and ends the list. Only a single leaf is returned
            even if it alone is over the budget. Default: any number.
        where: Filter on the documents' metadata, such as ``F("year") >= 2020``, or one in the dialect of Chroma, Haystack
            or LlamaIndex. Default: all documents.
        min_score: Lowest score of a passage: docs/scores.md says what scores mean. Without ``k`` or ``budget``, all that
            reach it are returned. Default: any.
        retrieval_timeout: Seconds, > 0, after which a call ends with a ``RetrievalTimeout``, whatever it waits for:
            ``timeout`` of the core's ``retrieve``. Default: none.
        filter_policy: Which filter holds if a call brings one, too: ``"replace"`` for that of the call, ``"merge"`` for
            both. Only ``"merge"`` can guard the documents of a tenant. Default: ``"replace"``.
        explain: Whether each Document has a ``trace`` in its metadata: sentences that say how it was found. Default: False.

    Raises:
        ValidationError: if an option is unknown or out of its range. It is pydantic's, and holds the core's
            InvalidArgument.
    """

    kind: ClassVar[type[Strategy]] = LightRAG

    instance: Any
    mode: LightRAGMode = "mix"
    kinds: Sequence[GraphKind] = ("chunk", "entity", "relation")
    params: Mapping[str, Any] | None = None
    timeout: float = 60.0

    def retrieve_data(self, question: str, shape: LightRAGShape = "chunks") -> Any:
        """Like the core's ``LightRAG.retrieve_data``, but ``"chunks"`` are Documents."""
        return self._in_shape(self._light_rag().retrieve_data(question, shape), shape)

    async def aretrieve_data(self, question: str, shape: LightRAGShape = "chunks") -> Any:
        """Like ``retrieve_data``, without blocking the event loop."""
        return self._in_shape(await self._light_rag().aretrieve_data(question, shape), shape)

    def _light_rag(self) -> LightRAG:
        strategy = self._strategy()
        assert isinstance(strategy, LightRAG)
        return strategy

    def _in_shape(self, data: Any, shape: str) -> Any:
        return [to_document(each, explain=self.explain) for each in data] if shape == "chunks" else data

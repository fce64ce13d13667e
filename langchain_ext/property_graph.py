"""What a property graph of LlamaIndex has, in LangChain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from langchain_ext.documents import to_document
from langchain_ext.language_model import as_generate
from langchain_ext.retriever import NamedRetriever
from leafspan import Strategy
from leafspan.hosting import KEYWORD_PROMPT, GraphKind, PropertyGraphShape
from leafspan.sources import PropertyGraph


class PropertyGraphRetriever(NamedRetriever):
    """Like the core's ``PropertyGraph``, but a LangChain retriever.

    In place of ``generate`` and ``agenerate`` it has an ``llm``. Without an index, all results are passages of their own
    kind. Only the graph needs LlamaIndex.

    Args:
        index: Index to search, or a view of one. Default: none, for what searches other sources only.
        graph: A ``PropertyGraphIndex``, one of LlamaIndex's property graph stores, or a retriever of such an index. A
            retriever searches by itself, and its own scores count. Otherwise all entities are read for each question, which
            is for graphs of up to some ten thousand entities.
        kinds: What becomes a passage, of ``"chunk"``, ``"entity"`` and ``"relation"``. Chunks alone can be merged or
            widened by another strategy, if all of them are leaves. Default: ('chunk', 'entity', 'relation').
        embedder: An embedder of any kind that ``Index.open`` takes, which compares the question with the entities. Default:
            the one that is part of leafspan.
        llm: LangChain chat model, LLM, or any other Runnable from a prompt to a message or a text, which is asked for
            keywords. Default: none is asked.
        keywords: Number of keywords to ask for, >= 1. Default: 10.
        prompt: Template with ``{question}`` and ``{count}``. The answer has a keyword on each line.
        entities: Number of entities to start from, beside those that are named, >= 0. Default: 4.
        depth: Number of steps along relations, >= 0. Default: 1.
        limit: Most relations, >= 1. Default: 30.
        timeout: Most seconds for the graph, and as many for the language model, > 0. Default: 60.
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

    kind: ClassVar[type[Strategy]] = PropertyGraph

    graph: Any
    kinds: Sequence[GraphKind] = ("chunk", "entity", "relation")
    embedder: Any = None
    llm: Any = None
    keywords: int = 10
    prompt: str = KEYWORD_PROMPT
    entities: int = 4
    depth: int = 1
    limit: int = 30
    timeout: float = 60.0

    def retrieve_data(self, question: str, shape: PropertyGraphShape = "chunks") -> Any:
        """Like the core's ``PropertyGraph.retrieve_data``, but ``"chunks"`` are Documents."""
        return self._in_shape(self._property_graph().retrieve_data(question, shape), shape)

    async def aretrieve_data(self, question: str, shape: PropertyGraphShape = "chunks") -> Any:
        """Like ``retrieve_data``, without blocking the event loop."""
        return self._in_shape(await self._property_graph().aretrieve_data(question, shape), shape)

    def _converted(self, child: Any) -> dict[str, Any]:
        return {**super()._converted(child), **as_generate(self.llm, child)}

    def _property_graph(self) -> PropertyGraph:
        strategy = self._strategy()
        assert isinstance(strategy, PropertyGraph)
        return strategy

    def _in_shape(self, data: Any, shape: str) -> Any:
        return [to_document(each, explain=self.explain) for each in data] if shape == "chunks" else data

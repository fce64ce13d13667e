"""What a property graph has, with the strategy's own search, in LlamaIndex."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from llama_index.core.prompts import PromptTemplate
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.schema import QueryBundle

from leafspan import Strategy
from leafspan.hosting import KEYWORD_PROMPT, GraphKind, PropertyGraphShape, check_prompt
from leafspan.sources import PropertyGraph
from llamaindex_ext.language_model import as_generate
from llamaindex_ext.retriever import NamedRetriever


@dataclass(kw_only=True, eq=False, repr=False)
class PropertyGraphRetriever(NamedRetriever):
    """Like the core's ``PropertyGraph``, but a LlamaIndex retriever.

    In place of ``generate`` and ``agenerate`` it has an ``llm``. ``prompt`` can also be read by ``get_prompts`` and
    changed by ``update_prompts``. Without an index, all results are passages of their own kind.

    Args:
        index: Index to search, or a view of one. Default: none, for what searches other sources only.
        graph: A ``PropertyGraphIndex``, one of LlamaIndex's property graph stores, or a retriever of such an index. A
            retriever searches by itself, and its own scores count. Otherwise all entities are read for each question, which
            is for graphs of up to some ten thousand entities.
        kinds: What becomes a passage, of ``"chunk"``, ``"entity"`` and ``"relation"``. Chunks alone can be merged or
            widened by another strategy, if all of them are leaves. Default: ('chunk', 'entity', 'relation').
        embedder: An embedder of any kind that ``Index.open`` takes, which compares the question with the entities. Default:
            the one that is part of leafspan.
        llm: LlamaIndex LLM that is asked for keywords; never the one of ``Settings``. Default: none is asked.
        keywords: Number of keywords to ask for, >= 1. Default: 10.
        prompt: Template with ``{question}`` and ``{count}``. The answer has a keyword on each line.
        entities: Number of entities to start from, beside those that are named, >= 0. Default: 4.
        depth: Number of steps along relations, >= 0. Default: 1.
        limit: Most relations, >= 1. Default: 30.
        timeout: Most seconds for the graph, and as many for the language model, > 0. Default: 60.
        similarity_top_k: Most passages, >= 1. Default: 5, or any number if a budget is given or the strategy has a limit of
            its own, such as ``min_score``.
        candidates: Leaves to look at before merging, in [1, 10000]. Default: as many as it takes to fill the budget or to
            find all above ``min_score``; with ``similarity_top_k``, 4 * similarity_top_k and at least 24.
        budget: Most words in all passages together, >= 1, or tokens with ``Budget(512, count=...)``. The first passage that
            does not fit is cut to the leaves around its best hit that do, and ends the list. Only a single leaf is returned
            even if it alone is over the budget. Default: any number.
        where: Filter on the documents' metadata, such as ``F("year") >= 2020``, or one in the dialect of Chroma, Haystack
            or LlamaIndex. Default: all documents.
        min_score: Lowest score of a passage: docs/scores.md says what scores mean. Without ``similarity_top_k`` or
            ``budget``, all that reach it are returned. Default: any.
        retrieval_timeout: Seconds, > 0, after which a call ends with a ``RetrievalTimeout``, whatever it waits for:
            ``timeout`` of the core's ``retrieve``. Default: none.
        filter_policy: Which filter holds if a call brings one, too: ``"replace"`` for that of the call, ``"merge"`` for
            both. Only ``"merge"`` can guard the documents of a tenant. Default: ``"replace"``.
        explain: Whether each result is a ``NodeWithTrace``, with sentences that say how it was found. Default: False.
        callback_manager: Callback manager of LlamaIndex. Default: one without handlers.
        object_map: Objects that index nodes stand for, by id, as in any retriever of LlamaIndex. Default: none.
        objects: Index nodes with their objects, in place of ``object_map``. Default: none.
        verbose: Whether LlamaIndex prints from which objects it retrieves. Default: False.

    Raises:
        InvalidArgument: if an option is unknown or out of its range.
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
        """Like the core's ``PropertyGraph.retrieve_data``, but ``"chunks"`` are nodes with scores."""
        data = self._property_graph().retrieve_data(question, shape)
        return self._nodes(data) if shape == "chunks" else data

    async def aretrieve_data(self, question: str, shape: PropertyGraphShape = "chunks") -> Any:
        """Like ``retrieve_data``, without blocking the event loop."""
        data = await self._property_graph().aretrieve_data(question, shape)
        return self._nodes(data) if shape == "chunks" else data

    def _converted(self, bundle: QueryBundle | None) -> dict[str, Any]:
        return {**super()._converted(bundle), **as_generate(self.llm)}

    def _property_graph(self) -> PropertyGraph:
        strategy = self._strategy()
        assert isinstance(strategy, PropertyGraph)
        return strategy

    def _get_prompts(self) -> PromptDictType:
        return {"prompt": PromptTemplate(self.prompt)}

    def _update_prompts(self, prompts_dict: PromptDictType) -> None:
        if "prompt" in prompts_dict:
            # What is filled in beforehand (partial_format) is kept, and our two fields stay open.
            prompt = prompts_dict["prompt"].format(question="{question}", count="{count}")
            check_prompt(prompt)
            self.prompt = prompt

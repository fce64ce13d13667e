"""A question in several phrasings, in LlamaIndex."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from llama_index.core.prompts import PromptTemplate
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.schema import QueryBundle

from leafspan import MultiQuery, Query, Strategy
from leafspan.hosting import DEFAULT_PROMPT, check_prompt
from llamaindex_ext.language_model import as_generate
from llamaindex_ext.retriever import BasedRetriever


@dataclass(kw_only=True, eq=False, repr=False)
class MultiQueryRetriever(BasedRetriever):
    """Like the core's ``MultiQuery``, but a LlamaIndex retriever, and its ``base`` may be one too.

    In place of ``generate`` and ``agenerate`` it has an ``llm``. ``prompt`` can also be read by ``get_prompts`` and
    changed by ``update_prompts``.

    Args:
        index: Index to search, or a view of one. Default: none, for what searches other sources only.
        base: A strategy. A LlamaIndex retriever can take its place: one of this package over the same index counts as its
            strategy. What others return are passages of their own kind, unless they have the ids of leaves of the index.
            Default: ``Hybrid()``.
        phrasings: Texts, vectors or Query values to search beside every query. Needed without a language model; an empty
            list will do. Default: none.
        llm: LlamaIndex LLM that is asked for more phrasings; never the one of ``Settings``. Default: none is asked.
        include_original: Whether the query itself is searched as well, as it always is if there are no phrasings of it.
            Default: True.
        count: Number of phrasings to ask for, >= 1. Default: 3.
        prompt: Template with ``{question}`` and ``{count}``. The answer has a phrasing on each line.
        fusion: What a score means. ``"rrf"``: the mean of 1 / (60 + rank) over all phrasings, in (0, 1 / 61].
            ``"maximum"``: the best of the base's own scores. Default: ``"rrf"``.
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

    kind: ClassVar[type[Strategy]] = MultiQuery

    llm: Any = None
    phrasings: Sequence[str | Sequence[float] | Query] | None = None
    include_original: bool = True
    count: int = 3
    prompt: str = DEFAULT_PROMPT
    fusion: Literal["rrf", "maximum"] = "rrf"

    def _converted(self, bundle: QueryBundle | None) -> dict[str, Any]:
        return {**super()._converted(bundle), **as_generate(self.llm)}

    def _get_prompts(self) -> PromptDictType:
        return {"prompt": PromptTemplate(self.prompt)}

    def _update_prompts(self, prompts_dict: PromptDictType) -> None:
        if "prompt" in prompts_dict:
            # What is filled in beforehand (partial_format) is kept, and our two fields stay open.
            prompt = prompts_dict["prompt"].format(question="{question}", count="{count}")
            check_prompt(prompt)
            self.prompt = prompt

"""Questions that go to the retrievers which are chosen for them, in LlamaIndex."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from llama_index.core.prompts import PromptTemplate
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.schema import QueryBundle

from leafspan import Router, Strategy
from leafspan.hosting import CHOOSING_PROMPT, Fusion, check_choosing_prompt, to_named_strategies
from llamaindex_ext.choosing import as_choice
from llamaindex_ext.language_model import as_generate
from llamaindex_ext.retriever import NamedRetriever


@dataclass(kw_only=True, eq=False, repr=False)
class RouterRetriever(NamedRetriever):
    """Like the core's ``Router``, but a LlamaIndex retriever, and its ``retrievers`` may be LlamaIndex retrievers too.

    In place of ``generate`` and ``agenerate`` it has an ``llm``. ``prompt`` can also be read by ``get_prompts`` and
    changed by ``update_prompts``.

    Args:
        index: Index to search, or a view of one. Default: none, for what searches other sources only.
        retrievers: A strategy for each name. LlamaIndex retrievers can take their place: one of this package over the same
            index counts as its strategy. What others return are passages of their own kind, unless they have the ids of
            leaves of the index.
        descriptions: What each retriever is for, by its name: a sentence or two, best in words that questions have. Needed
            without ``choose``. Default: none.
        choose: Function from a question to the name of a retriever, a list of names, or None for the default. A selector of
            LlamaIndex can take its place. Default: none.
        achoose: Its coroutine function.
        llm: LlamaIndex LLM that is asked for names of retrievers; never the one of ``Settings``. Default: none is asked.
        prompt: Template with ``{retrievers}``, ``{question}`` and ``{count}``. The answer has a name on each line.
        most: Most retrievers for a question, >= 1. Default: 1, or as many as ``choose`` names.
        min_similarity: Lowest cosine of a question and a description that is chosen, in [-1, 1]. Default: any.
        default: Name, or list of names, of the retrievers for questions for which none is chosen. Default: all, fused.
        fusion: What a score means where several were asked; see ``Ensemble``. ``"rrf"``, ``"relative_score"``,
            ``"distribution_based"`` or ``"maximum"``. Default: ``"rrf"``.
        timeout: Seconds that each retriever may take, > 0. A late one has failed. Default: no limit.
        on_failure: ``"raise"`` raises the error of a retriever that failed, with a note that names it. ``"skip"`` goes on
            with the others that were chosen for the question, and says so in the trace. An InvalidArgument, and the failure
            of all that were chosen, are always raised. Default: ``"raise"``.
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

    kind: ClassVar[type[Strategy]] = Router

    retrievers: Mapping[str, Any]
    descriptions: Mapping[str, str] = field(default_factory=dict)
    choose: Any = None
    achoose: Callable[[str], Awaitable[str | Sequence[str] | None]] | None = None
    llm: Any = None
    prompt: str = CHOOSING_PROMPT
    most: int | None = None
    min_similarity: float | None = None
    default: str | Sequence[str] | None = None
    fusion: Fusion = "rrf"
    timeout: float | None = None
    on_failure: Literal["raise", "skip"] = "raise"

    def _converted(self, bundle: QueryBundle | None) -> dict[str, Any]:
        retrievers = to_named_strategies(
            "retriever", self.retrievers, lambda name, each: self._as_strategy(name, each, bundle)
        )
        return {
            "retrievers": retrievers,
            **as_choice(self.choose, self.retrievers, self.descriptions),
            **as_generate(self.llm),
        }

    def _get_prompts(self) -> PromptDictType:
        return {"prompt": PromptTemplate(self.prompt)}

    def _update_prompts(self, prompts_dict: PromptDictType) -> None:
        if "prompt" in prompts_dict:
            # What is filled in beforehand (partial_format) is kept, and our fields stay open.
            prompt = prompts_dict["prompt"].format(retrievers="{retrievers}", question="{question}", count="{count}")
            check_choosing_prompt(prompt)
            self.prompt = prompt

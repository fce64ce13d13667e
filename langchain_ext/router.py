"""Questions that go to the retrievers which are chosen for them, in LangChain."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from langchain_ext.choosing import as_choice
from langchain_ext.language_model import as_generate
from langchain_ext.retriever import NamedRetriever
from leafspan import Router, Strategy
from leafspan.hosting import CHOOSING_PROMPT, Fusion, to_named_strategies


class RouterRetriever(NamedRetriever):
    """Like the core's ``Router``, but a LangChain retriever, and its ``retrievers`` may be LangChain retrievers too.

    In place of ``generate`` and ``agenerate`` it has an ``llm``.

    Args:
        index: Index to search, or a view of one. Default: none, for what searches other sources only.
        retrievers: A strategy for each name. LangChain retrievers can take their place: one of this package over the same
            index counts as its strategy. What others return are passages of their own kind, unless they have the ids of
            leaves of the index.
        descriptions: What each retriever is for, by its name: a sentence or two, best in words that questions have. Needed
            without ``choose``. Default: none.
        choose: Function from a question to the name of a retriever, a list of names, or None for the default. A Runnable
            from a question to these can take its place. Default: none.
        achoose: Its coroutine function.
        llm: LangChain chat model, LLM, or any other Runnable from a prompt to a message or a text, which is asked for names
            of retrievers. Default: none is asked.
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

    kind: ClassVar[type[Strategy]] = Router

    retrievers: Mapping[str, Any]
    descriptions: Mapping[str, str] = {}
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

    def _converted(self, child: Any) -> dict[str, Any]:
        retrievers = to_named_strategies(
            "retriever", self.retrievers, lambda name, each: self._as_strategy(name, each, child)
        )
        return {"retrievers": retrievers, **as_choice(self.choose, child), **as_generate(self.llm, child)}

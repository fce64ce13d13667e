"""Something else searched in place of the question, in LangChain."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, Literal

from langchain_ext.language_model import as_generate
from langchain_ext.retriever import BasedRetriever
from langchain_ext.transforming import as_transformation
from leafspan import RewriteQuery, Strategy


class RewriteQueryRetriever(BasedRetriever):
    """Like the core's ``RewriteQuery``, but a LangChain retriever, and its ``base`` may be one too.

    In place of ``generate`` and ``agenerate`` it has an ``llm``.

    Args:
        index: Index to search, or a view of one. Default: none, for what searches other sources only.
        base: A strategy. A LangChain retriever can take its place: one of this package over the same index counts as its
            strategy. What others return are passages of their own kind, unless they have the ids of leaves of the index.
            Default: ``Hybrid()``.
        how: What is searched. ``"rewrite"``: the question in better words. ``"hyde"``: the question's words, and the mean
            vector of answers that the model imagines (HyDE). ``"step-back"``: the question, and a more general one.
            ``"decompose"``: the question, and simpler ones that it consists of. A function from a question to a text, a
            Query, or a list of these, which are fused, needs no language model. A Runnable can be the function. Default:
            ``"rewrite"``.
        ahow: Coroutine function of ``how``, if that is a function. Default: none.
        llm: LangChain chat model, LLM, or any other Runnable from a prompt to a message or a text, which is asked for what
            to search, unless ``how`` is a function. Default: none is asked.
        count: Number of texts to ask the model for, >= 1. Default: 3 for ``"decompose"``, otherwise 1.
        prompt: Template with ``{question}``, and ``{count}`` if wanted. The answer has a text on each line; with a single
            ``"hyde"`` it is one. Default: one for each ``how``.
        keep_question: Whether the question itself is searched, too; with ``"hyde"``, whether its own vector is part of the
            mean. Default: True, but for ``"rewrite"`` and a function False.
        fusion: What a score means where results are fused. ``"rrf"``: the mean of 1 / (60 + rank) over all queries, in (0,
            1 / 61]. ``"maximum"``: the best of the base's own scores. Default: ``"rrf"``.
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

    kind: ClassVar[type[Strategy]] = RewriteQuery

    how: Any = "rewrite"
    ahow: Callable[[str], Awaitable[Any]] | None = None
    llm: Any = None
    count: int | None = None
    prompt: str | None = None
    keep_question: bool | None = None
    fusion: Literal["rrf", "maximum"] = "rrf"

    def _converted(self, child: Any) -> dict[str, Any]:
        return {**super()._converted(child), **as_transformation(self.how, child), **as_generate(self.llm, child)}

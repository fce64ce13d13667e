"""Results in another order, in LangChain."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar, Literal

from langchain_ext.host_reranker import as_reranker
from langchain_ext.retriever import BasedRetriever
from leafspan import Rerank, Strategy


class RerankRetriever(BasedRetriever):
    """Like the core's ``Rerank``, but a LangChain retriever, and its ``base`` may be one too.

    ``rerank`` may also be a document compressor of LangChain, which is given results as this retriever would return them.

    Args:
        index: Index to search, or a view of one. Default: none, for what searches other sources only.
        base: A strategy. A LangChain retriever can take its place: one of this package over the same index counts as its
            strategy. What others return are passages of their own kind, unless they have the ids of leaves of the index.
            Default: ``Hybrid()``.
        rerank: Function from a question and the list of texts that the base found for it to a score for each, such as that
            of a cross-encoder: a list of finite numbers. A higher score is better. It is called once for each query for
            which something was found. Or a LangChain document compressor: what it leaves out is left out, and its order is
            kept. Default: none.
        arerank: Its coroutine function. Default: none, in an event loop ``rerank`` runs in a thread.
        depth: Most results of the base to reorder for each query, >= 1; the others are left out. Default: all that the base
            finds among the ``candidates`` of the call.
        diversity: Weight in [0, 1] of being unlike the better results, against that of the score: maximal marginal
            relevance. Default: 0, the scores alone.
        on_failure: What follows if ``rerank`` raises an error. ``"raise"``: the error is raised. ``"keep"``: the results
            keep the order and the scores of the base, and their traces say so. An InvalidArgument is always raised.
            Default: ``"raise"``.
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

    kind: ClassVar[type[Strategy]] = Rerank

    rerank: Any = None
    arerank: Callable[[str, list[str]], Awaitable[Sequence[float]]] | None = None
    depth: int | None = None
    diversity: float = 0
    on_failure: Literal["raise", "keep"] = "raise"

    def _converted(self, child: Any) -> dict[str, Any]:
        return {**super()._converted(child), "rerank": as_reranker(self.rerank, child)}

"""Search by words, in LangChain."""

from __future__ import annotations

from typing import ClassVar, Literal

from langchain_ext.retriever import LeafRetriever
from leafspan import BM25, BM25Settings, Strategy


class BM25Retriever(LeafRetriever):
    """Like the core's ``BM25``, but a LangChain retriever.

    Args:
        index: Index to search, or a view of one.
        bm25: k1, b and the variant, as ``BM25Settings``. Default: those of the index.
        scale: Whether a score is the share, in [0, 1], of the highest score that any leaf could have for the query. A score
            below 0 becomes 0. Default: False.
        engine: ``"postings"``, or ``"rank-bm25"`` for the library of that name, which has the same scores for its variant
            okapi. Default: ``"postings"``.
        min_score: Lowest score of a result, after scaling. Without ``k`` or a budget of the call, all that reach it are
            returned. Default: any.
        summaries: Whether to search the summaries of the index's trees as well, whose words are counted apart from those of
            leaves. Default: False.
        k: Most passages, >= 1. Default: 5, or any number if a budget is given or the strategy has a limit of its own, such
            as ``min_score``.
        candidates: Leaves to look at before merging, in [1, 10000]. Default: as many as it takes to fill the budget or to
            find all above ``min_score``; with ``k``, 4 * k and at least 24.
        budget: Most words in all passages together, >= 1, or tokens with ``Budget(512, count=...)``. The first passage that
            does not fit is cut to the leaves around its best hit that do, and ends the list. Only a single leaf is returned
            even if it alone is over the budget. Default: any number.
        where: Filter on the documents' metadata, such as ``F("year") >= 2020``, or one in the dialect of Chroma, Haystack
            or LlamaIndex. Default: all documents.
        retrieval_timeout: Seconds, > 0, after which a call ends with a ``RetrievalTimeout``, whatever it waits for:
            ``timeout`` of the core's ``retrieve``. Default: none.
        filter_policy: Which filter holds if a call brings one, too: ``"replace"`` for that of the call, ``"merge"`` for
            both. Only ``"merge"`` can guard the documents of a tenant. Default: ``"replace"``.
        explain: Whether each Document has a ``trace`` in its metadata: sentences that say how it was found. Default: False.

    Raises:
        ValidationError: if an option is unknown or out of its range. It is pydantic's, and holds the core's
            InvalidArgument.
    """

    kind: ClassVar[type[Strategy]] = BM25

    bm25: BM25Settings | None = None
    scale: bool = False
    engine: Literal["postings", "rank-bm25"] = "postings"
    min_score: float | None = None
    summaries: bool = False

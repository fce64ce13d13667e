"""Search by words and by vectors at once, in LangChain."""

from __future__ import annotations

from typing import ClassVar

from langchain_ext.retriever import LeafRetriever
from leafspan import BM25Settings, Hybrid, Strategy
from leafspan.hosting import Fusion


class HybridRetriever(LeafRetriever):
    """Like the core's ``Hybrid``, but a LangChain retriever.

    Args:
        index: Index to search, or a view of one.
        weights: Of BM25 and of vectors, both > 0; only their ratio counts. Default: (0.55, 0.45).
        fusion: How the two scores become one, as in ``Ensemble``. Default: ``"relative_score"``, which scales each one's
            scores to [0, 1].
        depth: Leaves that BM25 and vectors look at, >= 1: one number, or two. At least as many as are asked for. Default:
            (100, 50).
        scales: Weights of BM25 of a leaf's parent, section and document, >= 0 each, where BM25 and vectors of leaves have 1
            together. The best parent gives its leaves its weight, others less, the lower their BM25. Needs
            ``fusion="relative_score"``, and has no effect otherwise. Default: (0.2, 0.2, 0.2).
        soft_matches: Weight of the words of the leaf that are most similar to each of the query's, by vectors of single
            words, >= 0. The 40 best leaves so far are compared: the best gets the weight, others less. Needs one of
            ``scales``, and an index that analyses words as English; without, it has no effect. Default: 0.5.
        neighbour_bonus: Share of the better neighbour's score to add, in [0, 1]. Default: 0.3.
        calibrate: Whether a score is the probability that the leaf holds (part of) what was asked for, which means the same
            across queries and keeps the order. Needs ``fusion="relative_score"``; otherwise scores are sums. For an
            embedder other than the default one, the trace says that scores are not calibrated. Default: True.
        min_score: Lowest score of a result. Without ``k`` or a budget of the call, all that reach it are returned. Default:
            any.
        min_answer_probability: Lowest probability, in [0, 1], that the index holds an answer at all: a query below it finds
            nothing. 0.5 keeps about nine of ten questions that have an answer, and drops about as many of another field.
            Needs calibrated scores. Default: any.
        bm25: k1, b and the variant of BM25, as ``BM25Settings``. Default: those of the index.
        instruction: Text before each query when it is embedded. Default: none.
        summaries: Whether to search the summaries of the index's trees as well, as if they were leaves without neighbours.
            Default: False.
        summary_bonus: Share, in [0, 1], of the score of the best summary above a leaf to add, whether that is a result or
            not. For questions about a theme. Default: 0.
        references: Share of a leaf's score, in [0, 1], that the six best leaves pass on to documents that they mention: by
            title, where its words are rare, by an alias, a link or a path. Default: 0.6. At 0, no text is looked through.
        aliases: Metadata key under which documents have further names, a text or a list of texts. Default: ``"aliases"``.
            None: they have none.
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

    kind: ClassVar[type[Strategy]] = Hybrid

    weights: tuple[float, float] = (0.55, 0.45)
    fusion: Fusion = "relative_score"
    depth: int | tuple[int, int] = (100, 50)
    scales: tuple[float, float, float] = (0.2, 0.2, 0.2)
    soft_matches: float = 0.5
    neighbour_bonus: float = 0.3
    calibrate: bool = True
    min_score: float | None = None
    min_answer_probability: float | None = None
    bm25: BM25Settings | None = None
    instruction: str = ""
    summaries: bool = False
    summary_bonus: float = 0.0
    references: float = 0.6
    aliases: str | None = "aliases"

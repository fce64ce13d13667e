"""RAPTOR trees, in LangChain."""

from __future__ import annotations

from typing import ClassVar

from langchain_ext.retriever import BasedLeafRetriever
from leafspan import Strategy, Tree
from leafspan.hosting import Mode


class TreeRetriever(BasedLeafRetriever):
    """Like the core's ``Tree``, but a LangChain retriever, and its ``base`` may be one of this package's.

    Args:
        index: Index to search, or a view of one.
        mode: ``"collapsed"`` or ``"traversal"``. Default: ``"collapsed"``.
        base: What ranks in a collapsed tree: ``Hybrid()``, ``Vector()`` (the paper's) or ``BM25()``. A traversal only uses
            its instruction. A retriever of this package over the same index can take its place. Default: ``Hybrid()``.
        top_k: Most results, >= 1; in a traversal, of each layer. Default: as many as are asked for; in a traversal 5, or
            any number with ``min_score``.
        min_score: Lowest score of a result. Without ``k`` or a budget of the call, all that reach it are returned. Default:
            any.
        start_layer: Highest layer of a traversal, >= 0. Default: the highest there is.
        end_layer: Lowest layer of a traversal, >= 0 (the leaves). Default: 0.
        expand: Whether to return, in place of a summary, the leaves it covers that are most similar to the query: True for
            three of them, or a number >= 1. Each leaf comes once, with its similarity as score. Default: False.
        keep_covered_summaries: Whether a summary stays even if all of its leaves are among the results. Default: False.
        k: Most passages, >= 1. Default: 5, or any number if a budget is given, in a traversal, and with ``top_k`` or
            ``min_score``.
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

    kind: ClassVar[type[Strategy]] = Tree

    mode: Mode = "collapsed"
    top_k: int | None = None
    min_score: float | None = None
    start_layer: int | None = None
    end_layer: int = 0
    expand: bool | int = False
    keep_covered_summaries: bool = False

"""Passages by metadata alone, in LlamaIndex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from leafspan import Browse, Strategy
from llamaindex_ext.retriever import LeafRetriever


@dataclass(kw_only=True, eq=False, repr=False)
class BrowseRetriever(LeafRetriever):
    """Like the core's ``Browse``, but a LlamaIndex retriever: the question is not read, and may be ``""``.

    Args:
        index: Index to search, or a view of one.
        offset: Number of leaves to skip, >= 0: ``Browse(offset=40)`` with ``k=20`` is the third page of 20. Default: 0.
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

    kind: ClassVar[type[Strategy]] = Browse

    offset: int = 0

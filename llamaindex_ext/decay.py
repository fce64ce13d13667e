"""Scores that fall with the age of documents, in LlamaIndex."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import ClassVar

from leafspan import Decay, Strategy
from leafspan.hosting import Shape
from llamaindex_ext.retriever import BasedRetriever


@dataclass(kw_only=True, eq=False, repr=False)
class DecayRetriever(BasedRetriever):
    """Like the core's ``Decay``, but a LlamaIndex retriever, and its ``base`` may be one too.

    Args:
        index: Index to search, or a view of one. Default: none, for what searches other sources only.
        base: A strategy. A LlamaIndex retriever can take its place: one of this package over the same index counts as its
            strategy. What others return are passages of their own kind, unless they have the ids of leaves of the index.
            Default: ``Hybrid()``.
        key: Metadata key of the date. Default: ``"date"``.
        scale: Age at which the decay is ``decay``, > 0: a number of days, or a timedelta. It is counted from ``offset`` on.
            Default: 30.
        offset: Age up to which nothing decays, >= 0: a number of days, or a timedelta. Default: 0.
        decay: The decay at that age, in (0, 1). Default: 0.5.
        shape: How it falls with the age d, counted in scales. Default: ``"exponential"``. ``"exponential"``: decay ** d.
            ``"gaussian"``: decay ** (d * d), slowly first. ``"linear"``: 1 - (1 - decay) * d, down to 0.
        weight: How much the age counts, in (0, 1]: an old result keeps a share of 1 - weight of its score. Default: 1.
        now: Moment to count ages from: a datetime, a date, or a text like a document's. Default: the moment of the call.
        missing: The decay of a result that has no date, or none that can be read, in [0, 1]; its trace says so. Default: 1.
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

    kind: ClassVar[type[Strategy]] = Decay

    key: str = "date"
    scale: float | timedelta = 30.0
    offset: float | timedelta = 0.0
    decay: float = 0.5
    shape: Shape = "exponential"
    weight: float = 1
    now: datetime | date | str | None = None
    missing: float = 1

"""Ensembles, in LlamaIndex."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from llama_index.core.schema import QueryBundle

from leafspan import Ensemble, Strategy
from leafspan.hosting import Fusion, to_strategies
from llamaindex_ext.retriever import NamedRetriever


@dataclass(kw_only=True, eq=False, repr=False)
class EnsembleRetriever(NamedRetriever):
    """Like the core's ``Ensemble``, but a LlamaIndex retriever, and its ``retrievers`` may be LlamaIndex retrievers too.

    Args:
        index: Index to search, or a view of one. Default: none, for what searches other sources only.
        retrievers: Two or more strategies. LlamaIndex retrievers can take their place: one of this package over the same
            index counts as its strategy. What others return are passages of their own kind, unless they have the ids of
            leaves of the index.
        weights: A number > 0 for each retriever; except for ``"maximum"``, only their ratios count. Default: equal ones.
        fusion: What a score means. Default: ``"rrf"``. Names of LlamaIndex and Haystack are understood as well. ``"rrf"``,
            reciprocal rank fusion: the weighted mean of 1 / (rank_constant + rank), for scores that cannot be compared.
            ``"relative_score"``: the weighted mean of the scores, each retriever's scaled to [0, 1], so that its last
            result adds nothing. ``"distribution_based"``: the same, but a retriever's mean becomes 0.5, and three standard
            deviations from it 0 and 1. Of n results, one that stands out has up to 0.5 + sqrt(n - 1) / 6. ``"maximum"``:
            the best of the retrievers' own scores, each times its weight.
        rank_constant: The constant of ``"rrf"``, >= 0. Default: 60.
        timeout: Seconds that a retriever may take, > 0: one number for all, or one for each (None for no limit). A late
            retriever has failed, and goes on in the background. Default: no limit.
        on_failure: ``"raise"`` raises the error of the first retriever that failed, with a note that names it. ``"skip"``
            fuses the others, and says so in the trace of each passage. An InvalidArgument and the failure of all retrievers
            are always raised. Default: ``"raise"``.
        min_candidates: Fewest leaves that each retriever is asked for, >= 1. Default: as many as the ensemble is.
        names: A name for each retriever, for traces and errors. Default: after their classes.
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

    kind: ClassVar[type[Strategy]] = Ensemble

    retrievers: Sequence[Any]
    weights: Sequence[float] | None = None
    fusion: Fusion = "rrf"
    rank_constant: float = 60
    timeout: float | Sequence[float | None] | None = None
    on_failure: Literal["raise", "skip"] = "raise"
    min_candidates: int | None = None
    names: Sequence[str] | None = None

    def _converted(self, bundle: QueryBundle | None) -> dict[str, Any]:
        return {"retrievers": to_strategies(self.retrievers, lambda name, each: self._as_strategy(name, each, bundle))}

"""PII-aware retrieval, in LlamaIndex."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from leafspan import Strategy, View
from leafspan.private import PIIAware
from llamaindex_ext.retriever import BasedRetriever


@dataclass(kw_only=True, eq=False, repr=False)
class PIIAwareRetriever(BasedRetriever):
    """Like the core's ``PIIAware``, but a LlamaIndex retriever, and its ``base`` may be one. Its index is a private view.

    Args:
        index: Index to search, or a view of one. Default: none, for what searches other sources only.
        weights: Of the leaves with a pseudonym, and of the base, both > 0; only their ratio counts. Default: (0.2, 0.8).
        rank_constant: The constant of reciprocal rank fusion, >= 0: a result at rank r adds its list's weight /
            (rank_constant + r) to its score. Default: 60.
        min_candidates: Fewest leaves that each of the two lists is asked for, >= 1. Default: 1.
        entities_field: Metadata key that has the list of a document's pseudonyms, as the private view has it. Default:
            ``"entities"``.
        base: Strategy that searches by meaning. A LlamaIndex retriever can take its place: one of this package over the
            same index counts as its strategy. What others return are passages of their own kind, unless they have the ids
            of leaves of the index. Default: ``Vector()``.
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

    kind: ClassVar[type[Strategy]] = PIIAware

    index: View = field(kw_only=False)
    weights: Sequence[float] = (0.2, 0.8)
    rank_constant: float = 60
    min_candidates: int = 1
    entities_field: str = "entities"

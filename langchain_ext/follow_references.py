"""References in passages that are followed, in LangChain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from langchain_ext.retriever import BasedRetriever
from leafspan import FollowReferences, Strategy
from leafspan.hosting import to_named_strategies


class FollowReferencesRetriever(BasedRetriever):
    """Like the core's ``FollowReferences``, but a LangChain retriever; its ``base`` and its ``targets`` may be ones too.

    Args:
        index: Index to search, or a view of one. Default: none, for what searches other sources only.
        base: A strategy. A LangChain retriever can take its place: one of this package over the same index counts as its
            strategy. What others return are passages of their own kind, unless they have the ids of leaves of the index.
            Default: ``Hybrid()``.
        targets: A strategy for each name that can be referred to. Default: none, only documents and passages. LangChain
            retrievers can take their place: one of this package over the same index counts as its strategy. What others
            return are passages of their own kind, unless they have the ids of leaves of the index.
        key: Metadata key of references: a text, or a list of texts. Default: ``"reference"``.
        depth: Most references in a row that are followed, in [1, 100]. Default: 2.
        per_reference: Most results of one reference, >= 1. Default: 3.
        keep: Whether passages with references stay, each before what it refers to. Default: False.
        timeout: Seconds that each target may take, > 0. A late one has failed. Default: no limit.
        on_failure: ``"raise"`` raises the error of a target that failed, with a note that names it. ``"skip"`` takes it for
            one that found nothing, and says so in the trace. An InvalidArgument is always raised. Default: ``"raise"``.
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

    kind: ClassVar[type[Strategy]] = FollowReferences

    targets: Mapping[str, Any] = {}
    key: str = "reference"
    depth: int = 2
    per_reference: int = 3
    keep: bool = False
    timeout: float | None = None
    on_failure: Literal["raise", "skip"] = "raise"

    def _converted(self, child: Any) -> dict[str, Any]:
        targets = to_named_strategies("target", self.targets, lambda name, each: self._as_strategy(name, each, child))
        return {**super()._converted(child), "targets": targets}

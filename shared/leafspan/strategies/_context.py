"""What a strategy is told about a retrieval."""

from __future__ import annotations

from dataclasses import dataclass, replace

from leafspan.checks import check_whole
from leafspan.filters import Where


@dataclass(frozen=True, slots=True)
class RetrievalContext:
    """What a strategy is told about one retrieval.

    Attributes:
        candidates: Number of leaves to look at for each query, >= 1.
        where: Filter on the documents, None for all. Pass it on with every request.
        k: Number of results that will be used, so that no more need to be loaded. None if all may be used, as they are by
            a strategy that builds on this one.
        words: About how many words are wanted in all, None if that was not said.
        embedder: Name of the embedder that the index was made with, None before its first document.
    """

    candidates: int
    where: Where | None = None
    k: int | None = None
    words: int | None = None
    embedder: str | None = None

    def __post_init__(self) -> None:
        check_whole("candidates", self.candidates, 1)
        if self.k is not None:
            check_whole("k", self.k, 1)

    @property
    def results(self) -> int:
        """The number of results that are worth loading."""
        return self.candidates if self.k is None else min(self.k, self.candidates)

    @property
    def for_base(self) -> RetrievalContext:
        """The context for the base of this strategy: the same without ``k``, since all results of the base are needed."""
        return replace(self, k=None)

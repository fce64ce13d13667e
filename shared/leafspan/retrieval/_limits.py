"""How much a retrieval looks at, and how much it returns."""

from __future__ import annotations

from dataclasses import dataclass

from leafspan.checks import check_whole
from leafspan.errors import InvalidArgument
from leafspan.filters import Where, to_filter
from leafspan.spans import Budget
from leafspan.store import MOST_RESULTS

_LEAST_CANDIDATES = 24
_CANDIDATES_A_PASSAGE = 4


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one call: see ``Index.retrieve``.

    Attributes:
        k: Most passages, None if it was not given.
        candidates: Leaves to look at.
        budget: Most words or tokens, None if it was not given.
        where: Filter on the documents, None for all.
    """

    k: int | None
    candidates: int
    budget: Budget | None
    where: Where | None

    @classmethod
    def of(
        cls,
        k: int | None = None,
        candidates: int | None = None,
        budget: int | Budget | None = None,
        where: object = None,
    ) -> Limits:
        """The limits that a user gave, with the default number of candidates.

        Raises:
            InvalidArgument: if one is out of its range.
        """
        if k is not None:
            check_whole("k", k, 1)
        if candidates is None:
            candidates = min(max(_LEAST_CANDIDATES, _CANDIDATES_A_PASSAGE * (k or 0)), MOST_RESULTS)
        check_whole("candidates", candidates, 1)
        if candidates > MOST_RESULTS:
            raise InvalidArgument(f"candidates must be <= {MOST_RESULTS}, got {candidates}")
        if budget is not None and not isinstance(budget, Budget):
            budget = Budget(budget)
        return cls(k, candidates, budget, to_filter(where))

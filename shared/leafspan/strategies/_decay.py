"""Decay: scores that fall with a date."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from numbers import Real

from leafspan.checks import check_choice, check_number, is_number, shown
from leafspan.errors import InvalidArgument
from leafspan.filters import instant
from leafspan.strategies._hybrid import Hybrid
from leafspan.strategies._over_base import OverBase
from leafspan.strategies._requests import RetrievalContext, StrategyFlow
from leafspan.strategies._strategy import Strategy, check_strategy
from leafspan.strategies.scoring import SHAPES, Shape, decay_factor
from leafspan.trace import Trace
from leafspan.values import Candidate, Query

_YEARS = range(1000, 10_000)
_FIRST = datetime(1, 1, 1, tzinfo=UTC).timestamp()
_LAST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decay(OverBase):
    """What ``base`` finds, with scores that fall with a date in the metadata: the older, the lower.

    The score becomes score * factor. A score below 0 becomes score * (2 - factor), since a factor would raise it. The
    factor is 1 - ``weight`` + ``weight`` * decay, where the decay of a new result is 1. leafspan reorders only what the
    base finds: give the call more ``candidates`` to reorder more.

    A date is a text such as ``"2026-05-01"`` or ``"2026-05-01T10:00+02:00"``, as in filters: without an offset it is UTC,
    without a time it is the start of the day. A number from 1000 to 9999 is the start of that year; any other number is
    seconds since 1970 (UTC). A date after ``now`` counts as ``now``.

    Args:
        base: A strategy. Default: ``Hybrid()``.
        key: Metadata key of the date. Default: ``"date"``.
        scale: Age at which the decay is ``decay``, > 0: a number of days, or a timedelta. It is counted from ``offset`` on.
            Default: 30.
        offset: Age up to which nothing decays, >= 0: a number of days, or a timedelta. Default: 0.
        decay: The decay at the age ``scale``, in (0, 1). Default: 0.5.
        shape: How the decay falls with d, the age divided by ``scale``. Default: ``"exponential"``. ``"exponential"``:
            decay ** d. ``"gaussian"``: decay ** (d * d), slowly first. ``"linear"``: 1 - (1 - decay) * d, down to 0.
        weight: How strongly age acts, in (0, 1]: an old result keeps a share of 1 - weight of its score. Default: 1.
        now: Moment to count ages from: a datetime, a date, or a text like a document's. Default: the moment of the call.
        missing: The decay of a result without a readable date, in [0, 1]; its trace says so. Default: 1.

    Raises:
        InvalidArgument: if an option is out of its range.

    Ties are ordered by document id, then position. Source of the shapes: Elasticsearch's decay functions.
    """

    base: Strategy = field(default_factory=Hybrid)
    key: str = "date"
    scale: float | timedelta = 30.0
    offset: float | timedelta = 0.0
    decay: float = 0.5
    shape: Shape = "exponential"
    weight: float = 1
    now: datetime | date | str | None = None
    missing: float = 1

    def __post_init__(self) -> None:
        check_strategy("base", self.base)
        if not isinstance(self.key, str) or not self.key:
            raise InvalidArgument(f"key must be a string that is not empty, got {shown(self.key)}")
        check_number("scale", _days(self.scale), above=0, unit="days")
        check_number("offset", _days(self.offset), at_least=0, unit="days")
        check_number("decay", self.decay, above=0, below=1)
        check_choice("shape", self.shape, SHAPES)
        check_number("weight", self.weight, above=0, at_most=1)
        check_number("missing", self.missing, at_least=0, at_most=1)
        if self.now is not None and (not isinstance(self.now, date | str) or to_microseconds(self.now) is None):
            raise InvalidArgument(f"now must be a datetime, a date, or an ISO text of one, got {shown(self.now)}")
        # Plain values can be written to a file.
        object.__setattr__(self, "scale", _days(self.scale))
        object.__setattr__(self, "offset", _days(self.offset))
        if isinstance(self.now, date):
            object.__setattr__(self, "now", self.now.isoformat())

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        results = yield from self.base.retrieve(queries, context.for_base)
        now = to_microseconds(datetime.now(UTC) if self.now is None else self.now)
        assert now is not None
        return [
            sorted((self._decayed(candidate, now) for candidate in row), key=lambda candidate: candidate.order)
            for row in results
        ]

    def _decayed(self, candidate: Candidate, now: int) -> Candidate:
        value = candidate.metadata.get(self.key)
        moment = to_microseconds(value)
        if moment is None:
            decay = float(self.missing)
            why = f"no {self.key}" if value is None else f"{self.key} {shown(value)}, which is not a date,"
        else:
            age = max(0, now - moment) * timedelta(microseconds=1) / _DAY
            beyond = max(0.0, age - _days(self.offset))
            decay = decay_factor(beyond, scale=_days(self.scale), decay=self.decay, shape=self.shape)
            why = f"an age of {age:.1f} days"
        factor = 1 - self.weight + self.weight * decay
        if candidate.score < 0:
            factor = 2 - factor
        score = candidate.score * factor
        note = f"Decay: {why} gave the factor {factor:.3f}, and the score {candidate.score:.3f} became {score:.3f}"
        return replace(candidate, score=score, trace=candidate.trace + Trace(notes=(note,)))


def to_microseconds(value: object) -> int | None:
    """Return a date's microseconds since 1970 (UTC), or None if ``value`` is not a date."""
    if isinstance(value, str):
        return instant(value)
    if isinstance(value, date):  # or a datetime, which is a date, too
        return instant(value.isoformat())
    if not isinstance(value, Real) or not is_number(value):
        return None
    number = float(value)  # also from numpy's numbers, which other sources return
    if number.is_integer() and int(number) in _YEARS:  # a float would be compared with each number of the range
        return instant(f"{int(number)}-01-01")
    return round(number * 1_000_000) if _FIRST <= number <= _LAST else None


_DAY = timedelta(days=1)


def _days(duration: float | timedelta) -> float:
    return duration / _DAY if isinstance(duration, timedelta) else duration

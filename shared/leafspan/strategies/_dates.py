"""Dates in metadata of any source, as points in time."""

from __future__ import annotations

from datetime import UTC, date, datetime
from numbers import Real

from leafspan.checks import is_number
from leafspan.filters import instant

_YEARS = range(1000, 10_000)
_FIRST = datetime(1, 1, 1, tzinfo=UTC).timestamp()
_LAST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()


def to_microseconds(value: object) -> int | None:
    """Microseconds since 1970 (UTC) of a date, None for what is none.

    Args:
        value: An ISO text, as filters understand it; a datetime or a date; a year, which is a whole number from 1000 to
            9999; or any other number up to the year 9999, in seconds since 1970.
    """
    if isinstance(value, str):
        return instant(value)
    if isinstance(value, date):  # a datetime is one, too
        return instant(value.isoformat())
    if not isinstance(value, Real) or not is_number(value):
        return None
    number = float(value)  # also of numpy's numbers, as other sources have them
    if number.is_integer() and int(number) in _YEARS:  # a float would be searched for in the range, number by number
        return instant(f"{int(number)}-01-01")
    return round(number * 1_000_000) if _FIRST <= number <= _LAST else None

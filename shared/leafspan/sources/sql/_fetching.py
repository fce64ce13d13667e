"""Fetches the rows that a query wants, and never more than memory can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leafspan.errors import QueryFailed

LARGEST_RESULT = 100_000_000  # characters of texts and bytes of binary values, in all rows together
_AT_ONCE = 20


def fetch_rows(result: Any, most: int) -> list[Any]:
    """Return the first rows of a result.

    Raises:
        QueryFailed: if the values of the rows are too large together.
    """
    rows: list[Any] = []
    size = 0
    while len(rows) < most and (some := result.fetchmany(min(_AT_ONCE if rows else 1, most - len(rows)))):
        size += sum(_size(value) for row in some for value in row)
        if size > LARGEST_RESULT:
            raise QueryFailed(
                f"the rows of a query must have at most {LARGEST_RESULT} characters and bytes together, got {size} in the "
                f"first {len(rows) + len(some)} rows: ask for fewer rows, or for parts of long values"
            )
        rows += some
    return rows


def _size(value: Any) -> int:
    if isinstance(value, str | bytes | bytearray):
        return len(value)
    if isinstance(value, memoryview):
        return value.nbytes
    if isinstance(value, Mapping):
        return sum(_size(key) + _size(each) for key, each in value.items())
    if isinstance(value, tuple | list):
        return sum(map(_size, value))
    return 1

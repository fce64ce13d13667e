"""What a database answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a query.

    Attributes:
        sql: The SQL that was run.
        columns: Names of the columns, each different.
        rows: The values, as the driver gives them.
        cut: Whether there were more rows than the limit.
    """

    sql: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    cut: bool


def different_names(names: Sequence[object]) -> tuple[str, ...]:
    """The names of columns, with a number behind those that were there before: ``id``, ``id_2``.

    Args:
        names: Names as the database gives them. One without a name is called ``column_1`` by its place.
    """
    taken: set[str] = set()
    result = []
    for place, name in enumerate(names, start=1):
        plain = str(name) if name else f"column_{place}"
        number, different = 1, plain
        while different in taken or (number > 1 and different in map(str, names)):
            number += 1
            different = f"{plain}_{number}"
        taken.add(different)
        result.append(different)
    return tuple(result)

"""The rows that a database returned."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from leafspan.sources.sql._values import as_text


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a query.

    Attributes:
        sql: The SQL that was run.
        columns: Names of the columns, each different.
        rows: The values, as the driver gives them.
        cut: Whether there were more rows than the limit.
        table: The table that the rows come from, or "" if they are not rows of one table.
        key: Positions of the table's primary key among the columns, or None if the rows do not have it.
    """

    sql: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    cut: bool
    table: str = ""
    key: tuple[int, ...] | None = None

    @property
    def fingerprint(self) -> str:
        """A short name for the query. Equal queries have equal names."""
        return f"sql-{hashlib.sha256(self.sql.encode()).hexdigest()[:12]}"

    def key_of(self, row: Sequence[Any]) -> str | None:
        """A name for a row that stays the same in each query, such as ``orders:17``; None without a known key."""
        if self.key is None or any(row[place] is None for place in self.key):
            return None
        return f"{self.table}:{','.join(as_text(row[place]) for place in self.key)}"


def different_names(names: Sequence[object]) -> tuple[str, ...]:
    """The columns' names, with a number after each repeated name: ``id``, ``id_2``."""
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

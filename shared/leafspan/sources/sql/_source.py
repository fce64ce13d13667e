"""Finds the table whose rows a query returns, so that the table's primary key can identify each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Source:
    """The table of a query that reads one table row by row.

    Attributes:
        schema: Its schema, or None if the query does not name one.
        table: Its name as the query writes it.
        renamed: Names in the result, in lower case, that may not be the table's column of that name.
        columns: Names of the columns in the result, in lower case, or None for all columns of the table.
    """

    schema: str | None
    table: str
    renamed: frozenset[str]
    columns: frozenset[str] | None

    def key_columns(self, key: Sequence[str], result: Sequence[str]) -> tuple[int, ...] | None:
        """The positions of the primary key in the result; None if a part is missing or may be another column."""
        places = []
        for name in key:
            same = [place for place, each in enumerate(result) if each.lower() == name.lower()]
            known = self.columns is None or name.lower() in self.columns
            if len(same) != 1 or not known or name.lower() in self.renamed:
                return None
            places.append(same[0])
        return tuple(places) or None


def find_source(tree: Any) -> Source | None:
    """The table that a query reads row by row, or None if the query joins, groups, unites, or reads something else."""
    from sqlglot import exp

    if not isinstance(tree, exp.Select) or any(
        tree.args.get(part) for part in ("joins", "laterals", "group", "distinct", "having", "with_")
    ):
        return None
    from_ = tree.args.get("from_")
    table = from_.this if from_ is not None else None
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        return None
    if table.args.get("joins") or table.catalog:
        return None
    plain, renamed, star = set(), set(), False
    for each in tree.expressions:
        if isinstance(each, exp.Star) or (isinstance(each, exp.Column) and isinstance(each.this, exp.Star)):
            star = True
        elif isinstance(each, exp.Column):
            plain.add(each.name.lower())
        else:
            renamed.add(each.alias_or_name.lower())
    return Source(table.db or None, table.name, frozenset(renamed), None if star else frozenset(plain))

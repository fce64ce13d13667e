"""Tells common table expressions from tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leafspan.errors import RefusedQuery
from leafspan.sources.sql._names import fold_identifier


def is_common_table(table: Any, dialect: str) -> bool:
    """Whether a table in a query is a common table expression.

    Raises:
        RefusedQuery: if databases differ on whether the name means a common table expression.
    """
    if table.args.get("db") or table.args.get("catalog"):
        return False
    name = fold_identifier(table.this, dialect)
    for with_, inside in _withs_around(table):
        position = next((number for number, each in enumerate(with_.expressions) if each is inside), len(with_.expressions))
        for number, each in enumerate(with_.expressions):
            if fold_identifier(each.args["alias"].this, dialect) != name:
                continue
            if number < position or (number == position and with_.args.get("recursive")):
                return True
            # In PostgreSQL without RECURSIVE, a common table expression that names itself means the table of that name.
            if dialect != "postgres" or with_.args.get("recursive"):
                raise RefusedQuery(
                    f"a common table expression must not have the name of a table that it reads, got {table.name}: give it "
                    "another name"
                )
    return False


def _withs_around(table: Any) -> Iterator[tuple[Any, Any]]:
    """The WITH clauses that a table may refer to, innermost first, each with the expression that contains the table."""
    from sqlglot import exp

    node, inside = table.parent, None
    while node is not None:
        if isinstance(node, exp.CTE):
            inside = node
        elif isinstance(node, exp.With):
            yield node, inside
        elif isinstance(node, exp.Query) and (with_ := node.args.get("with_")) is not None:
            if inside is None or inside.parent is not with_:
                yield with_, None
            inside = None
        node = node.parent

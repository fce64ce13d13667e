"""Refuses columns that no table of a query can have, so that the user gets a clear reason before the database's error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from leafspan.errors import RefusedQuery

# Some dialects write units of time like columns: DATEADD(day, 1, ordered).
_UNITS = frozenset(["year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond"])


def check_columns(tree: Any, tables: Sequence[Any], restricted: Sequence[tuple[Any, Sequence[str]]]) -> None:
    """Check that each column that a query names can belong to a table, an alias or a subquery of the query.

    Raises:
        RefusedQuery: if a column cannot belong to any of them. The database decides all other cases.
    """
    from sqlglot import exp

    own: dict[str, set[str]] = {}
    for table, columns in restricted:
        own.setdefault(table.alias_or_name.lower(), set()).update(each.lower() for each in columns)
    renamed = {alias.name.lower() for alias in tree.find_all(exp.TableAlias) if alias.columns}
    common = {each.alias.lower() for each in tree.find_all(exp.CTE)}
    subqueries = {each.alias.lower() for each in tree.find_all(exp.Subquery) if each.alias}
    free = renamed | common | subqueries
    known = set().union(*own.values()) | {each.alias_or_name.lower() for each in tables}
    known |= {name.name.lower() for alias in tree.find_all(exp.TableAlias) for name in alias.columns}
    known |= {each.alias.lower() for each in tree.find_all(exp.Alias)} | free | _UNITS
    known |= {each.alias_or_name.lower() for each in tree.find_all(exp.Table, exp.Lateral, exp.Unnest)}
    # If a table's columns are not known here, a name without a table may be one of them.
    certain = (
        len(restricted) == len(tables)
        and not any(tree.find(kind) for kind in (exp.Lateral, exp.Unnest))
        and not any(isinstance(table.this, exp.Func) for table in tree.find_all(exp.Table))
    )
    for said, of, name in _names_of_columns(tree):
        if of in own and of not in free and name not in own[of]:
            raise _refused_column(said, sorted(own[of]))
        if certain and name not in known and (not of or _names_all(tree)):
            raise _refused_column(said, sorted(set().union(*own.values())))


def _names_of_columns(tree: Any) -> Iterator[tuple[str, str, str]]:
    """Each column that a query names: as the query writes it, its table's name, and the column's name in lower case."""
    from sqlglot import exp

    for column in tree.find_all(exp.Column):
        if not isinstance(column.this, exp.Star):
            said = ".".join(part for part in (column.table, column.name) if part)
            yield said, column.table.lower(), column.name.lower()
    for join in tree.find_all(exp.Join):
        for shared in join.args.get("using") or ():
            yield shared.name, "", shared.name.lower()
    for dot in tree.find_all(exp.Dot):  # (row).column
        if isinstance(dot.expression, exp.Identifier) and isinstance(dot.this, exp.Paren):
            yield f"({dot.this.this.name}).{dot.name}", dot.this.this.name.lower(), dot.name.lower()


def _names_all(tree: Any) -> bool:
    """Whether the query itself names every column of every subquery, instead of the database."""
    from sqlglot import exp

    named = (exp.Column, exp.Alias, exp.Star)
    return all(
        isinstance(each, named) for select in tree.find_all(exp.Select) if select is not tree for each in select.expressions
    )


def _refused_column(said: str, known: Sequence[str]) -> RefusedQuery:
    return RefusedQuery(f"a query may only read the columns that tables= names ({', '.join(known)}), got {said}")

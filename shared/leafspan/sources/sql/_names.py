"""Decides when a database takes two names of tables for the same name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from leafspan import text
from leafspan.errors import RefusedQuery

_PART = r'(?:[^".]+|"(?:[^"]|"")+")'


def name_in_query(table: Any, dialect: str) -> tuple[str, ...]:
    """The parts of a table's name as the database looks it up, or () if it is not a name."""
    parts = [table.args.get(part) for part in ("catalog", "db", "this")]
    if any(part is not None and type(part).__name__ != "Identifier" for part in parts):
        return ()
    return _without_main([fold_identifier(part, dialect) for part in parts if part is not None], dialect)


def names_in_option(entry: str, dialect: str) -> set[tuple[str, ...]]:
    """The tables that an entry of ``tables`` may mean, as ``name_in_query`` returns them."""
    return {_without_main([fold(part, dialect) for part in parts], dialect) for parts in read_entry(entry)}


def read_entry(entry: str) -> list[list[str]]:
    """The tables that an entry of ``tables`` may mean, each as the parts of its name.

    A dot separates a schema from a table, but not within double quotes, which follow the rules of SQL. Without quotes, the
    whole entry may also be the name of a table.
    """
    if not re.fullmatch(rf"{_PART}(?:\.{_PART})*", entry):
        return [[entry]]
    parts = [part[1:-1].replace('""', '"') if part[0] == '"' else part for part in re.findall(_PART, entry)]
    return [parts] if '"' in entry or len(parts) == 1 else [parts, [entry]]


def _without_main(names: list[str], dialect: str) -> tuple[str, ...]:
    return tuple(names[1:] if dialect == "sqlite" and names[0] == "main" and len(names) > 1 else names)


def fold_identifier(identifier: Any, dialect: str) -> str:
    """Fold a name in a query, so that names which the database takes for the same become equal."""
    name = str(identifier.name)
    return fold(name, dialect) if identifier.args.get("quoted") else _ascii_lower(name)


def fold(name: str, dialect: str) -> str:
    """Fold a name in the database, so that names which the database takes for the same become equal."""
    return name if dialect == "postgres" else _ascii_lower(name)


def _ascii_lower(name: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


def plain_letters(name: str) -> str:
    """The name as a database reads it if it ignores case, accents, width, and blanks at the end."""
    decomposed = text.normalize("NFD", text.fold(name))
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter)).strip()


def path(table: Any) -> str:
    """A table as a query names it, with its schema."""
    return ".".join(part for part in (table.catalog, table.db, table.name) if part)


# Some dialects write units of time like columns: DATEADD(day, 1, ordered).
_UNITS = frozenset(["year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond"])


def check_columns(tree: Any, tables: Sequence[Any], restricted: Sequence[tuple[Any, Sequence[str]]]) -> None:
    """Check that each column that a query names can belong to a table, an alias or a subquery of the query."""
    from sqlglot import exp

    own: dict[str, set[str]] = {}
    for table, columns in restricted:
        own.setdefault(table.alias_or_name.lower(), set()).update(each.lower() for each in columns)
    renamed = {alias.name.lower() for alias in tree.find_all(exp.TableAlias) if alias.columns}
    common = {each.alias.lower() for each in tree.find_all(exp.CTE)}
    subqueries = {each.alias.lower() for each in tree.find_all(exp.Subquery) if each.alias}
    free = renamed | common | subqueries
    names = set().union(*own.values()) | {each.alias_or_name.lower() for each in tables}
    names |= {name.name.lower() for alias in tree.find_all(exp.TableAlias) for name in alias.columns}
    names |= {each.alias.lower() for each in tree.find_all(exp.Alias)} | free | _UNITS
    names |= {each.alias_or_name.lower() for each in tree.find_all(exp.Table, exp.Lateral, exp.Unnest)}
    # If a table's columns are not known here, a name without a table may be one of them.
    certain = (
        len(restricted) == len(tables)
        and not any(tree.find(kind) for kind in (exp.Lateral, exp.Unnest))
        and not any(isinstance(table.this, exp.Func) for table in tree.find_all(exp.Table))
    )
    for said, of, name in _names_of_columns(tree):
        if of in own and of not in free and name not in own[of]:
            raise _refused_column(said, sorted(own[of]))
        if certain and name not in names and (not of or _names_all(tree)):
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


def _refused_column(said: str, columns: Sequence[str]) -> RefusedQuery:
    return RefusedQuery(f"a query may only read the columns that tables= names ({', '.join(columns)}), got {said}")


def is_common_table(table: Any, dialect: str) -> bool:
    """Whether a table in a query is a common table expression."""
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

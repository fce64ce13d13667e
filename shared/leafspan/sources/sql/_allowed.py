"""Which tables and columns a query may read.

If a query may read only some columns of a table, a subquery with only these columns replaces the table:

    SELECT * FROM staff WHERE pay > 1
    SELECT * FROM (SELECT "name", "office" FROM "staff") AS staff WHERE pay > 1

The database itself then hides the other columns, however a query names them: by stars, conditions, natural joins, whole
rows or system columns. Names that are not allowed are refused before the query runs, with a clear reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leafspan.checks import did_you_mean, shown
from leafspan.errors import InvalidArgument, RefusedQuery
from leafspan.sources.sql._language import Language
from leafspan.sources.sql._names import (
    check_columns,
    fold,
    is_common_table,
    name_in_query,
    names_in_option,
    path,
    plain_letters,
)

_SYSTEM_SCHEMAS = ("information_schema", "pg_catalog", "temp")
_SYSTEM_TABLES = {"sqlite": r"sqlite_.*|pragma_.*|dbstat|bytecode|tables_used", "postgres": r"pg_.*"}


@dataclass(frozen=True, slots=True)
class Allowed:
    """The tables and columns that a query may read."""

    columns: Mapping[str, tuple[str, ...] | None]  # that a query may read, by table with schema; None: all columns
    dialect: str

    @classmethod
    def of(cls, tables: object, dialect: str) -> Allowed | None:
        """Read what a user allows: None for everything, a list of tables, or a mapping from tables to lists of columns."""
        if tables is None:
            return None
        rule = "tables must be a list of names, or a mapping from names to lists of columns"
        if isinstance(tables, str) or not isinstance(tables, Mapping | Sequence | set | frozenset):
            raise InvalidArgument(f"{rule}, got {shown(tables)}")
        columns: dict[str, tuple[str, ...] | None] = {}
        for name in tables:
            own = tables[name] if isinstance(tables, Mapping) else None
            if not isinstance(name, str) or not name.strip():
                raise InvalidArgument(f"{rule}, got the table {shown(name)}")
            if own is not None and (
                isinstance(own, str)
                or not isinstance(own, Sequence)
                or not own
                or not all(isinstance(each, str) and each for each in own)
            ):
                raise InvalidArgument(f"{rule}, got the columns {shown(own)} of {name}; None allows all columns")
            columns[name] = None if own is None else tuple(own)
        if not columns:
            raise InvalidArgument(f"{rule}, got an empty one: leave it out to allow all tables")
        return cls(columns, dialect)

    def find(self, table: Any) -> str | None:
        """Return the allowed table that a query names, or None if the query may not read that table."""
        wanted = name_in_query(table, self.dialect)
        return next((name for name in self.columns if wanted in names_in_option(name, self.dialect)), None)

    def may_read(self, table: str, column: str) -> bool:
        """Whether a query may read a column of a table. The column "" asks about the table itself."""
        for name, columns in self.columns.items():
            if self._ends(name, table):
                return columns is None or not column or column.lower() in {each.lower() for each in columns}
        return False

    def may_read_all(self, table: str) -> bool:
        """Whether a query may read all columns of a table."""
        return any(columns is None and self._ends(name, table) for name, columns in self.columns.items())

    def _ends(self, name: str, table: str) -> bool:
        """Whether an allowed name names a table in one of the schemas."""
        folded = fold(table, self.dialect)
        return any(each[-1] == folded for each in names_in_option(name, self.dialect))


def allow_tables(tree: Any, allowed: Allowed | None, speech: Language) -> Any:
    """Replace the restricted tables of a query by subqueries of their allowed columns."""
    from sqlglot import exp

    tables = [table for table in tree.find_all(exp.Table) if not isinstance(table.this, exp.Func)]
    base = [table for table in tables if not is_common_table(table, speech.dialect)]
    restricted: list[tuple[Any, str]] = []
    for table in base:
        if table.args.get("rows_from"):
            continue
        if allowed is None:
            _check_unlisted(table, speech)
            continue
        name = allowed.find(table)
        if name is None:
            said = speech.write(exp.Table(**{part: table.args.get(part) for part in ("this", "db", "catalog")}).copy())
            raise RefusedQuery(
                f"a query may only read the tables {', '.join(allowed.columns)}, got {said}"
                f"{did_you_mean(said, allowed.columns)}"
            )
        if allowed.columns[name] is not None:
            restricted.append((table, name))
    if restricted:
        assert allowed is not None
        check_columns(tree, base, [(table, allowed.columns[name] or ()) for table, name in restricted])
        for table, name in restricted:
            tree = _replaced(tree, table, name, allowed)
        for column in tree.find_all(exp.Column):  # a subquery has no schema
            if column.args.get("db") and any(column.table == each.alias_or_name for each, _ in restricted):
                column.set("db", None)
                column.set("catalog", None)
    return tree


def _check_unlisted(table: Any, speech: Language) -> None:
    """Refuse the database's system catalogs, and other databases."""
    name, schema = plain_letters(table.name), plain_letters(table.db)
    system = schema in _SYSTEM_SCHEMAS or schema.startswith(("pg_toast", "pg_temp"))
    if system or re.fullmatch(_SYSTEM_TABLES[speech.dialect], name):
        raise RefusedQuery(
            f"a query may not read the database's system catalogs, got {path(table)}; name it in tables= to allow it"
        )
    if table.args.get("catalog"):
        raise RefusedQuery(
            f"a query may only read tables of its database, got {path(table)}; name it in tables= to allow it"
        )


def _replaced(tree: Any, table: Any, name: str, allowed: Allowed) -> Any:
    """Replace one table of the tree by a subquery of its allowed columns."""
    from sqlglot import exp

    # SQLite reads a quoted name that is not a column as text, unless the name has a table before it.
    of = table.this if allowed.dialect == "sqlite" else None
    columns = [exp.column(exp.to_identifier(each, quoted=True), table=of) for each in allowed.columns[name] or ()]
    plain = exp.Table(this=table.this.copy(), db=_copied(table, "db"), catalog=_copied(table, "catalog"))
    for part in ("sample", "only"):
        plain.set(part, _copied(table, part))
    alias = _copied(table, "alias") or exp.TableAlias(this=table.this.copy())
    subquery = exp.Subquery(this=exp.Select(expressions=columns, from_=exp.From(this=plain)), alias=alias)
    subquery.set("joins", [each.copy() for each in table.args.get("joins") or ()] or None)
    if table is tree:
        return subquery
    table.replace(subquery)
    return tree


def _copied(node: Any, part: str) -> Any:
    value = node.args.get(part)
    return value.copy() if hasattr(value, "copy") else value

"""Function calls in PostgreSQL that look like columns.

``t.upper`` and ``(expression).upper`` mean ``upper(t)`` and ``upper(expression)``, unless there is a column ``upper``:

    SELECT ('/etc/passwd'::text).pg_read_file
    SELECT t.pg_ls_dir FROM unnest(ARRAY['/etc']) AS t

Only the database knows all of its functions, since users can add some. So leafspan asks the database.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from leafspan.errors import RefusedQuery
from leafspan.sources.sql._functions import harmless_functions

_LONGEST = 63  # bytes of a name

# Functions of one argument that are casts or parts of a value, and whose names are common as names of columns.
_HARMLESS = """
    bool bpchar broadcast cidr family float4 float8 int2 int4 int8 interval macaddr macaddr8 money name numeric oid timetz
    xid
"""
# Functions with an argument of the type "internal" are left out, since no query can pass such a value.
_FUNCTIONS = """
    SELECT DISTINCT CAST(proname AS text) FROM pg_catalog.pg_proc
    WHERE pronargs >= 1 AND proargtypes[0] <> 2281 AND CAST(proname AS text) IN :names
"""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A name after a dot that may be a function.

    Attributes:
        name: The name.
        tables: Tables, as (schema, name). The name is a column if each of them has a column of that name. Empty if the name
            may be a function in any case.
    """

    name: str
    tables: tuple[tuple[str | None, str], ...]


def find_attributes(tree: Any, dialect: str, functions: Collection[str]) -> tuple[Attribute, ...]:
    """Return the names after dots in a query that may be functions, without the functions that are known to be harmless."""
    from sqlglot import exp

    if dialect != "postgres":
        return ()
    known = harmless_functions(dialect) | set(_HARMLESS.split()) | set(functions)
    found: dict[Attribute, None] = {}
    named = {
        (column.table.lower(), _name(column.this)): None
        for column in tree.find_all(exp.Column)
        if column.table and isinstance(column.this, exp.Identifier)
    }
    common = {each.alias.lower() for each in tree.find_all(exp.CTE)}
    sources: dict[str, list[Any]] = {}
    for source in tree.find_all(exp.Table, exp.Subquery):
        sources.setdefault(source.alias_or_name.lower(), []).append(source)
    for of, name in named:
        if name not in known:
            found.update(dict.fromkeys(_of_sources(sources.get(of, ()), common, name)))
    for dot in tree.find_all(exp.Dot):
        if isinstance(dot.expression, exp.Identifier) and (name := _name(dot.expression)) not in known:
            found[Attribute(name, ())] = None
    return tuple(found)


def check_attributes(connection: Any, attributes: Sequence[Attribute]) -> None:
    """Check that no name in a query calls a function.

    Raises:
        RefusedQuery: if a name may call one.
    """
    from sqlalchemy import bindparam, text

    if not attributes:
        return
    find = text(_FUNCTIONS).bindparams(bindparam("names", expanding=True))
    names = sorted({each.name for each in attributes})
    found = {str(name) for (name,) in connection.execute(find, {"names": names})}
    for each in attributes:
        if each.name in found and not _is_column(connection, each):
            raise RefusedQuery(
                f"a query may only call functions that are known to be harmless, got {each.name} after a dot, which calls "
                f"{each.name}(); if {each.name}() only reads, name it in functions="
            )


def _of_sources(sources: Sequence[Any], common: Collection[str], name: str) -> Iterator[Attribute]:
    """The attributes for a name after the names of these tables and subqueries, unless the name is surely a column."""
    from sqlglot import exp

    tables: dict[tuple[str | None, str], None] = {}
    for source in sources:
        renamed = source.args.get("alias") and source.args["alias"].columns
        if isinstance(source, exp.Subquery):
            if renamed or name not in source.named_selects:
                yield Attribute(name, ())
        elif renamed or source.name.lower() in common or not isinstance(source.this, exp.Identifier):
            yield Attribute(name, ())
        else:
            tables[source.db or None, _name(source.this)] = None
    if tables or not sources:
        yield Attribute(name, tuple(tables))


def _is_column(connection: Any, attribute: Attribute) -> bool:
    from sqlalchemy import inspect
    from sqlalchemy.exc import NoSuchTableError

    for schema, table in attribute.tables:
        try:
            columns = inspect(connection).get_columns(table, schema=schema)
        except NoSuchTableError:  # the query itself will fail with this error
            return False
        if attribute.name not in {column["name"] for column in columns}:
            return False
    return bool(attribute.tables)


def _name(identifier: Any) -> str:
    """The name as the server stores it, which cuts off long names."""
    name = str(identifier.this if identifier.args.get("quoted") else identifier.this.lower())
    return name.encode()[:_LONGEST].decode(errors="ignore")

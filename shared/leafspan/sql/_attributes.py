"""Functions that PostgreSQL calls where a query names what looks like a column.

There ``t.upper`` and ``(expression).upper`` mean ``upper(t)`` and ``upper(expression)``, unless there is such a column:

    SELECT ('/etc/passwd'::text).pg_read_file
    SELECT t.pg_ls_dir FROM unnest(ARRAY['/etc']) AS t

Whether a name is that of a function only the database knows, which has functions of its users, too. So it is asked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from leafspan.errors import RefusedQuery
from leafspan.sql._functions import harmless_functions
from leafspan.sql._language import language

DIALECTS = ("postgres", "redshift")

_LONGEST = 63  # bytes of a name

# Functions of one argument that are casts or parts of a value, and that are good names for columns.
_HARMLESS = """
    bool bpchar broadcast cidr family float4 float8 int2 int4 int8 interval macaddr macaddr8 money name numeric oid timetz
    xid
"""
# Handlers take an "internal" argument, which no query can have.
_FUNCTIONS = """
    SELECT DISTINCT CAST(proname AS text) FROM pg_catalog.pg_proc
    WHERE pronargs >= 1 AND proargtypes[0] <> 2281 AND CAST(proname AS text) IN :names
"""


def check_attributes(connection: Any, sql: str, dialect: str, functions: Collection[str]) -> None:
    """Check that no name behind a dot can be a call of a function that is not known to be harmless.

    Args:
        connection: Connection of SQLAlchemy.
        sql: A query that was checked by itself.
        dialect: Name of its dialect in sqlglot.
        functions: Names of further functions that are harmless, in lower case.

    Raises:
        RefusedQuery: if one can be.
    """
    from sqlalchemy import bindparam, text

    tree = language(dialect).parse(sql)
    known = harmless_functions(dialect) | set(_HARMLESS.split()) | set(functions)
    met = [(of, name) for of, name in _attributes(tree) if name not in known]
    if not met:
        return
    find = text(_FUNCTIONS).bindparams(bindparam("names", expanding=True))
    found = {str(name) for (name,) in connection.execute(find, {"names": sorted({name for _, name in met})})}
    for of, name in met:
        if name in found and not (of and _is_column(connection, tree, of, name)):
            raise RefusedQuery(
                f"a query may only call functions that are known to be harmless, got {name} behind a dot, which calls "
                f"{name}(); if {name}() only reads, name it in functions="
            )


def _attributes(tree: Any) -> Iterator[tuple[str, str]]:
    """Each name behind a dot that may be a function, and the table or alias before it, "" if that is something else."""
    from sqlglot import exp

    for column in tree.find_all(exp.Column):
        if column.table and isinstance(column.this, exp.Identifier):
            yield column.table.lower(), _name(column.this)
    for dot in tree.find_all(exp.Dot):
        if isinstance(dot.expression, exp.Identifier):
            yield "", _name(dot.expression)


def _name(identifier: Any) -> str:
    """The name as the server has it, which cuts off what is longer."""
    name = str(identifier.this if identifier.args.get("quoted") else identifier.this.lower())
    return name.encode()[:_LONGEST].decode(errors="ignore")


def _is_column(connection: Any, tree: Any, of: str, name: str) -> bool:
    """Whether each table and subquery of this name has such a column, as far as that is certain."""
    from sqlalchemy import inspect
    from sqlalchemy.exc import NoSuchTableError
    from sqlglot import exp

    common = {each.alias.lower() for each in tree.find_all(exp.CTE)}
    sources = [each for each in tree.find_all(exp.Table, exp.Subquery) if each.alias_or_name.lower() == of]
    for source in sources:
        if source.args.get("alias") and source.args["alias"].columns:
            return False
        if isinstance(source, exp.Subquery):
            if name not in source.named_selects:
                return False
            continue
        if source.name.lower() in common or not isinstance(source.this, exp.Identifier):
            return False
        try:
            columns = inspect(connection).get_columns(_name(source.this), schema=source.db or None)
        except NoSuchTableError:
            return False
        if name not in {column["name"] for column in columns}:
            return False
    return bool(sources)

"""Refuses PostgreSQL's row types of tables, which would show columns of a table that a query may not read.

    SELECT json_populate_record(NULL::hidden_table, '{}')

Only the database knows which types are row types of tables. So leafspan asks the database.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leafspan.errors import RefusedQuery

# "typelem" leads from an array type to the type of its elements.
_ROW_TYPES = """
    SELECT DISTINCT CAST(named.typname AS text)
    FROM pg_catalog.pg_type AS named JOIN pg_catalog.pg_type AS type ON type.oid IN (named.oid, named.typelem)
    WHERE type.typtype = 'c' AND CAST(named.typname AS text) IN :names
"""


def find_own_types(tree: Any, dialect: str) -> tuple[str, ...]:
    """The types in a query that are not built in."""
    from sqlglot import exp

    if dialect != "postgres":
        return ()
    names = set()
    for type_ in tree.find_all(exp.DataType):
        for identifier in type_.find_all(exp.Identifier):
            name = str(identifier.this)
            names.add(name if identifier.args.get("quoted") else name.lower())
    return tuple(sorted(names))


def check_own_types(connection: Any, names: Sequence[str]) -> None:
    """Check that no type in a query is the row type of a table.

    Raises:
        RefusedQuery: if a type is one.
    """
    from sqlalchemy import bindparam, text

    if not names:
        return
    find = text(_ROW_TYPES).bindparams(bindparam("names", expanding=True))
    for (name,) in connection.execute(find, {"names": list(names)}):
        raise RefusedQuery(f"a query may only read tables by FROM, got the type {name}, which is a table's row type")

"""Types of PostgreSQL that are rows of tables, through which a query could see the columns of a table it may not read.

    SELECT json_populate_record(NULL::hidden_table, '{}')

Which types are rows of tables only the database knows. So it is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leafspan.errors import RefusedQuery

# The type of an array has that of its elements as "typelem".
_ROW_TYPES = """
    SELECT DISTINCT CAST(named.typname AS text)
    FROM pg_catalog.pg_type AS named JOIN pg_catalog.pg_type AS type ON type.oid IN (named.oid, named.typelem)
    WHERE type.typtype = 'c' AND CAST(named.typname AS text) IN :names
"""


def find_own_types(tree: Any, dialect: str) -> tuple[str, ...]:
    """The names of the types in a query that are not built in."""
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
    """Check that none of these types is that of a table's rows.

    Raises:
        RefusedQuery: if one is.
    """
    from sqlalchemy import bindparam, text

    if not names:
        return
    find = text(_ROW_TYPES).bindparams(bindparam("names", expanding=True))
    for (name,) in connection.execute(find, {"names": list(names)}):
        raise RefusedQuery(f"a query may only read tables by FROM, got the type {name}, which is the row of a table")

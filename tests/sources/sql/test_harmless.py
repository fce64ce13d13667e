"""No harmless query is refused, and each returns the same as the database alone."""

from __future__ import annotations

from functools import cache

import pytest
import sqlalchemy

from leafspan.sources import SQL
from leafspan.sources.sql._allowed import Allowed
from leafspan.sources.sql._guard import Guard
from leafspan.sources.sql._timeout import Deadline
from tests.profiles import all_hold, in_groups, paired
from tests.sources.sql.harmless import BY_DIALECT

CASES = [(dialect, sql) for dialect, queries in BY_DIALECT.items() for sql in queries]


@cache
def strategy(url):
    return SQL(url)


@cache
def engine(url):
    return sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)


def by_itself(url, sql):
    with engine(url).connect() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(sql, execution_options={"no_parameters": True})]


def test_there_are_enough_harmless_queries():
    assert len({sql for _, sql in CASES}) >= 150


@cache
def every_column(url):
    """All columns of all tables, each named."""
    inspector = sqlalchemy.inspect(engine(url))
    names = [*inspector.get_table_names(), *inspector.get_view_names()]
    named = {name: [column["name"] for column in inspector.get_columns(name)] for name in names}
    return named | {"reviews": None, "public.customers": named["customers"], "other.customers": ["id", "name"]}


def needs_the_table_itself(sql):
    """What a subquery has not: row ids, the type of its rows, and names that SQLite takes for texts."""
    return "rowid" in sql or '"Ada"' in sql or sql.startswith("SELECT c FROM")


def groups():
    """Queries of one dialect, each with and without a list of the columns, which take turns."""
    for dialect, queries in BY_DIALECT.items():
        pairs = paired(queries, [True, False])
        yield from in_groups([(dialect, sql, listed and not needs_the_table_itself(sql)) for sql, listed in pairs], 25)


@pytest.mark.parametrize("queries", [*groups()], ids=lambda queries: f"{queries[0][0]} {queries[0][1][:60]}")
def test_harmless_queries_return_what_the_database_returns(request, queries):
    def same(query):
        dialect, sql, listed = query
        url = request.getfixturevalue("sqlite_url" if dialect == "sqlite" else "postgres")
        allowed = Allowed.of(every_column(url), dialect) if listed else None
        checked = Guard(dialect=dialect, row_limit=1000, allowed=allowed).check(sql)
        rows = strategy(url).database.run(checked, 1000, Deadline.after(10), allowed)
        assert sorted(map(repr, rows.rows)) == sorted(map(repr, by_itself(url, sql)))

    all_hold(same, queries)

"""No harmless query is refused, and each returns what the database returns by itself."""

from __future__ import annotations

from functools import cache

import pytest
import sqlalchemy

from leafspan import SQL, RefusedQuery
from leafspan.sql._guard import Guard
from tests.sql.harmless import BOTH, BY_DIALECT

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


@pytest.mark.parametrize(("dialect", "sql"), CASES, ids=[f"{dialect} {sql[:60]}" for dialect, sql in CASES])
def test_a_harmless_query_returns_what_the_database_returns(request, dialect, sql):
    url = request.getfixturevalue("sqlite_url" if dialect == "sqlite" else "postgres")
    checked = Guard(dialect=dialect, row_limit=1000).check(sql)
    rows = strategy(url).database.run(checked, 1000, 10, None)
    assert sorted(map(repr, rows.rows)) == sorted(map(repr, by_itself(url, sql)))


@pytest.mark.parametrize("dialect", ["mysql", "tsql", "duckdb", "oracle"])
@pytest.mark.parametrize("sql", [sql for sql in BOTH if "VALUES" not in sql and "\\" not in sql], ids=lambda sql: sql[:60])
def test_other_dialects_refuse_only_what_they_do_not_have(dialect, sql):
    try:
        Guard(dialect=dialect, row_limit=1000).check(sql)
    except RefusedQuery as error:
        assert "cannot be" in str(error), error

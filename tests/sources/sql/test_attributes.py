"""A name after a dot cannot call a function that is not known to be harmless."""

from __future__ import annotations

import time

import pytest

from leafspan import retrieve
from leafspan.errors import RefusedQuery
from leafspan.sources import SQL
from leafspan.sources.sql._guard import Guard
from tests.sources.sql.shop import CANARY

CALLS = [
    "SELECT ('/etc/passwd'::text).pg_read_file",
    "SELECT (('/etc/passwd'::text)).pg_read_file::text",
    "SELECT (SELECT '/etc/passwd'::text).pg_read_file",
    "SELECT (CASE WHEN true THEN '/etc/passwd'::text END).pg_read_file",
    "SELECT (lower('/etc/passwd')).pg_read_file",
    "SELECT (ARRAY['/etc/passwd'])[1].pg_read_file",
    "SELECT t.pg_read_file FROM unnest(ARRAY['/etc/passwd']) AS t",
    "SELECT t.\"pg_read_file\" FROM unnest(ARRAY['/etc/passwd']) AS t",
    "SELECT T . /* x */ PG_READ_FILE FROM unnest(ARRAY['/etc/passwd']) AS t",
    "SELECT (t).pg_read_file FROM unnest(ARRAY['/etc/passwd']) AS t",
    "SELECT (t.a).pg_read_file FROM (VALUES ('/etc/passwd'::text)) AS t(a)",
    "SELECT t.a.pg_read_file FROM (VALUES ('/etc/passwd'::text)) AS t(a)",
    "WITH t AS (SELECT '/etc/passwd'::text AS a) SELECT (a).pg_read_file FROM t",
    'SELECT (json_populate_record(NULL::customers, \'{"name": "/etc/passwd"}\')).name.pg_read_file',
    "SELECT 1 FROM customers AS c WHERE (c.name).pg_read_file <> 'x'",
    "SELECT name FROM customers ORDER BY (name).pg_read_file",
    "SELECT count(*) OVER (PARTITION BY t.pg_ls_dir) FROM unnest(ARRAY['/etc']) AS t",
    "SELECT * FROM unnest(ARRAY['/etc']) AS t, LATERAL unnest(ARRAY[t.pg_ls_dir])",
    "SELECT t.pg_ls_dir FROM unnest(ARRAY['/etc']) AS t",
    "SELECT ('data_directory'::text).current_setting",
    "SELECT t.pg_sleep FROM generate_series(10, 10) AS t",
    "SELECT t.shout FROM unnest(ARRAY['x']) AS t",
    "SELECT c.praise FROM customers AS c",
]


@pytest.fixture(scope="module")
def url(postgres_session):
    """The server has a function of a row of customers, and one with the name of a column."""
    import sqlalchemy

    engine = sqlalchemy.create_engine(postgres_session, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for name in ("praise", "city", "n" * 63):
            connection.exec_driver_sql(
                f"CREATE FUNCTION {name}(customers) RETURNS TEXT LANGUAGE sql AS $$ SELECT '{CANARY}' $$"
            )
        yield postgres_session
        for name in ("praise", "city", "n" * 63):
            connection.exec_driver_sql(f"DROP FUNCTION {name}(customers)")
    engine.dispose()


@pytest.mark.parametrize("sql", CALLS)
def test_a_function_behind_a_dot_is_refused(url, sql):
    with pytest.raises(RefusedQuery, match="known to be harmless"):
        retrieve(sql, SQL(url, timeout=60))


def test_a_name_that_the_server_cuts_off_is_refused(url):
    with pytest.raises(RefusedQuery, match="after a dot"):
        retrieve(f"SELECT c.{'n' * 64} FROM customers AS c", SQL(url))


def test_a_function_behind_a_dot_passes_if_it_is_named(url):
    [passage] = retrieve("SELECT t.shout FROM unnest(ARRAY['tea']) AS t", SQL(url, functions=["shout"]))
    assert passage.text == "shout: TEA"


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT c.city FROM customers AS c WHERE c.id = 1", "city: London"),
        ("SELECT customers.city FROM customers WHERE id = 1", "city: London"),
        ("SELECT t.city FROM (SELECT city FROM customers WHERE id = 1) AS t", "city: London"),
        ("SELECT c.name FROM customers AS c WHERE c.id = 1", "name: Ada"),
        ('SELECT (json_populate_record(NULL::customers, \'{"name": "Ada"}\')).name', "name: Ada"),
        ("SELECT t.upper FROM unnest(ARRAY['tea']) AS t", "upper: TEA"),
    ],
)
def test_columns_and_harmless_functions_behind_a_dot_pass(url, sql, text):
    assert retrieve(sql, SQL(url))[0].text == text


def test_columns_of_a_list_pass_although_functions_are_called_so(url):
    [first, *_] = retrieve(
        "SELECT c.city FROM customers AS c ORDER BY c.id", SQL(url, tables={"customers": ["id", "city"]})
    )
    assert first.text == "city: London"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT CAST('secrets' AS pg_catalog.regclass)",
        "SELECT '{secrets}'::_regclass",
        "SELECT '{secrets}'::\"_regclass\"",
        "SELECT '{10}'::pg_catalog._regrole",
        "SELECT (t.a).regrole FROM (SELECT 10::oid AS a) AS t",
        "SELECT t.regrole FROM (SELECT 10::oid AS a) AS t",
    ],
)
def test_a_cast_to_a_name_of_the_catalog_is_refused_however_it_is_written(sql):
    with pytest.raises(RefusedQuery, match="in the catalog"):
        Guard(dialect="postgres").check(sql)


def test_a_query_with_many_names_is_checked_in_a_moment():
    tables = ", ".join(f"orders AS o{number}" for number in range(300))
    columns = ", ".join(f"o{number}.c{number}" for number in range(300) for _ in range(10))
    start = time.thread_time()
    assert len(Guard(dialect="postgres").check(f"SELECT {columns} FROM {tables}").attributes) == 300
    assert time.thread_time() - start < 5

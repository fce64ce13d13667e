"""Laws for queries in general."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager

import pytest
import sqlalchemy
from hypothesis import given
from hypothesis import strategies as st

from leafspan import retrieve
from leafspan.errors import QueryFailed, RefusedQuery
from leafspan.sources import SQL
from leafspan.sources.sql._allowed import Allowed
from leafspan.sources.sql._database import Database
from leafspan.sources.sql._guard import Guard
from leafspan.sources.sql._names import plain_letters
from leafspan.sources.sql._timeout import Deadline
from tests.profiles import examples
from tests.sources.sql.attacks import ALLOWED, ATTACKS, HIDDEN
from tests.sources.sql.harmless import BY_DIALECT
from tests.sources.sql.shop import CANARY, SQLITE

NAMES = ["customers", "orders", "secrets", "all_secrets", "word_count", '"secrets"', "main.secrets", "a", "b"]
COLUMNS = ["id", "name", "password", "word", "words", "customer_id", "rowid", '"password"', "city", "a", "b", "*"]
FUNCTIONS = ["count", "max", "upper", "group_concat", "coalesce", "json_array", "load_extension", "row_number"]
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)


def queries():
    """Queries over the shop, many of them wrong, some of them of what is hidden."""
    name, column = st.sampled_from(NAMES), st.sampled_from(COLUMNS)
    alias = st.sampled_from(["", " AS a", " AS b", " AS customers", " AS secrets"])

    def bigger(query):
        value = st.one_of(
            column,
            st.builds("{}.{}".format, name, column),
            st.sampled_from(["1", "'x'", "NULL", "a", "customers"]),
            st.builds("{}({})".format, st.sampled_from(FUNCTIONS), column),
            query.map("({})".format),
        )
        table = st.one_of(
            st.builds("{}{}".format, name, alias), st.builds("({}){}".format, query, st.sampled_from([" AS a", " AS b"]))
        )
        source = st.one_of(
            table,
            st.builds("{} JOIN {} USING ({})".format, table, table, column),
            st.builds("{} NATURAL JOIN {}".format, table, table),
            st.builds("{}, {}".format, table, table),
            st.builds("{} LEFT JOIN {} ON {} = {}".format, table, table, value, value),
        )
        condition = st.one_of(
            st.just(""),
            st.builds(" WHERE {} = {}".format, value, value),
            st.builds(" WHERE {} IN ({})".format, value, query),
            st.builds(" WHERE {} IN {}".format, value, name),
            st.builds(" WHERE EXISTS ({})".format, query),
            st.builds(" GROUP BY {} HAVING max({}) > 'a'".format, value, column),
            st.builds(" ORDER BY {}".format, value),
        )
        select = st.builds("SELECT {} FROM {}{}".format, value, source, condition)
        return st.one_of(
            select,
            st.builds("SELECT {}".format, value),
            st.builds("{} UNION ALL {}".format, select, select),
            st.builds("WITH {} AS ({}) {}".format, st.sampled_from(["a", "b", "secrets", "customers"]), query, select),
            st.builds("WITH a AS ({}), secrets AS ({}) {}".format, query, query, select),
        )

    return st.recursive(st.builds("SELECT {} FROM {}".format, column, name), bigger, max_leaves=8)


def pieces():
    """Attacks and harmless queries cut up and put together in other ways."""
    every = [each.sql for each in (*ATTACKS, *HIDDEN) if each.dialect == "sqlite"] + BY_DIALECT["sqlite"]
    words = sorted({word for sql in every if len(sql) < 500 for word in sql.split()})
    whole = st.sampled_from([sql for sql in every if len(sql) < 500])
    return st.one_of(
        st.builds("{} {} {}".format, whole, st.sampled_from([";", "UNION ALL", ",", "--\n", "/**/", "WHERE"]), whole),
        st.builds("SELECT {}".format, st.lists(st.sampled_from(words), max_size=6).map(" ".join)),
    )


@pytest.fixture(scope="module")
def unrestricted():
    """A database that does all that it is asked for."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.executescript(SQLITE)
    yield connection
    connection.close()


def whole_state(connection):
    return connection.total_changes, connection.execute("PRAGMA schema_version").fetchone()


def run(connection, sql):
    try:
        return connection.execute(sql).fetchmany(50)
    except sqlite3.Error:
        return []


@examples(2000, fast=150)
@given(sql=st.one_of(queries(), pieces()))
def test_what_is_accepted_changes_nothing(unrestricted, sql):
    try:
        checked = Guard(dialect="sqlite", row_limit=50).check(sql)
    except RefusedQuery:
        return
    before = whole_state(unrestricted)
    run(unrestricted, checked.sql)
    assert whole_state(unrestricted) == before


@examples(2000, fast=150)
@given(sql=st.one_of(queries(), pieces()))
def test_no_hidden_value_ever_comes_out_by_the_guard_alone(unrestricted, sql):
    try:
        checked = Guard(dialect="sqlite", row_limit=50, allowed=Allowed.of(ALLOWED, "sqlite")).check(sql)
    except RefusedQuery:
        return
    assert CANARY not in repr(run(unrestricted, checked.sql))


@examples(300, fast=40)
@given(sql=queries())
def test_no_hidden_value_ever_comes_out_of_postgres(postgres_session, sql):
    allowed = Allowed.of(ALLOWED, "postgres")
    try:
        checked = Guard(dialect="postgres", row_limit=50, allowed=allowed).check(sql)
        rows = database(postgres_session).run(checked, 50, Deadline.after(5), allowed)
    except (RefusedQuery, QueryFailed):
        return
    assert CANARY not in repr(rows)


DATABASES: dict[str, Database] = {}


def database(url):
    return DATABASES.setdefault(url, Database.of(url, 5))


@examples(200, fast=40)
@given(text=TEXTS)
def test_a_string_comes_back_as_it_was_written(postgres_session, sqlite_session, text):
    sql = "SELECT '{}' AS t".format(text.replace("'", "''"))
    for url in (sqlite_session, postgres_session):
        checked = Guard(dialect=database(url).dialect, row_limit=5).check(sql)
        assert database(url).run(checked, 5, Deadline.after(5), None).rows == ((text,),)


@examples(200, fast=40)
@given(text=TEXTS)
def test_a_string_with_escapes_is_the_same_to_the_guard_and_to_postgres(postgres_session, text):
    sql = "SELECT e'{}'".format(text.replace("\\", "\\\\").replace("'", "\\'"))
    checked = Guard(dialect="postgres", row_limit=5).check(sql)
    assert database(postgres_session).run(checked, 5, Deadline.after(5), None).rows == ((text,),)


@examples(200, fast=40)
@given(name=TEXTS.filter(lambda name: name and "\\" not in name and len(name.encode()) < 60))
def test_a_quoted_name_comes_back_as_it_was_written(postgres_session, sqlite_session, name):
    sql = 'SELECT 1 AS "{}"'.format(name.replace('"', '""'))
    for url in (sqlite_session, postgres_session):
        checked = Guard(dialect=database(url).dialect, row_limit=5).check(sql)
        assert database(url).run(checked, 5, Deadline.after(5), None).columns == (name,)


# Names that are sure to be tried, besides those that Hypothesis makes.
ODD_NAMES = [
    "sales.2024",
    "a.b.c",
    ".",
    'say "hi"',
    "50%",
    "it's",
    "select",
    "Straße",
    "a;b--c",
    "x/y (z)",
    "猫",
    "[a]",
    "`b`",
]
TABLE_NAMES = st.one_of(
    st.sampled_from(ODD_NAMES),
    st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\\"), min_size=1).filter(
        lambda name: (
            name.strip() and len(name.encode()) < 60 and not plain_letters(name).startswith(("pg_", "sqlite_", "pragma_"))
        )
    ),
)


@examples(200, fast=6)
@given(name=TABLE_NAMES, listed=st.sampled_from([None, "in quotes", "as it is"]), some=st.booleans())
def test_a_table_can_be_read_by_the_name_that_the_prompt_offers(tmp_path_factory, postgres_session, name, listed, some):
    quoted = '"{}"'.format(name.replace('"', '""'))
    entry = quoted if listed == "in quotes" or '"' in name else name
    tables = None if listed is None else {entry: ["id", "a.b"] if some else None}
    hidden = {} if tables and some else {"hidden": "canary"}

    def model(prompt):
        before = prompt[: prompt.index('\n- id INTEGER, primary key\n- "a.b" TEXT\n')]
        assert "\n  7 | text" in prompt
        return f"SELECT * FROM {before.rpartition(chr(10) * 2)[2]}"

    for url in (f"sqlite:///{tmp_path_factory.mktemp('named') / 'one.db'}", postgres_session):
        with changing(url) as execute:
            execute(f'CREATE TABLE {quoted} (id INTEGER PRIMARY KEY, "a.b" TEXT, hidden TEXT)')
            execute(f"INSERT INTO {quoted} VALUES (7, 'text', 'canary')")
            try:
                [passage] = retrieve("What is in it?", SQL(url, generate=model, tables=tables, sample_rows=1))
            finally:
                execute(f"DROP TABLE {quoted}")
        assert passage.id == f"{name}:7"
        assert passage.metadata == {"id": 7, "a.b": "text"} | hidden


@contextmanager
def changing(url):
    """A function that runs statements as they are."""
    engine = sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        yield lambda sql: connection.exec_driver_sql(sql, execution_options={"no_parameters": True})
    engine.dispose()


@examples(100, fast=20)
@given(limit=st.integers(1, 20), asked=st.integers(0, 30), has_limit=st.booleans())
def test_the_row_limit_holds(sqlite_session, limit, asked, has_limit):
    numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 25) SELECT x FROM n"
    sql = f"{numbers} LIMIT {asked}" if has_limit else numbers
    there_are = min(25, asked) if has_limit else 25
    passages = retrieve(sql, SQL(sqlite_session, row_limit=limit))
    assert [each.metadata["x"] for each in passages] == list(range(1, min(limit, there_are) + 1))
    assert all(("row_limit" in " ".join(each.trace.notes)) == (there_are > limit) for each in passages)


def test_the_laws_are_tried_on_queries_that_run(unrestricted):
    """Otherwise they would hold because nothing is ever accepted."""
    accepted = ran = 0
    for sql in BY_DIALECT["sqlite"]:
        checked = Guard(dialect="sqlite", row_limit=50).check(sql)
        accepted += 1
        ran += bool(run(unrestricted, checked.sql))
    assert accepted == len(BY_DIALECT["sqlite"])
    assert ran > 100


@pytest.fixture(scope="session")
def sqlite_session(shop_file):
    return f"sqlite:///{shop_file}"


def test_postgres_with_any_settings_reads_strings_as_the_guard_does(postgres_session):
    engine = sqlalchemy.create_engine(postgres_session, connect_args={"options": "-c standard_conforming_strings=off"})
    checked = Guard(dialect="postgres", row_limit=5).check("SELECT 'a\\' AS t, ' AS u' AS v")
    assert Database.of(engine, 5).run(checked, 5, Deadline.after(5), None).rows == (("a\\", " AS u"),)
    engine.dispose()

"""Databases that are missing, slow, damaged or full, and what must not be seen or left behind."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import tracemalloc
from contextlib import contextmanager

import pytest
import sqlalchemy
from sqlalchemy.pool import StaticPool

from leafspan import InvalidArgument, MissingExtra, RetrievalTimeout, aretrieve, retrieve
from leafspan.errors import DatabaseUnavailable, QueryFailed, QueryTimeout, RefusedQuery
from leafspan.language_model import without_reasoning
from leafspan.sources import SQL
from leafspan.sources.sql import _language
from leafspan.sources.sql._attempts import find_sql
from leafspan.sources.sql._database import Database
from leafspan.sources.sql._engines import without_secrets
from leafspan.sources.sql._guard import Guard
from tests.event_loop import wait_for_the_loop
from tests.lateness import ends_within, longer_and_longer
from tests.postgres import PASSWORD
from tests.profiles import quick

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT COUNT(*) FROM n"
MILLION = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000000) SELECT x FROM n"
SLACK = 3.0  # seconds


@contextmanager
def silent_server():
    """A server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = []
        threading.Thread(target=lambda: taken.append(server.accept()), daemon=True).start()
        yield server.getsockname()[1]
        for connection, _ in taken:
            connection.close()


def test_a_file_that_is_not_there_is_not_made(tmp_path):
    path = tmp_path / "gone.db"
    with pytest.raises(DatabaseUnavailable, match="cannot be reached: unable to open database file"):
        retrieve("SELECT 1", SQL(f"sqlite:///{path}"))
    assert not path.exists()


def test_a_damaged_file_is_a_clear_error(tmp_path, shop_file):
    path = tmp_path / "damaged.db"
    path.write_bytes(os.urandom(4096))
    with pytest.raises(QueryFailed, match="file is not a database"):
        retrieve("SELECT 1", SQL(f"sqlite:///{path}"))
    torn = bytearray(shop_file.read_bytes())
    torn[4096:] = b"\xff" * (len(torn) - 4096)
    path.write_bytes(torn)
    with pytest.raises(QueryFailed, match="malformed"):
        retrieve("SELECT * FROM customers", SQL(f"sqlite:///{path}"))


def test_a_server_that_is_gone_is_a_clear_error():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(DatabaseUnavailable, match=r"cannot be reached: .*refused"):
        retrieve("SELECT 1", SQL(f"postgresql+psycopg://me:sesame@127.0.0.1:{port}/shop", timeout=60))


def test_a_server_that_is_gone_is_not_asked_again_by_a_model():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    url = f"postgresql+psycopg://me:sesame@127.0.0.1:{port}/shop"
    with pytest.raises(DatabaseUnavailable):
        retrieve("SELECT 1", SQL(url, generate=lambda prompt: pytest.fail("asked"), max_retries=3, timeout=60))


def test_a_server_that_never_answers_is_given_up():
    with silent_server() as port:
        strategy = SQL(f"postgresql+psycopg://me:sesame@127.0.0.1:{port}/shop?connect_timeout=60", timeout=0.5)
        Guard(dialect="postgres").check("SELECT 1")  # what is imported at first takes a part of the time
        said = r"did not take a connection: .* within timeout=0.5 seconds"
        with ends_within(0.5 + SLACK), pytest.raises(DatabaseUnavailable, match=said):
            retrieve("SELECT 1", strategy)


def test_the_time_that_a_query_takes_to_be_checked_counts(sqlite_url, monkeypatch):
    checked = threading.Event()
    monkeypatch.setattr(Guard, "check", lambda self, sql: checked.wait(60))
    said = r"must answer within timeout=0.2 seconds, and did not"
    with ends_within(0.2 + SLACK), pytest.raises(QueryTimeout, match=said):
        retrieve("SELECT 1", SQL(sqlite_url, timeout=0.2))
    checked.set()


def test_a_retrieval_that_is_over_while_a_query_runs_names_the_database(sqlite_url, monkeypatch):
    begun, done = threading.Event(), threading.Event()

    def check(_guard, _sql):
        begun.set()
        done.wait(60)

    monkeypatch.setattr(Guard, "check", check)
    for timeout in longer_and_longer(0.2):
        with pytest.raises(RetrievalTimeout) as caught:
            retrieve("SELECT 1", SQL(sqlite_url, timeout=60), timeout=timeout)
        if begun.is_set():
            break
    done.set()
    assert f"still waits for the database '{sqlite_url}'" in str(caught.value)


@pytest.mark.parametrize("url", ["sqlite_url", "postgres"])
def test_a_slow_query_is_stopped(request, url):
    for timeout in longer_and_longer(0.4):
        strategy = SQL(request.getfixturevalue(url), timeout=timeout)
        with ends_within(timeout + SLACK), pytest.raises((QueryTimeout, DatabaseUnavailable)) as caught:
            retrieve(ENDLESS, strategy)
        if caught.type is QueryTimeout:  # it was connected in time
            break
    assert f"must answer within timeout={timeout:g} seconds, and did not" in str(caught.value)
    assert retrieve("SELECT 1 AS one", SQL(strategy.database))[0].text == "one: 1"


def test_a_slow_query_is_stopped_in_the_server(postgres):
    for timeout in longer_and_longer(0.4):
        with pytest.raises(QueryFailed, match="timeout") as caught:
            retrieve(ENDLESS, SQL(postgres, timeout=timeout))
        if caught.type is not DatabaseUnavailable:  # it was connected in time
            break
    assert caught.type is not DatabaseUnavailable
    engine = sqlalchemy.create_engine(postgres)
    busy = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%RECURSIVE n%' AND pid <> pg_backend_pid()"
    end = time.monotonic() + 60
    with engine.connect() as connection:
        while connection.exec_driver_sql(busy, execution_options={"no_parameters": True}).scalar():
            assert time.monotonic() < end
            time.sleep(0.05)
    engine.dispose()


def test_a_locked_file_is_waited_for_no_longer_than_the_timeout(tmp_path, shop_file):
    path = shutil.copy(shop_file, tmp_path / "locked.db")
    with sqlite3.connect(path, isolation_level=None) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        with ends_within(0.3 + SLACK), pytest.raises(QueryFailed, match=r"timeout=0.3|locked"):
            retrieve("SELECT * FROM customers", SQL(f"sqlite:///{path}", timeout=0.3))
        writer.execute("ROLLBACK")
    writer.close()


@pytest.mark.parametrize("url", ["sqlite_url", "postgres"])
def test_a_million_rows_never_reach_memory(request, url):
    strategy = SQL(request.getfixturevalue(url), row_limit=100)
    retrieve("SELECT 1", strategy)  # what is imported at first is not counted
    tracemalloc.start()
    passages = retrieve(MILLION, strategy)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [each.metadata["x"] for each in passages] == list(range(1, 101))
    assert "there are more rows than row_limit=100, and these are the first" in passages[0].trace.notes
    assert most < 20_000_000


@pytest.mark.parametrize(
    ("url", "sql"),
    quick(
        2,
        [
            ("sqlite_url", "SELECT hex(zeroblob(10000000)) FROM orders AS a, orders AS b"),
            ("postgres", "SELECT repeat('x', 20000000) FROM generate_series(1, 1000)"),
            ("sqlite_url", "SELECT zeroblob(20000000) FROM orders AS a, orders AS b"),
            ("postgres", "SELECT array_fill(repeat('x', 20000), ARRAY[1000]) FROM generate_series(1, 1000)"),
            ("postgres", "SELECT jsonb_build_array(repeat('x', 20000000)) FROM generate_series(1, 1000)"),
        ],
    ),
)
def test_rows_that_are_large_together_are_an_error_before_they_fill_memory(request, url, sql):
    strategy = SQL(request.getfixturevalue(url), timeout=120)
    with pytest.raises(
        QueryFailed, match=r"at most 100000000 characters and bytes together, got \d+ in the first \d+ rows"
    ):
        retrieve(sql, strategy)


async def test_an_event_loop_goes_on_while_a_query_runs(sqlite_url, monkeypatch):
    loop, run = asyncio.get_running_loop(), Database.run

    def run_beside_the_loop(*arguments):
        wait_for_the_loop(loop)
        return run(*arguments)

    monkeypatch.setattr(Database, "run", run_beside_the_loop)
    assert (await aretrieve("SELECT 1 AS one", SQL(sqlite_url)))[0].text == "one: 1"


@pytest.mark.parametrize(("asked", "found"), [("SELECT 1 AS one", "one: 1"), ("What is two?", "two: 2")])
async def test_an_event_loop_goes_on_while_a_text_is_read_as_sql(sqlite_url, monkeypatch, asked, found):
    loop, parse, parsed = asyncio.get_running_loop(), _language.Language.parse, []

    def parse_beside_the_loop(self, sql):
        wait_for_the_loop(loop)
        parsed.append(sql)
        return parse(self, sql)

    strategy = SQL(sqlite_url, generate=lambda prompt: "SELECT 2 AS two")
    monkeypatch.setattr(_language.Language, "parse", parse_beside_the_loop)
    assert (await aretrieve(asked, strategy))[0].text == found
    assert parsed  # which takes a while for a long text


def test_passwords_are_in_no_message_and_no_repr(postgres):
    wrong = postgres.replace(PASSWORD, "open-sesame")
    strategy = SQL(wrong)
    with pytest.raises(DatabaseUnavailable) as caught:
        retrieve("SELECT 1", strategy)
    chain = [caught.value, caught.value.__context__, caught.value.__cause__]
    for said in (repr(strategy), str(strategy.database), *(repr(each) for each in chain)):
        assert "open-sesame" not in said


def test_what_looks_like_a_password_is_hidden():
    message = "failed: postgresql://me:hunter2@host/db?password=hunter3 (PWD=hunter4; sslpassword='hunter 5') a%2Fb a/b"
    hidden = without_secrets(message, ["a/b"])
    assert hidden == "failed: postgresql://me:***@host/db?password=*** (PWD=***; sslpassword=***) *** ***"


def test_a_wrong_url_does_not_show_its_password():
    with pytest.raises(InvalidArgument) as caught:
        SQL("nonsense://me:hunter2@host/db")
    assert "hunter2" not in repr(caught.value)


def test_a_password_in_the_options_of_a_url_is_hidden():
    pytest.importorskip("psycopg")
    strategy = SQL("postgresql+psycopg://host/db?user=me&password=hunter2&sslpassword=hunter3")
    assert "hunter" not in repr(strategy)


def test_nothing_that_was_set_stays_in_the_pool_of_an_engine(tmp_path, shop_file):
    path = shutil.copy(shop_file, tmp_path / "own.db")
    engine = sqlalchemy.create_engine(f"sqlite:///{path}", pool_size=1, max_overflow=0)
    with engine.connect() as connection:
        connection.exec_driver_sql("SELECT 1")
    strategy = SQL(engine, tables=["customers"])
    assert len(retrieve("SELECT * FROM customers", strategy)) == 3
    with pytest.raises(RefusedQuery):
        retrieve("SELECT * FROM secrets", strategy)
    with engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM items")
        assert connection.exec_driver_sql("SELECT COUNT(*) FROM secrets").scalar() == 1
        assert connection.exec_driver_sql("PRAGMA query_only").scalar() == 0
    engine.dispose()


def test_nothing_that_was_set_stays_in_a_session_of_postgres(postgres):
    engine = sqlalchemy.create_engine(postgres, pool_size=1, max_overflow=0, isolation_level="AUTOCOMMIT")
    assert retrieve("SELECT 1 AS one", SQL(engine))[0].text == "one: 1"
    with engine.connect() as connection:
        shown = [
            connection.exec_driver_sql(f"SHOW {name}").scalar() for name in ("transaction_read_only", "statement_timeout")
        ]
    engine.dispose()
    assert shown == ["off", "0"]


def test_functions_of_an_engine_can_be_called_once_they_are_named(tmp_path, shop_file):
    engine = sqlalchemy.create_engine(f"sqlite:///{shop_file}")
    sqlalchemy.event.listen(engine, "connect", lambda driver, _: driver.create_function("shout", 1, str.upper))
    sql = "SELECT shout(name) AS loud FROM customers WHERE id = 1"
    with pytest.raises(RefusedQuery, match="shout"):
        retrieve(sql, SQL(engine))
    assert retrieve(sql, SQL(engine, functions=["shout"]))[0].text == "loud: ADA"
    engine.dispose()


@pytest.fixture
def in_memory():
    engine = sqlalchemy.create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE a (x INTEGER)")
        connection.exec_driver_sql("INSERT INTO a VALUES (7)")
    yield engine
    engine.dispose()


def test_a_database_in_memory_is_read_and_stays_as_it_is(in_memory):
    strategy = SQL(in_memory, tables=["a"])
    assert retrieve("SELECT x FROM a", strategy)[0].text == "x: 7"
    assert asyncio.run(aretrieve("SELECT x FROM a", strategy))[0].text == "x: 7"
    with in_memory.begin() as connection:
        connection.exec_driver_sql("INSERT INTO a VALUES (8)")
        connection.exec_driver_sql("CREATE TABLE b (y INTEGER)")
    assert len(retrieve("SELECT x FROM a", strategy)) == 2


def test_a_database_in_memory_of_one_thread_is_refused():
    with pytest.raises(InvalidArgument, match=r"must be visible to all threads: .*poolclass=StaticPool"):
        SQL(sqlalchemy.create_engine("sqlite://"))


def test_an_asynchronous_engine_is_refused():
    from sqlalchemy.ext.asyncio import create_async_engine

    with pytest.raises(InvalidArgument, match=r"database must be a URL such as .* got AsyncEngine"):
        SQL(create_async_engine("sqlite+aiosqlite:///x.db"))


def test_a_file_that_is_no_text_is_read_all_the_same(tmp_path):
    path = tmp_path / "bytes.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE a (x TEXT)")
        connection.execute("INSERT INTO a VALUES (CAST(x'61ff62' AS TEXT))")
    connection.close()
    assert retrieve("SELECT x FROM a", SQL(f"sqlite:///{path}"))[0].text == "x: a\N{REPLACEMENT CHARACTER}b"


def test_a_broken_view_does_not_keep_a_model_from_the_other_tables(tmp_path):
    path = tmp_path / "broken.db"
    with sqlite3.connect(path) as connection:
        connection.executescript("CREATE TABLE a (x); CREATE TABLE b (y); CREATE VIEW c AS SELECT y FROM b; DROP TABLE b")
    connection.close()
    prompts = []
    strategy = SQL(f"sqlite:///{path}", generate=lambda prompt: prompts.append(prompt) or "SELECT 1 AS one", sample_rows=2)
    assert retrieve("anything", strategy)[0].text == "one: 1"
    assert "\na\n- x\n" in prompts[0]


def test_what_is_allowed_does_not_change_with_the_list_that_was_given(sqlite_url):
    tables = {"customers": ["id"]}
    strategy = SQL(sqlite_url, tables=tables)
    tables["secrets"] = None
    tables["customers"].append("password")
    for sql in ("SELECT * FROM secrets", "SELECT password FROM customers"):
        with pytest.raises(RefusedQuery):
            retrieve(sql, strategy)


def test_a_view_is_followed_even_through_other_views(sqlite_url):
    assert retrieve("SELECT words FROM word_count", SQL(sqlite_url, tables=["word_count"]))[0].text == "words: 1"
    with pytest.raises(RefusedQuery, match="all_secrets"):
        retrieve("SELECT * FROM all_secrets", SQL(sqlite_url, tables=["word_count"]))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_does_not_share_connections(postgres):
    engine = sqlalchemy.create_engine(postgres)
    strategy = SQL(engine)
    assert retrieve("SELECT 1 AS one", strategy)[0].text == "one: 1"
    with engine.connect() as connection:
        connection.exec_driver_sql("SELECT 1")
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if retrieve("SELECT 2 AS two", strategy)[0].text == "two: 2" else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT 3").scalar() == 3
    engine.dispose()


def test_many_threads_may_ask_at_once(sqlite_url):
    strategy = SQL(sqlite_url)
    found = []

    def ask(number):
        found.append(retrieve(f"SELECT {number} AS n", strategy)[0].text)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [f"n: {number}" for number in range(8)]


def test_importing_leafspan_loads_neither_sqlalchemy_nor_sqlglot():
    code = "import sys\nfrom leafspan import *\nprint([name for name in ('sqlalchemy', 'sqlglot', 'pandas') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("module", "extra"), [("sqlalchemy", "sql"), ("sqlglot", "sql"), ("pandas", "pandas")])
def test_a_missing_extra_names_the_command(monkeypatch, sqlite_url, module, extra):
    strategy = SQL(sqlite_url)
    for name in list(sys.modules):
        if name == module or name.startswith(f"{module}."):
            monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, module, None)
    _language.language.cache_clear()
    with pytest.raises(MissingExtra) as caught:
        strategy.retrieve_frame("SELECT 1") if module == "pandas" else SQL(sqlite_url)
    _language.language.cache_clear()
    assert f'pip install ".[{extra}]" in the clone of leafspan' in str(caught.value)


@pytest.mark.parametrize(
    "name", ["mysql+pymysql", "mariadb", "oracle", "mssql+pyodbc", "cockroachdb", "redshift", "duckdb"]
)
def test_databases_whose_queries_are_not_checked_are_refused_before_anything_is_asked(name):
    with pytest.raises(InvalidArgument, match=r"database must be (SQLite or PostgreSQL|a URL that SQLAlchemy knows)"):
        SQL(f"{name}://me:secret@host/db")


def test_a_missing_driver_names_its_package():
    with pytest.raises(MissingExtra, match="the driver of the database is not installed: pip install pg8000"):
        SQL("postgresql+pg8000://me@host/db")


def reads(text):
    return _language.language("sqlite").reads(text)


@pytest.mark.parametrize(
    ("answer", "sql"),
    [
        ("SELECT 1", "SELECT 1"),
        ("```sql\nSELECT 1\n```", "SELECT 1"),
        ("Sure:\n```sql\nSELECT 1;\n```\nThis gives one.", "SELECT 1;"),
        ("```\nWITH a AS (SELECT 1) SELECT * FROM a\n```", "WITH a AS (SELECT 1) SELECT * FROM a"),
        ("```sql\nSELECT 1\n```\nor better\n```sql\nSELECT 2\n```", "SELECT 2"),
        ("```sql\n-- count\nSELECT 1\n```", "-- count\nSELECT 1"),
        ("```sql\nSELECT 1", "SELECT 1"),
        ("```sql\r\nSELECT 1\r\n```\r\n", "SELECT 1"),
        ("```sql SELECT 1```", "SELECT 1"),
        ("~~~sql\nSELECT 1\n~~~", "SELECT 1"),
        ('{"sql": "SELECT 1", "explanation": "It counts."}', "SELECT 1"),
        ('```json\n{"query": "SELECT 1"}\n```', "SELECT 1"),
        ('{"sql": "SELECT 1; DROP TABLE items"}', "SELECT 1; DROP TABLE items"),
        ('{"first": "SELECT 1", "second": "SELECT 2"}', None),
        ('{"sql": ["SELECT 1"]}', None),
        ('{"sql": "SELECT 1"', None),
        ("SQLQuery: SELECT 1", "SELECT 1"),
        ("The query is:\nSELECT 1;\nIt counts.", "SELECT 1"),
        ("SELECT 1\n\nThis query counts the customers.", "SELECT 1"),
        ("Use `SELECT 1` for that.", "SELECT 1"),
        ("SELECT ';' AS a", "SELECT ';' AS a"),
        # lines of prose
        ("SELECT 1\nSQLResult: 1\nAnswer: There is one.", "SELECT 1"),
        ("SELECT 1\nSQLResult:", "SELECT 1"),
        ("SQLQuery: SELECT 1\nSQLResult: [(1,)]\nAnswer: one", "SELECT 1"),
        ("SELECT 1;\nSQL Result: 1", "SELECT 1;"),
        ("SELECT 1\r\nAnswer: one", "SELECT 1"),
        ("SELECT 1\n**Explanation:** it counts.", "SELECT 1"),
        ("SELECT 1\nThis query counts the customers.", "SELECT 1"),
        ("SELECT a\nFROM t\nNote that only Zoë's are counted.", "SELECT a\nFROM t"),
        ("SELECT a\nFROM t\nErklärung: alle", "SELECT a\nFROM t"),
        ("SELECT 1\n```", "SELECT 1"),
        ("SELECT 1\n```\nIt counts.", "SELECT 1"),
        ("```sql\nSELECT 1\nSQLResult: 1\n```", "SELECT 1"),
        ("SELECT 'a\nAnswer: b' AS c\nAnswer: d", "SELECT 'a\nAnswer: b' AS c"),
        ("SELECT 1 -- one\nSQLResult: 1", "SELECT 1 -- one"),
        ("SELECT 1\nAnswer: one\n\nQuestion: And two?\nSQLQuery: SELECT 2", "SELECT 1"),
        # what is SQL, and wrong or another statement, stays
        *[
            (sql, sql)
            for sql in (
                "SELECT a FROM t\nWHERE b = = 1",
                "SELECT a FROM t\nWhere City Is = 1",
                "SELECT a FROM t\nWHERE: b = 1 AND",
                "SELECT a FROM t\nu WHERE b = = 1",
                "SELECT a FROM t\nInner Join u ON = 1",
                "SELECT a FROM t AS\nTheir LEFT JOIN u ON = 1",
                "SELECT a FROM t\nDROP TABLE t",
                "SELECT a FROM t\nSQLResult: 1; DROP TABLE t",
                "SELECT a FROM t\nThis drops it; DELETE FROM t",
            )
        ],
        ("SELECT 1; DROP TABLE items", "SELECT 1; DROP TABLE items"),
        ("SELECT 1;\n\nDELETE FROM items", "SELECT 1;\n\nDELETE FROM items"),
        ("I do not know.", None),
        ("Please select a table first.", None),
        ("```python\nprint(1)\n```", None),
        ("", None),
    ],
)
def test_sql_is_found_in_what_a_model_says(answer, sql):
    assert find_sql(answer, reads) == sql


@pytest.mark.parametrize(
    "endless", ["SELECT 1;\n", "SELECT 1\n\n", "SELECT ", "WITH a AS (", "```sql\nSELECT 1\n```\n", "("]
)
def test_an_endless_answer_is_searched_in_a_moment(endless: str):
    answer = without_reasoning(endless * (10_000_000 // len(endless)))
    before = time.process_time()
    find_sql(answer, reads)
    assert time.process_time() - before < 20  # it took minutes, since each end of a query was tried

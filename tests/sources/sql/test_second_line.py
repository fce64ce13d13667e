"""If the guard lets something through, the connection itself cannot write, and SQLite's cannot read what is hidden."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import suppress

import pytest
import sqlalchemy

from leafspan import LeafspanError
from leafspan.errors import RefusedQuery
from leafspan.sources.sql._allowed import Allowed
from leafspan.sources.sql._database import Database
from leafspan.sources.sql._guard import Checked
from leafspan.sources.sql._sqlite import restrict
from leafspan.sources.sql._timeout import Deadline
from tests.sources.sql.attacks import ALLOWED, ATTACKS, HIDDEN
from tests.sources.sql.shop import CANARY

TABLES = ("customers", "products", "orders", "items", "secrets", "other.customers")


def name_of(attack):
    return attack.name


@pytest.fixture
def restricted(tmp_path, shop_file):
    """A connection that could write, were it not restricted; and the file."""
    path = shutil.copy(shop_file, tmp_path / "shop.db")
    connection = sqlite3.connect(path)
    restrict(connection, Deadline.after(1), Allowed.of(ALLOWED, "sqlite"), (), ())
    yield connection, path
    connection.close()


def contents(path):
    with sqlite3.connect(path) as connection:
        dump = list(connection.iterdump())
    connection.close()
    return dump


def rows_of(connection, sql):
    """What comes out, with the guard switched off."""
    try:
        return connection.execute(sql).fetchmany(100)
    except (sqlite3.Error, sqlite3.Warning, ValueError):
        return []


@pytest.mark.parametrize("attack", [each for each in (*ATTACKS, *HIDDEN) if each.dialect == "sqlite"], ids=name_of)
def test_sqlite_changes_nothing_and_shows_nothing_hidden_without_the_guard(restricted, attack):
    connection, path = restricted
    before = contents(path)
    rows = rows_of(connection, attack.sql)
    connection.commit()
    assert contents(path) == before
    assert CANARY not in repr(rows)


def test_sqlite_opens_files_for_reading_only(sqlite_url):
    database = Database.of(sqlite_url, 5)
    with database._engine.connect() as connection, pytest.raises(sqlalchemy.exc.OperationalError, match="readonly"):
        connection.exec_driver_sql("DELETE FROM items")


@pytest.fixture(scope="module")
def server(postgres_session):
    """The server's tables can be seen by a connection of its own; the attacker is a superuser."""
    engine = sqlalchemy.create_engine(postgres_session, isolation_level="AUTOCOMMIT", poolclass=sqlalchemy.StaticPool)
    yield Database.of(postgres_session, 5), engine
    engine.dispose()


def state(engine):
    with engine.connect() as connection:
        tables = [connection.exec_driver_sql(f"SELECT * FROM {name} ORDER BY 1").all() for name in TABLES]
        catalogs = ("pg_class", "pg_proc", "pg_largeobject_metadata")
        counts = f"SELECT {', '.join(f'(SELECT count(*) FROM {name})' for name in catalogs)}"
        sequence = "SELECT last_value, is_called FROM numbers"
        return tables, connection.exec_driver_sql(counts).all(), connection.exec_driver_sql(sequence).all()


@pytest.mark.parametrize("attack", [each for each in ATTACKS if each.dialect == "postgres"], ids=name_of)
def test_postgres_changes_nothing_without_the_guard(server, attack):
    database, engine = server
    before = state(engine)
    with suppress(LeafspanError):
        database.run(Checked(attack.sql, None), 10, Deadline.after(0.3), None)
    assert state(engine) == before


@pytest.mark.parametrize(
    "sql",
    [
        "COMMIT; DROP TABLE items",
        "SELECT 1; COMMIT; DELETE FROM items",
        "SELECT set_config('transaction_read_only', 'off', false)",
        "SELECT nextval('numbers')",
        "WITH x AS (DELETE FROM items RETURNING *) SELECT * FROM x",
        "SELECT * INTO evil FROM items",
    ],
)
def test_postgres_refuses_to_leave_the_read_only_transaction(server, sql):
    database, engine = server
    before = state(engine)
    with pytest.raises(
        LeafspanError, match=r"read-only|cannot insert multiple|syntax|must not contain|INTO|read-write mode"
    ):
        database.run(Checked(sql, None), 10, Deadline.after(5), None)
    assert state(engine) == before


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELECT * FROM secrets", "secrets"),
        ("SELECT password FROM customers", "customers.password"),
        ("SELECT COUNT(*) FROM secrets", "secrets"),
        ("SELECT * FROM all_secrets", "secrets"),
        ("WITH word_count AS (SELECT * FROM secrets) SELECT * FROM word_count", "secrets"),
        ("SELECT sql FROM sqlite_master", "sqlite_master"),
        ("SELECT load_extension('x')", "load_extension"),
    ],
)
def test_sqlite_names_what_it_does_not_allow(sqlite_url, sql, says):
    database = Database.of(sqlite_url, 5)
    with pytest.raises(RefusedQuery, match=says):
        database.run(Checked(sql, None), 10, Deadline.after(5), Allowed.of(ALLOWED, "sqlite"))


def test_a_view_that_is_allowed_reads_what_it_reads(sqlite_url):
    database = Database.of(sqlite_url, 5)
    checked = Checked("SELECT words FROM word_count", None)
    assert database.run(checked, 10, Deadline.after(5), Allowed.of(ALLOWED, "sqlite")).rows == ((1,),)

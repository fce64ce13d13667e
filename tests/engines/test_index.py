"""An index over an engine other than Chroma finds the same, through both hosts, and reports the engine's errors."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import chromadb
import pytest
from chromadb.config import Settings
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.runnables import RunnableLambda
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from qdrant_client import QdrantClient

import langchain_ext
import llamaindex_ext
from leafspan import (
    BM25,
    AutoMerging,
    Browse,
    DamagedIndex,
    Document,
    F,
    Hybrid,
    Index,
    IndexNotFound,
    InvalidArgument,
    ParentDocument,
    RelevantSegments,
    SentenceWindow,
    Tree,
    Vector,
)
from leafspan.engines import Record
from leafspan.errors import IndexMismatch, ServerTimeout, StorageFailed, StorageReadOnly
from tests.corpus import DOCUMENTS, SPLITTER
from tests.durability.versions import EMBEDDER
from tests.engines.page import page
from tests.engines.remote import RemoteEngine
from tests.engines.test_laws import Asynchronous
from tests.profiles import examples

QUESTION = "When did the old pier burn down, and who decoded the dance of the bees?"
STRATEGIES = [
    Vector(),
    BM25(),
    Hybrid(),
    SentenceWindow(),
    AutoMerging(),
    ParentDocument(),
    RelevantSegments(),
    Tree(),
    Browse(),
]
OPTIONS: dict[str, Any] = {"embedder": EMBEDDER, "embedding_cache": False, "splitter": SPLITTER}


@pytest.fixture
def engine() -> Any:
    return page()["MemoryEngine"]()


def found(index: Index, strategy: Any, **options: Any) -> list[tuple[str, float, str]]:
    return [(each.id, round(each.score, 5), each.text) for each in index.retrieve(QUESTION, strategy, k=8, **options)]


def test_every_strategy_finds_what_it_finds_in_chroma(engine: Any):
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    indexes = [
        Index.open(client=engine, name="same-in-an-engine", **OPTIONS),
        Index.open(client=client, name="same-in-an-engine", **OPTIONS),
    ]
    for index in indexes:
        index.add(DOCUMENTS)
        index.build_tree()
    for where in (None, F("doc_id") != DOCUMENTS[0].id):
        for strategy in STRATEGIES:
            ours, theirs = (found(index, strategy, where=where) for index in indexes)
            assert ours == theirs, strategy
            assert ours


OPENED: dict[str, Callable[[], Any]] = {
    "chroma": lambda: chromadb.EphemeralClient(Settings(anonymized_telemetry=False)),
    "qdrant": lambda: QdrantClient(":memory:"),
    "an engine": page()["MemoryEngine"],
}
PARALLEL = {
    "en": "The doctor drove her automobile to the harbour of Hamburg. The physician repaired the engine of the car there.",
    "de": "Die Ärztin fuhr mit dem Automobil zum Hafen von Hamburg. Dort reparierte sie den Motor, den der Doctor kaufte.",
    "fr": "Le docteur conduisit son automobile au port de Hambourg. Là-bas, elle répara le moteur de la voiture du doctor.",
    "ru": "Врач поехала на автомобиле в порт Гамбурга. Там она отремонтировала двигатель, doctor car engine.",
}


@st.composite
def mixed(draw: st.DrawFn) -> list[Document]:
    """Documents in several languages, some of them marked with another language than their own."""
    drawn = draw(
        st.lists(st.tuples(st.sampled_from([*PARALLEL]), st.sampled_from([None, *PARALLEL, "tl"])), min_size=2, max_size=5)
    )
    return [
        Document(f"{number}-{language}", PARALLEL[language], metadata={} if marked is None else {"language": marked})
        for number, (language, marked) in enumerate(drawn)
    ]


@pytest.mark.parametrize("kind", OPENED)
@examples(40, fast=2)
@given(
    mixed(), st.sampled_from(["Where did the medic bring her vehicle?", "Wohin fuhr der doctor mit dem Auto?", "motor car"])
)
def test_documents_in_several_languages_have_the_same_scores_in_a_folder_and_behind_a_client(
    kind: str, documents: list[Document], question: str
):
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        indexes = [
            Index.open(folder, **OPTIONS),
            Index.open(client=OPENED[kind](), name=f"kb-{uuid4().hex[:8]}", **OPTIONS),
        ]
        for index in indexes:
            opened.enter_context(index).add(documents)
        for strategy in (Hybrid(), BM25(), RelevantSegments()):
            ours, theirs = (
                [(each.id, round(each.score, 6)) for each in index.retrieve(question, strategy, k=9)] for index in indexes
            )
            assert ours == theirs, strategy


def test_documents_are_replaced_deleted_synced_and_checked(engine: Any):
    index = Index.open(client=engine, **OPTIONS)
    added = index.add([Document("a", "Bees dance."), Document("b", "Tea is hot.")])
    assert added.added == ("a", "b")
    assert index.add([Document("a", "Bees dance."), Document("b", "Tea is cold.")]).replaced == ("b",)
    assert Index.open(client=engine, **OPTIONS).get("b").text == "Tea is cold."
    assert sorted(index.sync([Document("a", "Bees dance.")], within="everything").deleted) == ["b"]
    assert [each.id for each in index.documents()] == ["a"]
    assert index.check() == []
    engine.table("kb.leaves").delete([index.leaves("a")[0].id])
    with pytest.raises(DamagedIndex, match="'a'"):
        index.leaves("a")
    assert [each.document_id for each in index.check()] == ["a"]
    assert index.repair()
    assert index.add(Document("a", "Bees dance.")).replaced == ("a",)
    assert index.repair() == []


def test_scoped_views_are_kept_apart(engine: Any):
    index = Index.open(client=engine, **OPTIONS)
    for tenant in ("one", "two"):
        index.scoped(F("tenant") == tenant).add(Document("plan", f"The plan of {tenant}."))
    one = index.scoped(F("tenant") == "one")
    assert [each.text for each in one.retrieve("plan", Vector())] == ["The plan of one."]
    assert one.delete(["plan"]) == ["plan"]
    assert index.scoped(F("tenant") == "two").get("plan").text == "The plan of two."


def test_it_serves_a_chain_and_a_query_engine(engine: Any):
    index = Index.open(client=engine, **OPTIONS)
    index.add(DOCUMENTS)
    chain = langchain_ext.HybridRetriever(index=index, k=3) | RunnableLambda(lambda documents: documents[0].page_content)
    assert chain.invoke("Who decoded the dance?")
    asked = RetrieverQueryEngine.from_args(llamaindex_ext.HybridRetriever(index, similarity_top_k=3), llm=MockLLM())
    assert asked.query("Who decoded the dance?").source_nodes


def test_an_asynchronous_engine_is_opened_and_asked_asynchronously(engine: Any):
    other = Asynchronous(engine)
    with pytest.raises(InvalidArgument, match=r"await Index\.aopen"):
        Index.open(client=other)

    async def ask() -> list[str]:
        index = await Index.aopen(client=other, **OPTIONS)
        await index.aadd([Document("a", "Bees dance."), Document("b", "Tea is hot.")])
        return [each.id for each in await index.aretrieve("bees", Hybrid(), k=1)]

    [id_] = asyncio.run(ask())
    assert id_.startswith("a#")


def test_an_index_that_is_not_there_is_said_to_be_missing_and_which_there_are(engine: Any):
    Index.open(client=engine, name="notes", **OPTIONS)
    with pytest.raises(IndexNotFound, match=r"there is no index 'note' in memory; there is 'notes'"):
        Index.open(client=engine, name="note", create=False)


def test_a_table_of_somebody_else_is_left_alone(engine: Any):
    engine.create("kb.manifest", {}, searched=False).put([Record("a", "theirs")])
    with pytest.raises(IndexMismatch, match=r"the table 'kb\.manifest' was not made by leafspan"):
        Index.open(client=engine)
    assert [each.text for each in engine.table("kb.manifest").scan(["text"])] == ["theirs"]


@pytest.mark.parametrize("thing", [5, "http://localhost", object(), {"tables": 1}, page()["MemoryEngine"]])
def test_what_is_no_engine_is_refused(thing: Any):
    with pytest.raises(InvalidArgument, match="client must be a client of chromadb, a pool of psycopg_pool"):
        Index.open(client=thing)


@pytest.mark.parametrize("batch", [0, -1, 2.5, "many", None])
def test_a_batch_that_is_no_number_of_records_is_refused(engine: Any, batch: Any):
    engine.batch = batch
    with pytest.raises(InvalidArgument, match="batch must be a whole number"):
        Index.open(client=engine)
    assert engine.tables() == {}


class Failing:
    """An engine whose tables fail after it is opened."""

    def __init__(self, engine: Any, error: Exception | None = None, seconds: float = 0.0) -> None:
        self._engine, self._error, self._seconds, self.fails = engine, error, seconds, False

    place, batch, is_local = "the store at db.example.com", 100, False

    def tables(self) -> Any:
        return self._engine.tables()

    def table(self, name: str) -> Any:
        found = self._engine.table(name)
        return None if found is None else FailingTable(found, self)

    def create(self, name: str, notes: Any, *, searched: bool) -> Any:
        return FailingTable(self._engine.create(name, notes, searched=searched), self)

    def before(self) -> None:
        if self.fails:
            time.sleep(self._seconds)
            if self._error is not None:
                raise self._error


class FailingTable:
    def __init__(self, table: Any, engine: Failing) -> None:
        self._table, self._engine = table, engine

    def __getattr__(self, name: str) -> Any:
        thing = getattr(self._table, name)
        if not callable(thing):
            return thing

        def called(*given: Any) -> Any:
            self._engine.before()
            return thing(*given)

        return called


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RuntimeError("connection lost"), StorageFailed),
        (KeyError("row"), StorageFailed),
        (OSError(28, "No space left on device"), StorageFailed),
        (TimeoutError("slow"), ServerTimeout),
        (StorageReadOnly("the role may only read: ask for another one"), StorageReadOnly),
    ],
)
def test_what_an_engine_raises_becomes_an_error_that_says_where(engine: Any, tmp_path: Any, error: Any, expected: Any):
    failing = Failing(engine, error)
    index = Index.open(client=failing, cache_dir=tmp_path, **OPTIONS)
    index.add(Document("a", "Bees dance."))
    failing.fails = True
    with pytest.raises(expected) as caught:
        index.add(Document("b", "Tea is hot."))
    assert isinstance(error, StorageReadOnly) or "the store at db.example.com" in str(caught.value)
    failing.fails = False
    assert index.add(Document("b", "Tea is hot.")).added == ("b",)
    assert index.repair() == []


def test_an_engine_that_does_not_answer_is_waited_for_no_longer_than_the_timeout(engine: Any, tmp_path: Any):
    failing = Failing(engine, seconds=3.0)
    index = Index.open(client=failing, cache_dir=tmp_path, timeout=1.0, **OPTIONS)
    index.add(Document("a", "Bees dance."))
    failing.fails = True
    began = time.monotonic()
    with pytest.raises(ServerTimeout, match=r"the store at db\.example\.com: it has not answered within the timeout of 1"):
        index.retrieve("bees", Vector())
    assert time.monotonic() - began < 2.5


def test_what_is_derived_is_kept_in_files_unless_the_engine_ends_with_the_process(engine: Any, tmp_path: Any):
    stays = Failing(engine)
    index = Index.open(client=stays, cache_dir=tmp_path, **OPTIONS)
    index.add(DOCUMENTS)
    index.retrieve("bees", BM25())
    assert list(tmp_path.rglob("*"))
    assert Index.open(client=engine, name="other", **OPTIONS)._store.cache_folder is None


def test_an_answer_that_is_no_record_is_an_error_that_says_so(engine: Any):
    index = Index.open(client=engine, **OPTIONS)
    index.add(Document("a", "Bees dance."))
    table = engine.table("kb.leaves")
    for answer in ([("a", "text")], None, [5], {"a": 1}):
        table.get = lambda ids, fields, answer=answer: answer
        with pytest.raises(StorageFailed, match=r"an engine gives Records"):
            index.leaves("a")


def test_within_a_freshness_no_question_asks_whether_the_index_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What others have written is seen after that, and what is missing, or was written here, at once."""
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    engine = RemoteEngine()
    kept = {"client": engine, "embedder": EMBEDDER, "embedding_cache": False, "splitter": SPLITTER}
    with (
        Index.open(**kept, cache_dir=tmp_path / "writer") as writer,
        Index.open(**kept, cache_dir=tmp_path / "reader", freshness=5) as reader,
    ):
        writer.add(DOCUMENTS)
        found = [reader.retrieve(QUESTION, each) for each in (BM25(), Hybrid())]
        with engine.counting() as read:
            assert [reader.retrieve(QUESTION, each) for each in (BM25(), Hybrid())] == found
            assert read["kb.manifest"] == 0
        writer.add(Document("new", f"{QUESTION} It is new."))
        assert "new" not in {each.document_id for each in reader.retrieve(QUESTION, BM25())}
        now += 5.1
        assert "new" in {each.document_id for each in reader.retrieve(QUESTION, BM25())}
        writer.delete(["new"])
        assert "new" not in {each.document_id for each in reader.retrieve(QUESTION, Hybrid())}
        reader.add(Document("mine", f"{QUESTION} It is mine."))
        assert "mine" in {each.document_id for each in reader.retrieve(QUESTION, BM25())}
    with pytest.raises(InvalidArgument, match="freshness must be"):
        Index.open(**kept, freshness=-1)

"""After ``warm`` the first query loads and builds nothing."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import chromadb
import pytest
from chromadb.config import Settings

from leafspan import Document, F, Index, Tree
from leafspan.errors import IndexMismatch
from leafspan.segments import Mirror, VectorCopy, WordPostings
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER
from tests.embedding.test_embedding import as_function

pytestmark = pytest.mark.usefixtures("nothing_is_taken")


@pytest.fixture
def index(index: Index) -> Index:
    """An index whose words and vectors were not read yet."""
    shutil.rmtree(index._store.cache_folder)
    return index


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Counter:
    """Counts what segments read of the store, by their names."""
    counted: Counter = Counter()
    original = Mirror._read

    def counting(self, reader, rows):
        if isinstance(self._recipe, WordPostings | VectorCopy):
            counted[self._recipe.task] += 1
        return original(self, reader, rows)

    monkeypatch.setattr(Mirror, "_read", counting)
    return counted


def ask(index: Index) -> list:
    return [index.retrieve_many(QUESTIONS), index.retrieve_many(QUESTIONS, where=F("topic") == "animals")]


def test_the_first_query_builds_nothing(index: Index, built):
    index.warm()
    assert built == {"Indexing words": 1, "Copying vectors": 1}
    built.clear()
    ask(index)
    assert built == {}


def test_the_first_query_reads_of_chroma_what_any_other_reads(index: Index, calls):
    index.warm()
    calls.clear()
    first = index.retrieve(QUESTIONS[0])
    of_first = +calls
    calls.clear()
    assert index.retrieve(QUESTIONS[0]) == first
    assert of_first == +calls


def test_answers_are_the_same_with_it_and_without(tmp_path: Path):
    answers = []
    for name, warmed in (("a", True), ("b", False)):
        with Index.open(tmp_path / name, splitter=SPLITTER) as index:
            index.add(DOCUMENTS)
            if warmed:
                index.warm()
            answers.append(ask(index))
    assert answers[0] == answers[1]


def test_a_second_time_it_does_nothing(index: Index, built, calls):
    index.warm()
    built.clear()
    calls.clear()
    index.warm()
    assert built == {}
    assert +calls == {}


def test_trees_are_loaded_too(index: Index, built):
    index.build_tree()
    built.clear()
    index.warm()
    assert built == {"Indexing words": 2, "Copying vectors": 2}
    built.clear()
    assert index.retrieve(QUESTIONS[0], Tree())
    assert built == {}


def test_it_follows_what_was_added(index: Index, built):
    index.warm()
    index.add(Document("new", "Something new."))
    built.clear()
    index.warm()
    assert built == {"Indexing words": 1, "Copying vectors": 1}


def test_an_empty_index_loads_its_embedder_and_nothing_else(tmp_path: Path):
    embedded: list[str] = []

    def embed(texts):
        embedded.extend(texts)
        return as_function(texts)

    with Index.open(tmp_path, embedder=embed) as index:
        index.warm()
        assert len(embedded) == 1
        assert index.count() == 0
        assert index.stats().embedder is None
        index.add(Document("a", "One."))  # is not bound to anything by it
        assert index.retrieve("One.")[0].document_id == "a"


def test_another_embedder_is_noticed_when_the_server_starts(index: Index):
    with (
        Index.open(index._store._folder.path, embedder=as_function) as other,
        pytest.raises(IndexMismatch, match="the index was made with the embedder WordLlama"),
    ):
        other.warm()


def test_an_analyzer_that_was_not_given_again_is_no_obstacle(tmp_path: Path):
    def words(text: str) -> list[str]:
        return text.split()

    with Index.open(tmp_path, analyzer=words) as index:
        index.add(DOCUMENTS)
    with Index.open(tmp_path) as index:
        index.warm()


def test_an_index_in_memory_can_be_warmed():
    index = Index.open(client=chromadb.EphemeralClient(Settings(anonymized_telemetry=False)), name="warmed")
    index.warm()
    index.add(DOCUMENTS)
    index.warm()
    assert index.retrieve(QUESTIONS[0])


async def test_asyncio_does_the_same(index: Index, built):
    await index.awarm()
    assert built == {"Indexing words": 1, "Copying vectors": 1}
    built.clear()
    await index.aretrieve_many(QUESTIONS)
    assert built == {}


async def test_a_server_is_warmed_by_its_asynchronous_client(chroma_server, built):
    client = await chromadb.AsyncHttpClient(*chroma_server)
    index = await Index.aopen(client=client, name="warmed")
    await index.aadd(DOCUMENTS)
    await index.awarm()
    assert built == {}  # the writer has stored the words, and vectors stay on the server
    assert await index.aretrieve(QUESTIONS[0])
    assert built == {}


def test_the_copies_of_many_leaves_show_a_bar(index: Index, monkeypatch, capsys):
    monkeypatch.setattr("leafspan.segments._mirror._MIN_FOR_PROGRESS", 1)
    monkeypatch.setattr("leafspan.flows._progress._TICK", 0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    index.warm()
    assert "Indexing words: 100%" in capsys.readouterr().err

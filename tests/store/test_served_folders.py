"""A served index that was made in a folder: its clients read the manifest once, and again after each change."""

from __future__ import annotations

import sqlite3

import chromadb
import pytest
from chromadb.config import Settings

from leafspan import BM25, Document, F, Index
from leafspan.engines.chroma import _collection
from tests.durability.versions import EMBEDDER, SPLITTER
from tests.server import running_server

OPTIONS = {"name": "served", "embedder": EMBEDDER, "splitter": SPLITTER}


@pytest.fixture
def scans(monkeypatch):
    """The names of collections that were read as a whole."""
    made = []
    scan = _collection.Collection.scan

    def counted(self, include):
        made.append(self.name)
        return scan(self, include)

    monkeypatch.setattr(_collection.Collection, "scan", counted)
    return made


def test_a_question_does_not_read_the_manifest_again(tmp_path, scans):
    with Index.open(tmp_path, **OPTIONS) as index:
        index.add([Document(f"d{number}", f"Tea number {number}.", metadata={"n": number}) for number in range(5)])
    with running_server(tmp_path) as (host, port):
        client = chromadb.HttpClient(host, port, settings=Settings(anonymized_telemetry=False))
        with Index.open(client=client, **OPTIONS) as served:
            scans.clear()
            for number in range(4):
                assert served.retrieve("tea", BM25(), k=5)
                assert len(served.retrieve("tea", where=F("n") == number)) == 1
            assert scans == ["served.manifest"]
            served.delete(["d0"])
            assert len(served.retrieve("tea", BM25(), k=5)) == 4


def token(folder):
    with sqlite3.connect(folder / "chroma.sqlite3") as database:
        rows = database.execute("select string_value from embedding_metadata where key = 'token'").fetchall()
    return rows


def test_each_change_in_the_folder_gives_another_token(tmp_path):
    seen = []
    changes = [
        lambda index: index.add(Document("a", "One.")),
        lambda index: index.add([Document("a", "Two."), Document("b", "Three.")]),
        lambda index: index.scoped(F("tenant") == "x").add(Document("a", "Four.")),
        lambda index: index.delete(["a"]),
        lambda index: index.sync([], within=F("tenant") == "x", allow_empty=True),
    ]
    for change in changes:
        with Index.open(tmp_path, **OPTIONS) as index:
            change(index)
        seen += token(tmp_path)
    assert len(set(seen)) == len(changes)
    assert not any(each.startswith("writing:") for (each,) in seen)  # nobody who reads it expects more


def test_what_changes_nothing_leaves_the_token(tmp_path):
    with Index.open(tmp_path, **OPTIONS) as index:
        index.add(Document("a", "One."))
    before = token(tmp_path)
    with Index.open(tmp_path, **OPTIONS) as index:
        index.add(Document("a", "One."))
        index.delete(["nobody"])
        assert index.repair(verify=True) == []
        assert [each.id for each in index.documents()] == ["a"]
    assert token(tmp_path) == before

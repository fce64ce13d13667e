"""Facts about vector files in Chroma's database."""

from __future__ import annotations

import gc
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import chromadb
import pytest

from leafspan import DamagedIndex, Document, Index, StorageFailed
from leafspan.engines.chroma import _files
from leafspan.engines.chroma._database_facts import check_pages, count_missing, stored_vectors
from tests import warm


def test_the_collections_of_an_index_are_told_from_others(tmp_path: Path):
    client = chromadb.PersistentClient(tmp_path, settings=chromadb.Settings(anonymized_telemetry=False))
    for name in ("notes", "notes.manifest"):  # called like one of an index, but without its settings
        client.create_collection(name, embedding_function=None).add(ids=["a"], embeddings=[[1.0, 0.0]])
    client.close()
    with Index.open(tmp_path) as index:
        index.add(Document("a", "Text."))
    gc.collect()
    found = stored_vectors(tmp_path)
    assert {each.collection: each.own for each in found.values()} == {
        "kb.leaves": True,
        "kb.manifest": True,
        "notes": False,
        "notes.manifest": False,
    }
    assert check_pages(tmp_path) is None


def test_a_database_without_chromas_tables_is_damaged(tmp_path: Path):
    with closing(sqlite3.connect(tmp_path / "chroma.sqlite3")) as database:
        database.execute("create table something (else_ text)")
    with pytest.raises(
        DamagedIndex, match=r"cannot be read as Chroma's database \(no such table: segments\): put the whole"
    ):
        stored_vectors(tmp_path)


def test_a_database_that_cannot_be_opened_now_says_nothing(tmp_path: Path):
    (tmp_path / "chroma.sqlite3").mkdir()
    assert stored_vectors(tmp_path) is None
    assert check_pages(tmp_path) is None


KILLED_WITHIN_A_WRITE = """
import os, sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.execute("pragma cache_size = 1")
database.execute("create table filling as select hex(randomblob(1000)) as text from embedding_metadata, embedding_metadata")
database.execute("begin immediate")
database.execute("update filling set text = hex(randomblob(1000))")
os._exit(0)
"""


def test_what_a_killed_writer_has_begun_is_undone_to_read_the_database(tmp_path: Path):
    with Index.open(tmp_path) as index:
        index.add([Document(str(number), "Text.") for number in range(20)])
    gc.collect()
    database = tmp_path / "chroma.sqlite3"
    warm.run([sys.executable, "-c", KILLED_WITHIN_A_WRITE, str(database)], check=True)
    assert (tmp_path / "chroma.sqlite3-journal").stat().st_size > 0
    with database.open("rb"), database.open("rb"):  # as if Chroma had it open here
        [folder] = [name for name, each in (stored_vectors(tmp_path) or {}).items() if each.collection == "kb.leaves"]
        assert count_missing(tmp_path, folder, ()) == 0


def test_vectors_are_not_called_lost_while_the_database_cannot_be_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with Index.open(tmp_path) as index:
        index.add(Document("a", "Text."))
    gc.collect()
    stored = {
        name: replace(each, last=1) if each.own else each for name, each in (stored_vectors(tmp_path) or {}).items()
    }  # as if all had been written into files, which are not there
    monkeypatch.setattr(_files, "stored_vectors", lambda folder: stored)
    monkeypatch.setattr(_files, "count_missing", lambda *_: None)
    with Index.open(tmp_path) as index, pytest.raises(StorageFailed, match="another program holds the database; try again"):
        index.add(Document("b", "More text."))
    monkeypatch.undo()
    with Index.open(tmp_path) as index:
        index.add(Document("b", "More text."))
        assert {each.id for each in index.documents()} == {"a", "b"}

"""Facts about vector files in Chroma's database."""

from __future__ import annotations

import gc
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import chromadb
import pytest

from leafspan import DamagedIndex, Document, Index, StorageFailed
from leafspan.engines.chroma import _files
from leafspan.engines.chroma._database import check_pages, stored_vectors
from leafspan.engines.chroma._vector_files import IDS
from tests import warm


def test_the_collections_of_an_index_are_distinguished_from_others(tmp_path: Path):
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
        assert "kb.leaves" in {each.collection for each in (stored_vectors(tmp_path) or {}).values()}


def test_files_are_not_deleted_while_nobody_can_tell_whose_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with Index.open(tmp_path) as index:
        index.add(Document("a", "Text."))
    gc.collect()
    place = tmp_path / "5b812d44-fd14-4a84-8ee9-793b4e6fcfad"
    place.mkdir()
    (place / IDS).write_bytes(b"torn")
    monkeypatch.setattr(_files, "stored_vectors", lambda folder: None)
    with Index.open(tmp_path) as index, pytest.raises(StorageFailed, match="program holds the database: try again when"):
        index.add(Document("b", "More text."))
    assert (place / IDS).read_bytes() == b"torn"
    monkeypatch.undo()
    with Index.open(tmp_path) as index:
        index.add(Document("b", "More text."))
        assert {each.id for each in index.documents()} == {"a", "b"}
    assert (place / IDS).read_bytes() == b"torn"

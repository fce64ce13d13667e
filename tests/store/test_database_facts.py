"""What Chroma's database says of its vector files."""

from __future__ import annotations

import gc
import sqlite3
from contextlib import closing
from pathlib import Path

import chromadb
import pytest

from leafspan import DamagedIndex, Document, Index
from leafspan.store._database_facts import check_pages, stored_vectors


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

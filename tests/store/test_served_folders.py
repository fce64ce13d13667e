"""The folder of a Chroma server: its index is opened as a folder, too, and an index of a folder is copied to the server."""

from __future__ import annotations

from pathlib import Path

import chromadb
import pytest
from chromadb.config import Settings

from leafspan import BM25, DamagedIndex, Document, F, Index, Vector
from leafspan.engines.chroma import _collection
from tests.durability.versions import EMBEDDER, SPLITTER
from tests.server import running_server

OPTIONS = {"name": "served", "embedder": EMBEDDER, "splitter": SPLITTER}


def client_of(server: tuple[str, int]) -> chromadb.ClientAPI:
    return chromadb.HttpClient(*server, settings=Settings(anonymized_telemetry=False))


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


def test_an_index_of_a_server_is_opened_as_a_folder_and_served_again(tmp_path: Path, scans):
    with running_server(tmp_path) as server, Index.open(client=client_of(server), **OPTIONS) as index:
        index.add([Document(f"d{number}", f"Tea number {number}.", metadata={"n": number}) for number in range(5)])
    with Index.open(tmp_path, create=False, **OPTIONS) as index:
        assert index.repair() == []
        assert index.count() == 5
        index.add([Document("d1", "Coffee."), Document("new", "Tea.")])
        index.delete(["d0"])
        assert index.get("d1").text == "Coffee."
        assert [each.document_id for each in index.retrieve("coffee", BM25(), k=1)] == ["d1"]
    with Index.open(tmp_path, read_only=False, create=False, **OPTIONS) as index:
        assert sorted(each.id for each in index.documents()) == ["d1", "d2", "d3", "d4", "new"]
    assert not (tmp_path / "leafspan.sqlite3").exists()
    with running_server(tmp_path) as server, Index.open(client=client_of(server), create=False, **OPTIONS) as served:
        scans.clear()
        assert sorted(each.id for each in served.documents()) == ["d1", "d2", "d3", "d4", "new"]
        for number in range(2, 5):
            assert served.retrieve("tea", BM25(), k=5)
            assert len(served.retrieve("tea", where=F("n") == number)) == 1
        assert scans == ["served.manifest"]  # a question does not read the manifest again
        assert served.repair() == []


def test_an_index_of_a_folder_is_not_made_again_over_its_leaves_and_can_be_copied(tmp_path: Path):
    with Index.open(tmp_path / "kb", **OPTIONS) as index:
        index.add(Document("a", "One."))
    said = r"'served' has leaves, but no rows .*: if it was made in a folder, copy it"
    with running_server(tmp_path / "kb") as server, pytest.raises(DamagedIndex, match=said):
        Index.open(client=client_of(server), **OPTIONS)
    (tmp_path / "server").mkdir()
    with running_server(tmp_path / "server") as server, Index.open(tmp_path / "kb", **OPTIONS) as index:
        index.copy_to(client=client_of(server), name="served")
        with Index.open(client=client_of(server), create=False, **OPTIONS) as served:
            assert [each.text for each in served.retrieve("one", Vector())] == ["One."]


def test_an_index_whose_rows_are_lost_is_not_made_again_over_its_leaves(tmp_path: Path):
    with Index.open(tmp_path, **OPTIONS) as index:
        index.add(Document("a", "One."))
    (tmp_path / "leafspan.sqlite3").unlink()
    said = r"leafspan\.sqlite3' has no rows of the index 'served', but the index has leaves: put the whole folder back"
    with pytest.raises(DamagedIndex, match=said):
        Index.open(tmp_path, **OPTIONS)


def test_what_changes_nothing_writes_no_row(tmp_path: Path):
    with Index.open(tmp_path, **OPTIONS) as index:
        index.add(Document("a", "One."))
    before = (tmp_path / "leafspan.sqlite3").read_bytes()
    with Index.open(tmp_path, **OPTIONS) as index:
        index.add(Document("a", "One."))
        index.delete(["nobody"])
        assert index.repair(verify=True) == []
        assert [each.id for each in index.documents()] == ["a"]
    assert (tmp_path / "leafspan.sqlite3").read_bytes() == before

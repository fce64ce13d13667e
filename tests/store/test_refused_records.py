"""Records that Chroma's log accepts and its tables refuse: no document can produce one, and one that exists is dropped."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import chromadb
import pytest
from chromadb.config import Settings
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from leafspan import Chunk, Document, F, Files, Index, StorageFailed
from leafspan.documents import _accepting, _metadata
from leafspan.engines.local._change_file import ChangeFile
from leafspan.errors import InvalidDocument
from tests import warm
from tests.durability.versions import EMBEDDER, SPLITTER
from tests.profiles import examples, paired

SETTINGS = Settings(anonymized_telemetry=False)
TOO_MANY = {f"k{number}": number for number in range(6_000)}
FINE = Document("fine", "An ordinary document.", metadata={"kind": "note"})


@pytest.fixture(params=["folder", "client"])
def index(request, tmp_path):
    place = {"path": tmp_path / "kb"} if request.param == "folder" else {"client": chromadb.EphemeralClient(SETTINGS)}
    with Index.open(**place, name=tmp_path.name[:40], embedder=EMBEDDER, splitter=SPLITTER) as opened:
        yield opened


@pytest.fixture
def folder_index(tmp_path):
    with Index.open(tmp_path / "kb", embedder=EMBEDDER, splitter=SPLITTER) as opened:
        yield opened


def of_keys(count):
    return Document("d", "Text.", metadata={f"k{number}": number for number in range(count)})


HOSTILE = {
    "5,000 keys": of_keys(5_000),
    "5,001 keys": of_keys(5_001),
    "8,000 keys": of_keys(8_000),
    "a list of 5,000": Document("d", "Text.", metadata={"tags": [str(number) for number in range(5_000)]}),
    "a list of 6,000": Document("d", "Text.", metadata={"tags": [str(number) for number in range(6_000)]}),
    "lists of 6,000 together": Document("d", "Text.", metadata={f"l{each}": list(range(60)) for each in range(100)}),
    "keys and items of 6,000": Document("d", "Text.", metadata={**of_keys(3_000).metadata, "l": list(range(3_000))}),
    "keys of chunk and document": Document(
        "d", "Text.", metadata=of_keys(3_000).metadata, chunks=(Chunk(5, {f"c{number}": 1 for number in range(3_000)}),)
    ),
    "items of a chunk": Document("d", "Text.", chunks=(Chunk(5, {"l": list(range(6_000))}),)),
    "a long key": Document("d", "Text.", metadata={"k" * 100_000: 1}),
    "a very long key": Document("d", "Text.", metadata={"k" * 10_000_001: 1}),
    "a long value": Document("d", "Text.", metadata={"k": "v" * 1_000_000}),
    "a very long value": Document("d", "Text.", metadata={"k": "v" * 10_000_001}),
    "a long id": Document("d" * 100_000, "Text."),
    "a very long id": Document("d" * 100_001, "Text."),
    "a long title": Document("d", "Text.", title="t" * 1_000_000),
    "NUL": Document("d\0e", "Te\0xt.", title="\0", metadata={"a\0": "b\0", "\0": ["\0"]}),
    "a surrogate": Document("d", "Text.", metadata={"a": ["\ud800"]}),
    "NaN in a list": Document("d", "Text.", metadata={"a": [1.0, float("nan")]}),
    "infinity in a list": Document("d", "Text.", metadata={"a": [float("inf")]}),
    "infinity": Document("d", "Text.", metadata={"a": float("-inf")}),
    "64 bits": Document("d", "Text.", metadata={"a": 2**63 - 1, "b": -(2**63), "c": [2**63 - 1]}),
    "65 bits": Document("d", "Text.", metadata={"a": 2**63}),
    "65 bits in a list": Document("d", "Text.", metadata={"a": [-(2**63) - 1]}),
    "extreme floats": Document("d", "Text.", metadata={"a": 5e-324, "b": 1.7e308, "c": -0.0, "d": [5e-324]}),
    "noncharacters": Document("d", "\ufffe\U0010ffff", metadata={"\ufffe": "\U0010ffff"}),
}


@pytest.mark.parametrize(("name", "index"), paired(HOSTILE, ["folder", "client"]), indirect=["index"])
def test_what_is_accepted_is_stored_and_what_is_not_harms_nobody(index, name):
    document = HOSTILE[name]
    try:
        index.add([FINE, document])
    except InvalidDocument:
        assert index.documents() == []  # nothing was written
    else:
        assert index.get(document.id).metadata == document.metadata
    index.add(FINE)
    index.delete(["fine"])
    assert index.repair() == []


def test_the_rule_and_the_number_are_named(folder_index):
    with pytest.raises(InvalidDocument, match=r"'d' must have at most 5,000 values.*item of a list.*got 5,001; put"):
        folder_index.add(of_keys(5_001))


def test_what_the_filter_of_a_view_adds_fits_too(index):
    tenants = F("k0") == 0  # one that the document has
    for number in range(400):
        tenants = tenants & (F(f"t{number}") == number)
    view = index.scoped(tenants)
    with pytest.raises(InvalidDocument, match="at most 400 values where documents are added, got 401"):
        view.add(of_keys(4))
    view = index.scoped(tenants.parts[1] & tenants.parts[2])
    view.add(of_keys(5_000))
    view.add(FINE)
    assert len(view.get("d").metadata) == 5_002


def test_a_sync_skips_such_a_record_and_adds_all_others(index, tmp_path):
    source = tmp_path / "records.jsonl"
    records = [{"text": "First."}, {"text": "Second.", **TOO_MANY}, {"text": "Third."}]
    source.write_text("\n".join(map(json.dumps, records)))
    view = index.scoped(F("tenant") == "a")
    done = view.sync(Files(source))
    assert len(done.added) == 2
    assert "at most 5,000 values" in done.skipped[0].reason
    view.add(FINE)


values = st.one_of(
    st.text(max_size=5),
    st.integers(-(2**66), 2**66),
    st.floats(),
    st.booleans(),
    st.none(),
    st.lists(st.floats(), max_size=3),
    st.lists(st.text(max_size=3), max_size=3),
    st.lists(st.integers(-(2**66), 2**66), max_size=3),
)


@examples(60, fast=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.text(max_size=4), values, max_size=5))
def test_no_metadata_make_an_index_unwritable(folder_index, metadata):
    try:
        folder_index.add(Document("d", "Text.", metadata=metadata))
    except InvalidDocument:
        return
    folder_index.add(FINE)
    folder_index.delete(["fine"])
    stored = folder_index.get("d").metadata
    assert stored.keys() <= metadata.keys()


@pytest.fixture
def unchecked(monkeypatch):
    """No check refuses a document that Chroma's tables will refuse."""
    monkeypatch.setattr(_metadata, "check_size", lambda *_: None)
    monkeypatch.setattr(_accepting, "check_size", lambda *_: None)


ADD_ELSEWHERE = """
import sys
from leafspan import Document, Index
from tests.durability.versions import EMBEDDER, SPLITTER
from tests.profiles import examples, paired
with Index.open(sys.argv[1], name="leafspan", embedder=EMBEDDER, splitter=SPLITTER) as index:
    print(index.add(Document(sys.argv[2], "From another process.")))
"""


def add_elsewhere(folder: Path, id_: str) -> str:
    command = [sys.executable, "-c", ADD_ELSEWHERE, str(folder), id_]
    return warm.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[2]).stdout


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
def test_after_a_refused_write_everybody_else_can_write(tmp_path):
    folder = tmp_path / "kb"
    with Index.open(folder, name="leafspan", embedder=EMBEDDER, splitter=SPLITTER) as index:
        index.add(FINE)
        other = index.scoped(F("tenant") == "b")
        with pytest.raises(StorageFailed, match=r"logged a record that it cannot store.*try again"):
            index.scoped(F("tenant") == "a").add(Document("bad", "Text.", metadata=TOO_MANY))
        other.add(Document("good", "Text of another tenant."))
        assert other.get("good").text == "Text of another tenant."
        with pytest.raises(StorageFailed, match="logged a record that it cannot store"):
            index.add([Document("before", "Before."), Document("bad", "Text.", metadata=TOO_MANY)])
        assert add_elsewhere(folder, "elsewhere").startswith("Added(1 added")
        index.add([Document("before", "Before."), Document("after", "After.")])
        index.delete(["fine"])
        assert index.repair(verify=True) == []
        assert {each.id for each in other.documents()} == {"good"}
        assert {"before", "after", "elsewhere"} < {each.id for each in index.documents()}


def poison(folder: Path, collection: str = "leafspan.leaves") -> None:
    """A process without leafspan, or an earlier version, leaves in the log what the tables refuse."""
    code = f"""
import chromadb
from chromadb.config import Settings
client = chromadb.PersistentClient({str(folder)!r}, Settings(anonymized_telemetry=False))
found = client.get_collection({collection!r}, embedding_function=None)
vector = found.get(limit=1, include=["embeddings"])["embeddings"][0]
try:
    found.upsert(["bad#00000000#0"], [vector], [{{str(number): 1 for number in range(6000)}}], ["Text."])
except Exception:
    raise SystemExit(0)
raise SystemExit(1)
"""
    warm.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_a_repair_drops_what_stops_all_writes(tmp_path):
    folder = tmp_path / "kb"
    with Index.open(folder, name="leafspan", embedder=EMBEDDER, splitter=SPLITTER) as index:
        index.add(FINE)
        poison(folder)
        assert [(each.document_id, each.repaired) for each in index.repair()] == [("leafspan.leaves", True)]
        assert index.repair(verify=True) == []
        index.add(Document("after", "After."))
        assert index.get("fine").text == FINE.text
        assert [each.id for each in index.retrieve("After", k=1)]


def test_check_says_what_stops_all_writes(tmp_path):
    folder = tmp_path / "kb"
    with Index.open(folder, name="leafspan", embedder=EMBEDDER, splitter=SPLITTER) as index:
        index.add(FINE)
    poison(folder)
    with Index.open(folder, name="leafspan", embedder=EMBEDDER, splitter=SPLITTER) as index:
        found = index.check()
        assert [(each.document_id, each.repaired) for each in found] == [("leafspan.leaves", False)]
        assert "1 writes are in Chroma's log that its tables refuse" in found[0].problem
        index.repair()
        assert index.repair() == []


def test_an_ordinary_write_drops_what_others_have_left(tmp_path):
    folder = tmp_path / "kb"
    with Index.open(folder, name="leafspan", embedder=EMBEDDER, splitter=SPLITTER) as index:
        index.add(FINE)
        poison(folder)
        with pytest.raises(StorageFailed, match="try again"):
            index.add(Document("after", "After."))
        index.add(Document("after", "After."))
        assert index.repair() == []


def test_after_a_kill_the_next_write_does_not_fail(tmp_path):
    folder = tmp_path / "kb"
    with Index.open(folder, name="leafspan", embedder=EMBEDDER, splitter=SPLITTER) as index:
        index.add(FINE)
    poison(folder)
    ChangeFile(folder / "leafspan.changes", read_only=False).touching = True  # as a process that was killed leaves it
    with Index.open(folder, name="leafspan", embedder=EMBEDDER, splitter=SPLITTER) as index:
        index.add(Document("after", "After."))
        assert index.repair() == []

"""An index whose texts are in a metadata value answers as any other one, and Chroma has no documents of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chromadb
import pytest
from chromadb.config import Settings
from typer.testing import CliRunner

import leafspan
from leafspan import (
    BM25,
    AutoMerging,
    Config,
    DamagedIndex,
    Document,
    F,
    Hybrid,
    Index,
    InvalidArgument,
    RelevantSegments,
    SentenceWindow,
    Tree,
    Vector,
)
from leafspan.cli import app
from leafspan.documents import FORMATS
from leafspan.embedding import default_embedder
from leafspan.errors import IndexMismatch
from leafspan.store import _text_columns
from leafspan.store._text_columns import packed_texts, unpacked_texts
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER
from tests.reading import forget_catalogue, reading_from_chroma
from tests.store.tampering import count_a_change

STRATEGIES = [Vector(), BM25(), Hybrid(), AutoMerging(), SentenceWindow(), RelevantSegments(), Tree(mode="collapsed")]


def handle(index: Index, name: str = "kb.leaves") -> Any:
    return index.client.get_collection(name, embedding_function=None)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Index, Index]]:
    """The same documents and trees in an index of each kind: documents, and metadata."""
    folder = tmp_path_factory.mktemp("texts")
    opened = [Index.open(folder / kind, splitter=SPLITTER, texts_in=kind) for kind in ("documents", "metadata")]
    for index in opened:
        index.add(DOCUMENTS)
        index.build_tree()
    yield opened[0], opened[1]
    for index in opened:
        index.close()


def test_chroma_has_no_documents_and_the_text_stands_behind_turn_and_place(both: tuple[Index, Index]):
    plain, other = (handle(index).get(include=["documents", "metadatas", "embeddings"]) for index in both)
    assert other["ids"] == plain["ids"]
    assert other["documents"] == [None] * len(plain["ids"])
    assert (other["embeddings"] == plain["embeddings"]).all()
    for metadata, text, found in zip(plain["metadatas"], plain["documents"], other["metadatas"], strict=True):
        turn, _, rest = found["leafspan"].partition("\n")
        assert len(turn) == len(f"{2_000_000_000_000:011x}") + 4
        assert {**found, "leafspan": rest} == {**metadata, "leafspan": f"{metadata['leafspan']}\n{text}"}


def test_values_are_written_in_their_order_so_that_the_database_appends_them(tmp_path: Path):
    with Index.open(tmp_path / "kb", splitter=SPLITTER, texts_in="metadata") as index:
        for document in DOCUMENTS:
            index.add(document)
        values = [each["leafspan"] for each in handle(index).get(include=["metadatas"])["metadatas"]]
    assert len(values) > len(DOCUMENTS)
    assert values == sorted(values)


def test_more_values_than_there_are_turns_can_be_written_at_once():
    number = 0x10000 + 2
    texts = [f"text {each}" for each in range(number)]
    packed = packed_texts({"documents": texts, "metadatas": [{"leafspan": "1|0,0,1,1"}] * number})["metadatas"]
    turns = [each["leafspan"].partition("\n")[0] for each in packed]
    assert turns == sorted(turns)
    read = unpacked_texts({"metadatas": packed}, ["documents", "metadatas"])
    assert read == {"documents": texts, "metadatas": [{"leafspan": "1|0,0,1,1"}] * number}


@pytest.mark.parametrize("turn", [True, False])
def test_a_text_that_looks_like_a_turn_comes_back_as_it_is(turn: bool):
    text = f"{0:015x}\n1|0,0,1,1\nand so on"
    packed = packed_texts({"documents": [text], "metadatas": [{"leafspan": "1|0,0,1,1"}]})["metadatas"][0]["leafspan"]
    value = packed if turn else packed.partition("\n")[2]
    read = unpacked_texts({"metadatas": [{"leafspan": value}]}, ["documents", "metadatas"])
    assert read == {"documents": [text], "metadatas": [{"leafspan": "1|0,0,1,1"}]}


def test_a_clock_that_is_set_back_changes_only_the_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with Index.open(tmp_path / "kb", splitter=SPLITTER, texts_in="metadata") as index:
        index.add(DOCUMENTS[0])
        monkeypatch.setattr(_text_columns.time, "time_ns", lambda: 1)
        index.add(DOCUMENTS[1:])
        monkeypatch.undo()
        assert any(each["leafspan"].startswith("0" * 11) for each in handle(index).get(include=["metadatas"])["metadatas"])
        with reading_from_chroma():
            assert [index.get(each.id) for each in DOCUMENTS] == list(DOCUMENTS)
            assert index.repair() == []


def test_a_value_without_a_turn_is_read_as_well(tmp_path: Path):
    with Index.open(tmp_path / "kb", splitter=SPLITTER, texts_in="metadata") as index:
        index.add(DOCUMENTS)
        before = [index.get(each.id) for each in DOCUMENTS]
        leaves = handle(index)
        stored = leaves.get(include=["metadatas"])
        changed = [{**each, "leafspan": each["leafspan"].partition("\n")[2]} for each in stored["metadatas"]]
        leaves.update(ids=stored["ids"], metadatas=changed)
        with reading_from_chroma():
            assert [index.get(each.id) for each in DOCUMENTS] == before


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
@pytest.mark.parametrize("from_chroma", [True, False])
def test_retrievals_find_the_same(both: tuple[Index, Index], strategy: Any, from_chroma: bool):
    def found(index: Index) -> list[Any]:
        return [
            (passage.id, passage.text, dict(passage.metadata), passage.score)
            for where in (None, F("topic") != "food")
            for passages in index.retrieve(QUESTIONS, strategy, k=5, where=where)
            for passage in passages
        ]

    if not from_chroma:
        assert found(both[1]) == found(both[0]) != []
        return
    with reading_from_chroma():
        assert found(both[1]) == found(both[0]) != []


def test_documents_leaves_and_the_doctor_find_the_same(both: tuple[Index, Index]):
    plain, other = both
    with reading_from_chroma():
        for document in DOCUMENTS:
            assert other.get(document.id) == plain.get(document.id)
            assert other.leaves(document.id) == plain.leaves(document.id)
        assert other.surroundings(other.retrieve("dance", k=1)[0]) == plain.surroundings(plain.retrieve("dance", k=1)[0])
        assert other.repair() == plain.repair()
    assert not other.repair()


def test_it_is_recorded_so_that_every_later_opening_knows(tmp_path: Path):
    with Index.open(tmp_path / "kb", texts_in="metadata") as index:
        index.add(DOCUMENTS)
        assert index.stats().texts_in == "metadata"
    with Index.open(tmp_path / "kb") as index, reading_from_chroma():
        assert index.stats().texts_in == "metadata"
        assert index.get("bees").text == DOCUMENTS[1].text
        index.add(Document("bees", "Bees do not dance any more."))
        assert index.get("bees").text == "Bees do not dance any more."
        assert set(handle(index).get(include=["documents"])["documents"]) == {None}
    with pytest.raises(IndexMismatch, match="was made with texts_in=metadata, it cannot go on with documents"):
        Index.open(tmp_path / "kb", texts_in="documents")


def test_an_index_that_keeps_them_in_documents_is_recorded_as_before(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index:
        assert index.stats().texts_in == "documents"
        recorded = json.loads(handle(index, "kb.manifest").metadata["leafspan"])
        assert recorded["format"] == "1"
        assert "texts_in" not in recorded
    with pytest.raises(IndexMismatch, match="was made with texts_in=documents, it cannot go on with metadata"):
        Index.open(tmp_path / "kb", texts_in="metadata")


def test_its_format_is_one_that_earlier_versions_refuse(tmp_path: Path):
    with Index.open(tmp_path / "kb", texts_in="metadata") as index:
        recorded = json.loads(handle(index, "kb.manifest").metadata["leafspan"])
    assert recorded["format"] == "2" == FORMATS[1]  # 0.1.0 opens what has the format "1", and names any other in its error
    assert recorded["texts_in"] == "metadata"


@pytest.mark.parametrize(
    "change", [{"texts_in": "nowhere"}, {"texts_in": ["metadata"]}, {"format": "1"}, {"texts_in": None}]
)
def test_settings_that_contradict_themselves_are_damaged(tmp_path: Path, change: dict[str, Any]):
    with Index.open(tmp_path / "kb", texts_in="metadata") as index:
        manifest = handle(index, "kb.manifest")
        recorded = json.loads(manifest.metadata["leafspan"]) | change
        manifest.modify(metadata={"leafspan": json.dumps(recorded)})
        count_a_change(index)
    forget_catalogue(tmp_path / "kb")
    with pytest.raises(DamagedIndex, match=r"the settings of the index are damaged \(texts_in\)"):
        Index.open(tmp_path / "kb")


def test_what_is_neither_is_refused(tmp_path: Path):
    with pytest.raises(InvalidArgument, match="texts_in must be"):
        Index.open(tmp_path / "kb", texts_in="files")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("alter", "says"),
    [
        (lambda place, text: f"{place}\n{text[:-1]}x", "the text of its leaf 0 is not as it was written"),
        (lambda place, text: place, "the text of its leaf 0 is missing"),
        (lambda place, text: f"{place[:-1]}\n{text}", "the place of its leaf 0 is not as it was written"),
        (lambda place, text: 5, "is missing"),
    ],
)
def test_a_text_or_place_that_was_altered_is_noticed_and_mended_by_add(tmp_path: Path, alter: Any, says: str):
    with Index.open(tmp_path / "kb", splitter=SPLITTER, texts_in="metadata") as index, reading_from_chroma():
        index.add(DOCUMENTS)
        leaf = index.leaves("tea")[0]
        metadata = handle(index).get(ids=[leaf.id])["metadatas"][0]
        altered = alter(*metadata["leafspan"].split("\n", 2)[1:])
        handle(index).update(ids=[leaf.id], metadatas=[{**metadata, "leafspan": altered}])
        count_a_change(index)
        with pytest.raises(DamagedIndex, match=says) as caught:
            index.leaves("tea")
        assert caught.value.document_id == "tea"
        assert index.get("bees").text == DOCUMENTS[1].text
        assert [problem.document_id for problem in index.repair()] == ["tea"]
        index.add(DOCUMENTS)
        assert index.get("tea").text == DOCUMENTS[2].text
        assert not index.repair()


def test_texts_with_line_breaks_and_bars_come_back_as_they_are(tmp_path: Path):
    text = "\n\nOne | two\n3,4|5\n\r\nsix.\n\n\x00seven\n"
    with Index.open(tmp_path / "kb", texts_in="metadata") as index, reading_from_chroma():
        index.add(Document("odd", text, metadata={"note": "a\nb"}))
        assert index.get("odd").text == text
        assert index.get("odd").metadata == {"note": "a\nb"}
        assert "\n" not in str(index.retrieve("seven", Vector(), k=1)[0].metadata.get("leafspan", ""))


def test_it_is_written_and_read_behind_a_client(tmp_path: Path):
    async def add(index: Index) -> None:
        await index.aadd(DOCUMENTS)
        await index.adelete(["tea"])

    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    with Index.open(client=client, name="in-metadata", texts_in="metadata") as index:
        asyncio.run(add(index))
        assert index.get("bees").text == DOCUMENTS[1].text
        assert index.retrieve(QUESTIONS[0], k=1)[0].document_id == "bees"
    again = Index.open(client=client, name="in-metadata")
    assert again.stats().texts_in == "metadata"
    assert again.get("harbour").text == DOCUMENTS[0].text
    assert set(handle(again, "in-metadata.leaves").get(include=["documents"])["documents"]) == {None}


def test_it_is_behind_a_server_too(tmp_path: Path, chroma_server: tuple[str, int]):
    host, port = chroma_server
    client = chromadb.HttpClient(host=host, port=port, settings=Settings(anonymized_telemetry=False))
    with Index.open(client=client, name="in-metadata-there", texts_in="metadata", cache=tmp_path) as index:
        index.add(DOCUMENTS)
    with Index.open(client=client, name="in-metadata-there", cache=tmp_path) as index:
        assert index.get("bees").text == DOCUMENTS[1].text
        assert index.retrieve(QUESTIONS[1], BM25(), k=1)[0].document_id == "harbour"


def test_an_adopted_collection_can_be_kept_so(tmp_path: Path):
    client = chromadb.PersistentClient(str(tmp_path / "theirs"), settings=Settings(anonymized_telemetry=False))
    theirs = client.create_collection("theirs", embedding_function=None)
    texts = ["Bees dance.", "Tea is steamed."]
    theirs.add(ids=["a", "b"], documents=texts, embeddings=default_embedder().documents(texts))
    leafspan.adopt(theirs, tmp_path / "kb", texts_in="metadata")
    with Index.open(tmp_path / "kb") as index, reading_from_chroma():
        assert index.stats().texts_in == "metadata"
        assert index.get("b").text == "Tea is steamed."


def test_a_configuration_and_the_command_can_ask_for_it(tmp_path: Path):
    config = Config(texts_in="metadata")
    assert Config.from_dict(config.to_dict()) == config
    with Index.open(tmp_path / "kb", config=config) as index:
        assert index.stats().texts_in == "metadata"
    (tmp_path / "bees.md").write_text("Bees dance.")
    command = ["index", str(tmp_path / "bees.md"), "--kb", str(tmp_path / "other"), "--texts-in", "metadata"]
    assert CliRunner().invoke(app, command).exit_code == 0
    shown = CliRunner().invoke(app, ["show", "--kb", str(tmp_path / "other")])
    assert "texts in           metadata" in shown.output

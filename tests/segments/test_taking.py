"""Written leaves are taken from memory, so that no question reads them from the disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chromadb
import pytest
from chromadb.config import Settings
from hypothesis import given
from hypothesis import strategies as st

from leafspan import BM25, Document, Index, Vector
from leafspan.errors import FunctionFailed
from leafspan.segments import Mirror, _mirror
from leafspan.segments._segment_folder import SegmentFolder
from leafspan.store import Row
from leafspan.store._folder import Folder
from leafspan.store._writer import Writer
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER
from tests.profiles import examples

STRATEGIES = (BM25(), Vector())


def never(self, reader, rows):
    raise AssertionError(f"{[row.document_id for row in rows]} is read back")


@pytest.fixture
def nothing_is_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mirror, "_read", never)


def answers(index: Index) -> list:
    return [index.retrieve_many(QUESTIONS, each, k=50) for each in STRATEGIES]


def files(folder: Path) -> int:
    return len(list(folder.glob("leafspan.segments/*/*/*.segment")))


@pytest.mark.usefixtures("nothing_is_read_back")
def test_what_was_added_replaced_and_deleted_is_found_and_nothing_is_read_back(tmp_path: Path):
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        index.add(DOCUMENTS)
        index.add(Document("tea", "Tea is another thing now. It is drunk cold."))
        index.add(Document("empty", ""))
        index.delete(["bees"])
        index.build_tree()
        found = answers(index)
        assert all(found)
        assert index.retrieve("drunk cold", Vector(), k=1)[0].document_id == "tea"
    with Index.open(tmp_path / "kb") as again:
        assert answers(again) == found


@pytest.mark.usefixtures("nothing_is_read_back")
def test_whenever_a_change_is_counted_there_is_all_that_a_reader_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    advance = Folder.advance
    met = []

    def with_a_question(self: Folder, *arguments: Any, **options: Any) -> int:
        count = advance(self, *arguments, **options)
        with Index.open(tmp_path / "kb", read_only=True) as other:  # with segments of its own, as in another process
            met.append({passage.text for passage in other.retrieve("drunk", BM25(), k=50)})
        return count

    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        index.add(Document("tea", "Tea is drunk hot."))
        monkeypatch.setattr(Folder, "advance", with_a_question)
        index.add([Document("tea", "Tea is drunk cold."), Document("mate", "Mate is drunk, too.")])
    old, new = {"Tea is drunk hot."}, {"Tea is drunk cold.", "Mate is drunk, too."}
    assert met == [old, new, new, new]


@pytest.mark.parametrize("most", [8, 1])
def test_a_segment_of_versions_that_are_being_written_is_neither_removed_nor_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
):
    monkeypatch.setattr(_mirror, "MOST_SEGMENTS", most)
    write_rows = Writer.write_rows

    def after_a_question(self: Writer, rows: Sequence[Row]) -> Any:
        assert index.retrieve("drunk", BM25()) == before
        return write_rows(self, rows)

    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        index.add(Document("tea", "Tea is drunk hot."))
        before = index.retrieve("drunk", BM25())
        monkeypatch.setattr(Writer, "write_rows", after_a_question)
        monkeypatch.setattr(Mirror, "_read", never)
        index.add(Document("mate", "Mate is drunk, too."))
        assert {each.document_id for each in index.retrieve("drunk", BM25())} == {"tea", "mate"}


@examples(30, fast=5)
@given(steps=st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["a", "b", "both", "delete"])), min_size=1, max_size=8))
def test_the_answers_match_what_is_read_back(tmp_path_factory: pytest.TempPathFactory, steps: list):
    folder = tmp_path_factory.mktemp("taking")
    texts = ["Green tea steams.", "A kettle boils. Tea is green.", "Nothing of that."]
    with Index.open(folder / "taken", splitter=SPLITTER) as taken, Index.open(folder / "read", splitter=SPLITTER) as read:
        for number, what in steps:
            for index in (taken, read):
                with pytest.MonkeyPatch.context() as patch:
                    if index is read:
                        patch.setattr(Mirror, "append", lambda self, segment: iter(()))
                    if what == "delete":
                        index.delete(["a"])
                    else:
                        index.add([Document(id_, texts[number]) for id_ in ("a", "b") if what in (id_, "both")])
        for mine, theirs in zip(answers(taken), answers(read), strict=True):
            # Chroma brings vectors to length 1 itself, and rounds otherwise.
            assert [[(each.id, pytest.approx(each.score, abs=1e-7)) for each in row] for row in mine] == [
                [(each.id, each.score) for each in row] for row in theirs
            ]


def test_documents_that_are_added_one_by_one_do_not_leave_a_file_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_mirror, "_MOST_APPENDED", 6)
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        most = 0
        for number in range(40):
            index.add(Document(f"d{number % 30}", f"Number {number} of several."))
            most = max(most, files(tmp_path / "kb"))
        assert most <= 3 * (6 + 1 + _mirror.MOST_SEGMENTS)
        assert {each.document_id for each in index.retrieve("Number", BM25(), k=50)} == {f"d{n}" for n in range(30)}


def test_an_analyzer_that_fails_is_an_error_of_the_search_and_not_of_what_is_added(tmp_path: Path):
    def words(text: str) -> list[str]:
        if "tea" in text:
            raise ValueError("no tea")
        return text.split() or ["a"]

    with Index.open(tmp_path / "kb", analyzer=words) as index:
        assert index.add(Document("a", "Green tea.")).added == ("a",)
        assert index.retrieve("green", Vector())
        with pytest.raises(FunctionFailed, match="no tea"):
            index.retrieve("green", BM25())


def test_behind_a_client_words_are_taken_as_well(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Mirror, "_read", never)
    with Index.open(client=chromadb.EphemeralClient(Settings(anonymized_telemetry=False)), name="taken") as index:
        index.add(DOCUMENTS)
        assert index.retrieve(QUESTIONS[0], BM25())


def test_merging_goes_on_until_few_small_segments_are_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_mirror.Mirror, "largest", 8)
    with Index.open(tmp_path / "kb") as index:
        for number in range(40):
            index.add(Document(f"d{number:02}", f"Bee {number} dances."))
        assert len(index.retrieve("bee", BM25(), k=40)) == len(index.retrieve("bee", Vector(), k=40)) == 40
        for folder in {path.parent for path in (tmp_path / "kb" / "leafspan.segments").rglob("*.segment")}:
            found = SegmentFolder(folder).read([])
            sizes = sorted(each.leaves for each in found)
            assert sum(sizes) == 40
            assert max(sizes) <= 8
            assert sum(size <= 4 for size in sizes) <= _mirror.MOST_SEGMENTS

"""The user's own readers and the loaders of both hosts use the same interface."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document as LangChainDocument
from llama_index.core.readers.base import BaseReader
from llama_index.core.schema import Document as LlamaIndexDocument

from leafspan import BM25, Document, Files, Index, InvalidArgument
from leafspan.documents import check_document
from leafspan.errors import InvalidDocument
from leafspan.files import FileReading, Skipped


class Loader(BaseLoader):
    def __init__(self, path: str) -> None:
        self.path = path

    def lazy_load(self) -> Iterator[LangChainDocument]:
        metadata = {"source": "elsewhere", "title": "A title", "page": 1, "odd": {"nested": 1}}
        yield LangChainDocument(page_content=Path(self.path).read_text(), metadata=metadata)


class Reader(BaseReader):
    def load_data(self, file: Path, extra_info: Any = None) -> list[LlamaIndexDocument]:
        return [LlamaIndexDocument(text=part, metadata={"by": "reader"}) for part in file.read_text().split(";")]


def read(folder: Path, readers: Any) -> tuple[list[tuple[str, str | None, str, Any]], tuple[Skipped, ...]]:
    reading = FileReading(check_document, folder)
    found = reading.read(Files(folder, readers=readers))
    return [(each.id, each.title, each.text, each.metadata) for each in found], reading.skipped


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.XYZ").write_text("Tea;milk")
    return tmp_path


SOURCE = {"source": "a.XYZ"}


@pytest.mark.parametrize(
    ("reader", "documents"),
    [
        (Path.read_text, [("a.XYZ", "a", "Tea;milk", SOURCE)]),
        (lambda path: Document("x", path.read_text(), "T", {"n": 1}), [("a.XYZ", "T", "Tea;milk", SOURCE | {"n": 1})]),
        (
            lambda path: ["Tea", "milk"],
            [("a.XYZ#document=1", "a", "Tea", SOURCE), ("a.XYZ#document=2", "a", "milk", SOURCE)],
        ),
        (
            Reader(),
            [(f"a.XYZ#document={n}", "a", text, SOURCE | {"by": "reader"}) for n, text in ((1, "Tea"), (2, "milk"))],
        ),
        (Reader, [(f"a.XYZ#document={n}", "a", text, SOURCE | {"by": "reader"}) for n, text in ((1, "Tea"), (2, "milk"))]),
        (lambda path: [], []),
        (iter, []),
    ],
)
def test_a_reader_makes_documents_of_a_file(folder: Path, reader: Any, documents: Any):
    found, skipped = read(folder, {".xyz": reader})
    assert found == documents
    assert len(skipped) == (reader is iter)


def test_a_loader_of_langchain_is_a_reader_and_odd_metadata_is_left_out(folder: Path):
    found, [skipped] = read(folder, {".xyz": Loader})
    assert found == [("a.XYZ", "A title", "Tea;milk", {"source": "a.XYZ", "page": 1})]
    assert skipped.reason.startswith("the field 'odd' is left out: ")


@pytest.mark.parametrize(
    ("reader", "reason"),
    [
        (lambda path: 1 / 0, "its reader failed with ZeroDivisionError: division by zero"),
        (lambda path: 7, "its reader must return a text or documents, got 7"),
        (lambda path: Document("x", None), "its reader must return documents with a text, got None"),
        (lambda path: [None], "its reader must return a text or documents, got None"),
        (lambda path: (path / "x").read_text(), "[Errno 20] Not a directory"),
    ],
)
def test_a_reader_that_fails_stops_no_other_file(folder: Path, reader: Any, reason: str):
    (folder / "b.md").write_text("Tea.")
    found, [skipped] = read(folder, {".xyz": reader})
    assert [id_ for id_, *_ in found] == ["b.md"]
    assert skipped.path == "a.XYZ"
    assert skipped.reason.startswith(reason)


def test_a_reader_comes_before_the_one_of_leafspan_and_files_without_one_are_left_out(folder: Path):
    (folder / "b.md").write_text("# Tea")
    reading = FileReading(check_document, folder)
    assert [each.text for each in reading.read(Files(folder, readers={".md": lambda path: "own"}))] == ["own"]
    assert reading.left_out == {".xyz": 1}


def test_a_folder_is_synced_with_a_reader(folder: Path):
    with Index.open(folder / "kb") as index:
        files = Files(folder, readers={".xyz": Reader()})
        assert index.sync(files).added == ("a.XYZ#document=1", "a.XYZ#document=2")
        assert index.sync(files).unchanged == ("a.XYZ#document=1", "a.XYZ#document=2")
        [passage] = index.retrieve("milk", BM25(), k=1)
        assert (passage.document_id, passage.lines) == ("a.XYZ#document=2", None)
        with pytest.raises(InvalidDocument, match=r"files must be of a known kind .*, got '.*a\.XYZ'"):
            index.add(folder / "a.XYZ")
        (folder / "a.XYZ").unlink()
        assert index.sync(files, allow_empty=True).deleted == ("a.XYZ#document=1", "a.XYZ#document=2")


@pytest.mark.parametrize(
    ("readers", "got"),
    [
        ([print], r"got \[<built-in"),
        ({"xyz": print}, "got the suffix 'xyz'"),
        ({".x": 3}, r"got 3 for \.x"),
        ({1: print}, "got the suffix 1"),
    ],
)
def test_readers_must_be_functions_by_suffixes(readers: Any, got: str):
    with pytest.raises(InvalidArgument, match=f"readers must be functions from a path to a text or documents.*{got}"):
        Files("x", readers=readers)

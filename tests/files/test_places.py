"""A passage's place in the file that a person opens."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ext import HybridRetriever as LangChainRetriever
from leafspan import BM25, Index
from leafspan.files import packed, place_in_file
from leafspan.files._parts import Assembly
from llamaindex_ext import HybridRetriever as LlamaIndexRetriever
from tests.office import xlsx
from tests.pdf import pdf
from tests.private.views.test_writers import private

PAGES = [
    "Bees dance to tell where the flowers",
    "",
    "are that have nectar.",
    "Honey is sweet.",
    "Wax is made into candles.",
]


@given(st.lists(st.tuples(st.sampled_from(["", "a", "a\nb", "\n", "x\r\ny\n"]), st.sampled_from(["page", "cell"]))))
def test_each_line_belongs_to_the_last_part_that_begins_there(parts):
    assembly, expected, numbers = Assembly(), [], {"page": 0, "cell": 0}
    for text, unit in parts:
        numbers[unit] += 1
        assembly.add(text, unit, numbers[unit])
        whole = text if text.endswith("\n") else text + "\n"
        expected += [f"{unit} {numbers[unit]}"] * whole.count("\n")
    runs = packed(assembly.parts)
    assert [place_in_file(runs, (line, line)) for line in range(1, len(expected) + 1)] == expected


def test_parts_that_do_not_follow_each_other_keep_their_numbers():
    assembly = Assembly()
    for number in (1, 3, 4):
        assembly.add("x", "row", number)
    assert [place_in_file(packed(assembly.parts), (line, line)) for line in (1, 2, 3)] == ["row 1", "row 3", "row 4"]


def test_rows_are_counted_by_lines_within_their_sheet():
    assembly = Assembly()
    assembly.add_text("# Sales\n")
    assembly.add_lines("| 1 |\n| 2 |\n| 3 |", "row", 2, "Sales")
    assembly.add_text("# Costs")
    assembly.add_lines("| 4 |\n| 5 |", "row", 1, "Costs")
    runs = packed(assembly.parts)
    assert place_in_file(runs, (1, 1)) is None
    assert place_in_file(runs, (2, 2)) == "Sales, row 2"
    assert place_in_file(runs, (2, 4)) == "Sales, rows 2-4"
    assert place_in_file(runs, (3, 6)) == "Sales, row 3 to Costs, row 1"


@pytest.fixture
def report(tmp_path: Path):
    (tmp_path / "r.pdf").write_bytes(pdf(PAGES, title="A report"))
    with Index.open(tmp_path / "kb") as index:
        index.sync(tmp_path)
        yield index


def test_a_passage_of_a_pdf_says_its_pages_and_no_lines(report: Index):
    [whole] = report.retrieve("bees and candles", k=1)
    assert (whole.place, whole.lines, whole.document_id) == ("pages 1-5", None, "r.pdf")
    [leaf] = report.leaves("r.pdf")
    assert (leaf.place, leaf.lines) == ("pages 1-5", None)


def test_both_hosts_say_the_place(report: Index):
    [found] = LangChainRetriever(index=report, k=1).invoke("honey")
    [node] = LlamaIndexRetriever(index=report, similarity_top_k=1).retrieve("honey")
    assert found.metadata["place"] == node.metadata["place"] == "pages 1-5"
    assert not {"start_line", "page"} & {*found.metadata, *node.metadata}
    assert "place" in node.node.excluded_embed_metadata_keys


def test_places_stay_in_an_index_that_is_opened_again_and_checked(report: Index, tmp_path: Path):
    assert report.check() == []
    assert report.sync(tmp_path).unchanged == ("r.pdf",)
    report.close()
    with Index.open(tmp_path / "kb") as again:
        assert again.retrieve("honey", BM25(), k=1)[0].place == "pages 1-5"
        assert again.check() == []


def test_the_name_of_a_sheet_does_not_leak_from_a_private_view(tmp_path: Path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.xlsx").write_bytes(xlsx({"Alice Smith": [["Name", "Units"], ["Alice Smith", 3]]}))
    index, view = private(tmp_path)
    with index:
        view.sync(tmp_path / "docs")
        [passage] = view.retrieve("units", BM25(), k=1)
        assert passage.place == "rows 1-2"
    stored = [path for path in (tmp_path / "kb").rglob("*") if path.is_file()]
    assert stored
    assert not any(b"Alice" in path.read_bytes() for path in stored)

"""Title, headings and lines of retrieved and listed passages."""

from __future__ import annotations

from pathlib import Path

import pytest

import leafspan
from leafspan import (
    BM25,
    AutoMerging,
    Browse,
    Document,
    F,
    HierarchicalSplitter,
    Hybrid,
    Index,
    ParentDocument,
    RelevantSegments,
    SentenceWindow,
    Strategy,
    Tree,
    Vector,
)
from leafspan.spans import shown_text
from leafspan.values import LeafId

GUIDE = """# Guide

## Tea

### Green

Green tea is brewed at eighty degrees.
It turns bitter in hot water.

### Black

Black tea takes boiling water.

## Coffee

Coffee is roasted before it is ground.
"""
LINES = GUIDE.split("\n")


@pytest.fixture(scope="module")
def guide(tmp_path_factory: pytest.TempPathFactory):
    with Index.open(tmp_path_factory.mktemp("guide") / "kb", splitter=HierarchicalSplitter(12, (24, 60))) as index:
        index.add(Document("guide.md", GUIDE, "The guide"))
        index.add(Document("note", "Roasted coffee, without any headings."))
        yield index


def test_leaves_carry_their_title_headings_and_lines(guide: Index):
    assert [(leaf.title, leaf.headings, leaf.lines) for leaf in guide.leaves("guide.md")] == [
        ("The guide", ("Guide", "Tea", "Green"), (1, 7)),
        ("The guide", ("Guide", "Tea", "Green"), (8, 8)),
        ("The guide", ("Guide", "Tea", "Black"), (10, 12)),
        ("The guide", ("Guide", "Coffee"), (14, 16)),
    ]
    (note,) = guide.leaves("note")
    assert (note.title, note.headings, note.lines) == (None, (), (1, 1))


@pytest.mark.parametrize(
    ("strategy", "headings", "lines"),
    [
        (Vector(), ("Guide", "Tea", "Black"), (10, 12)),
        (SentenceWindow(base=Vector(), before=1, after=0), ("Guide", "Tea"), (8, 12)),
        (SentenceWindow(base=Vector(), before=0, after=1), ("Guide",), (10, 16)),
        (ParentDocument(base=Vector(), level=None), ("Guide",), (1, 16)),
        (AutoMerging(base=Vector(), threshold=0, max_words=None), ("Guide",), (1, 16)),
    ],
    ids=repr,
)
def test_a_span_has_the_headings_that_all_of_it_stands_under(guide: Index, strategy: Strategy, headings, lines):
    (found,) = guide.retrieve("Which tea takes boiling water?", strategy, candidates=1)
    assert (found.title, found.headings, found.lines) == ("The guide", headings, lines)


def test_a_passage_says_whether_it_is_all_of_its_document(guide: Index):
    assert [leaf.whole for leaf in guide.leaves("guide.md")] == [False] * 4
    assert [leaf.whole for leaf in guide.leaves("note")] == [True]
    everything = ParentDocument(base=Vector(), level=None)
    assert [each.whole for each in guide.retrieve("Which tea takes boiling water?", everything, k=1)] == [True]
    assert guide.surroundings("guide.md#" + guide.leaves("guide.md")[0].id.rsplit("#", 2)[1] + "#0", after=3).whole
    elsewhere = leafspan.retrieve("roasted coffee", guide.as_strategy(Vector()))
    assert {each.id.partition("#")[0] for each in elsewhere} == {"guide.md", "note"}
    assert not any(each.whole for each in elsewhere)  # of no document of an index that is asked here


STRATEGIES = [
    Vector(),
    Hybrid(),
    SentenceWindow(),
    ParentDocument(),
    AutoMerging(threshold=0.2),
    RelevantSegments(),
    Tree(),
]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_the_lines_of_any_strategy_match_the_text(guide: Index, strategy: Strategy):
    found = guide.retrieve("Is coffee or tea roasted?", strategy)
    assert found
    for passage in found:
        first, last = passage.lines
        lines = (LINES if passage.document_id == "guide.md" else [passage.text])[first - 1 : last]
        assert lines[0].strip()
        assert lines[-1].strip()
        assert passage.text.strip() in "\n".join(lines)


def test_a_summary_carries_what_is_true_of_all_that_it_covers(guide: Index):
    guide.build_tree(across_documents=True)
    summaries = {summary.document_id: summary for summary in guide.summaries()}
    one = summaries["guide.md"]
    assert (one.title, one.headings, one.lines) == ("The guide", ("Guide",), None)
    several = summaries[""]
    assert (several.title, several.headings, several.lines) == (None, (), None)
    for found in guide.retrieve("tea", Tree(mode="traversal", top_k=9)):
        if found.summary:
            listed = next(each for each in guide.summaries() if each.id == found.id)
            assert (found.title, found.headings) == (listed.title, listed.headings)


def test_a_leaf_has_one_id_wherever_it_is_met(guide: Index):
    leaves = {leaf.id: leaf for leaf in guide.leaves()}
    found = guide.retrieve(None, Browse(), k=50)
    assert [each.id for each in found] == list(leaves)
    guide.build_tree()
    children = {child for summary in guide.summaries() if summary.layer == 1 for child in summary.summary.children}
    assert children <= set(leaves)
    assert {id_ for summary in guide.summaries() for id_ in summary.summary.leaf_ids} <= set(leaves)
    for id_, leaf in leaves.items():
        ordinal = id_.rsplit("#", 1)[1]
        earlier_form = f"{id_}-{ordinal}"
        assert LeafId.of_result(id_) == LeafId.of_result(earlier_form) == LeafId.parse(id_)
        assert guide.surroundings(earlier_form, before=0, after=0) == leaf
    assert LeafId.of_result(f"{id_}-9") is LeafId.of_result("note") is LeafId.of_result(None) is None


def test_a_view_shows_titles_headings_and_lines_under_its_own_ids(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("plan", "# Theirs\n\nThe merger of the others.", "Not yours"))
        view = index.scoped(F("tenant") == "a")
        view.add(Document("plan", "\n\n# Ours\n\nThe budget.", "Yours"))
        for strategy in STRATEGIES:
            (found,) = view.retrieve("The budget", strategy)
            assert (found.document_id, found.title, found.headings, found.lines) == ("plan", "Yours", ("Ours",), (3, 5))


ROWS = [f"| Lamp {n} | {3 * n} EUR | warm |" for n in range(20)]
HEADER = "Name | Price | Light"
TABLE = "\n".join(
    ["# Lamps", "", "All of them.", "", "| Name | Price | Light |", "|---|--:|:-:|", *ROWS, "", "## After", "", "Text."]
)


@pytest.fixture(scope="module")
def lamps(tmp_path_factory: pytest.TempPathFactory):
    with Index.open(tmp_path_factory.mktemp("lamps") / "kb", splitter=HierarchicalSplitter(20, (60,))) as index:
        index.add(Document("lamps.md", TABLE))
        yield index


def test_the_rows_of_a_table_stand_under_its_header(lamps: Index):
    for leaf in lamps.leaves("lamps.md"):
        under = (
            ("Lamps", HEADER)
            if leaf.text.startswith("| Lamp")
            else ("Lamps", "After")
            if "After" in leaf.text
            else ("Lamps",)
        )
        assert leaf.headings == under
    found = lamps.retrieve("Lamp 17", SentenceWindow(base=BM25(), after=0), candidates=1)
    assert found[0].headings == ("Lamps", HEADER)
    assert lamps.retrieve("price", BM25(), k=9)[-1].headings == ("Lamps", HEADER)  # the header is searched with each row
    whole = lamps.retrieve("Lamp 17", ParentDocument(base=BM25(), level=None), candidates=1)
    assert whole[0].headings == ("Lamps",)  # which has the header in its text


def test_rows_are_found_and_shown_with_the_caption_years_and_units_of_their_table(tmp_path: Path):
    above = ["Sales of lamps:", "", "|  | Fiscal |  |", "|---|---|---|", "|  | 2019 | 2018 |", "| (in millions) |  |  |"]
    with Index.open(tmp_path / "kb", splitter=HierarchicalSplitter(20, (60,))) as index:
        index.add(Document("lamps", "\n".join([*above, *(f"| Lamp {n} | {n} | {n + 1} |" for n in range(20))])))
        for question in ("sales of lamp 17", "lamp 17 in 2018", "lamp 17 in millions"):
            (found,) = index.retrieve(question, BM25(), k=1)
            assert "Lamp 17" in found.text
            assert shown_text(found).startswith(
                "| Sales of lamps: (in millions) | Fiscal 2019 | 2018 |\n| --- | --- | --- |\n| L"
            )


def test_a_table_in_one_leaf_and_rows_beside_it_have_no_header_of_their_own(tmp_path: Path):
    small = "Before.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nBehind it."
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("d", small))
        assert [leaf.headings for leaf in index.leaves("d")] == [()]

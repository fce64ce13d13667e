"""A passage's place in the file that a person opens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ext import HybridRetriever as LangChainRetriever
from leafspan import BM25, HierarchicalSplitter, Hybrid, Index, RelevantSegments
from leafspan.agents import agent_tools
from leafspan.documents import lines_of, pack_lines
from leafspan.files import FileDocument, packed, place_between, place_in_file
from leafspan.files._record import Assembly
from leafspan.hosting import split_into_leaves
from leafspan.splitting import Cut, Splitter
from leafspan.strategies import Strategy
from llamaindex_ext import HybridRetriever as LlamaIndexRetriever
from tests.office import xlsx
from tests.pdf import pdf
from tests.private.views.test_writers import private

DEFAULT = HierarchicalSplitter()
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
    runs = packed(assembly.record(None).parts)
    assert [place_in_file(runs, (line, line)) for line in range(1, len(expected) + 1)] == expected


def test_parts_that_do_not_follow_each_other_keep_their_numbers():
    assembly = Assembly()
    for number in (1, 3, 4):
        assembly.add("x", "row", number)
    assert [place_in_file(packed(assembly.record(None).parts), (line, line)) for line in (1, 2, 3)] == [
        "row 1",
        "row 3",
        "row 4",
    ]


def test_rows_are_counted_by_lines_within_their_sheet():
    assembly = Assembly()
    assembly.add_text("# Sales\n")
    assembly.add_lines("| 1 |\n| 2 |\n| 3 |", "row", 2, "Sales")
    assembly.add_text("# Costs")
    assembly.add_lines("| 4 |\n| 5 |", "row", 1, "Costs")
    runs = packed(assembly.record(None).parts)
    assert place_in_file(runs, (1, 1)) is None
    assert place_in_file(runs, (2, 2)) == "Sales, row 2"
    assert place_in_file(runs, (2, 4)) == "Sales, rows 2-4"
    assert place_in_file(runs, (3, 6)) == "Sales, row 3 to Costs, row 1"


def assembled(pages: Sequence[str], unit: str = "page") -> FileDocument:
    assembly = Assembly()
    for number, text in enumerate(pages, start=1):
        assembly.add(text, unit, number)
    return FileDocument("d", assembly.text, parts=assembly.record(None).parts)


def places_of_leaves(document: FileDocument, splitter: Splitter = DEFAULT) -> list[str | None]:
    leaves = split_into_leaves(document, splitter)
    assert "".join(document.text[leaf.start : leaf.end] for leaf in leaves) == document.text
    runs = packed(document.parts or ())
    lines = pack_lines(document.text, leaves)
    texts = [document.text[leaf.start : leaf.end] for leaf in leaves]
    return [place_in_file(runs, lines_of(lines, n, text) or (0, 0)) for n, text in enumerate(texts)]


ENDED = [
    ("The road is narrow.", "The sea is blue."),
    ("The road is narrow.", "it is not lit."),  # a sentence has ended
    ("He said: “Go!”", "they went."),
    ("Our Plan", "Costs in Crowns"),
    ("apples, pears", "- plums"),
    ("apples and pears", "a) plums"),
    ("apples and pears", "b. plums"),
    ("apples and pears", "o plums"),
    ("apples and pears", "iPhone sales"),
    ("Contents", "www.example.org"),
    ("4 | Report 2024", "2024 was a good year"),
    ("Straße 7", "Über uns"),
    ("道路很窄。", "海是蓝色的。"),
    ("我们的计划", "费用和收入"),
    ("خطتنا", "التكاليف"),
    ("हमारी योजना।", "लागत और आय"),
    ("Наш план", "Расходы"),
]
GOES_ON = [
    ("The road to the old lighthouse is", "narrow and not lit."),
    ("The road is narrow,", "and not lit."),
    ("The keeper lives in the light-", "house all year."),
    ("They speak of Anglo-", "Saxon poems."),
    ("The road (which is", "“narrow”) is not lit."),
    ("4 | Report 2024 on the harbour of\n4", "the town."),
    ("Дорога к маяку", "узкая и тёмная."),
    ("Ο δρόμος για τον φάρο", "είναι στενός."),
    ("通往旧灯塔的道路又窄又暗而且冬天经常被大雪封住所以人们", "很少去那里。"),
    ("الطريق إلى المنارة القديمة ضيق ومظلم وغالبا ما تغلقه الثلوج في", "الشتاء."),
]


@pytest.mark.parametrize(("page", "following"), ENDED)
def test_a_leaf_ends_with_its_page(page: str, following: str):
    assert places_of_leaves(assembled([page, "", following])) == ["page 1", "page 3"]
    assert places_of_leaves(assembled([page, following], "slide")) == ["slide 1", "slide 2"]


@pytest.mark.parametrize(("page", "following"), GOES_ON)
def test_a_sentence_that_goes_on_stays_in_one_leaf(page: str, following: str):
    assert places_of_leaves(assembled([page, "", following])) == ["pages 1-3"]


@given(
    st.lists(
        st.sampled_from(["", " ", "Honey is sweet. " * 9, "# Bees", "# Bees\nThey dance.", "dance", "3", "蜜蜂", "a\n\nb"])
    ),
    st.sampled_from([HierarchicalSplitter(), HierarchicalSplitter(leaf_words=5, parent_words=(12, 40))]),
)
def test_a_leaf_spans_pages_only_where_the_next_one_starts_in_lower_case(pages: list[str], splitter: HierarchicalSplitter):
    for place in places_of_leaves(assembled(pages), splitter):
        if match := re.fullmatch(r"pages (\d+)-(\d+)", place or ""):
            within = [page for page in pages[int(match[1]) : int(match[2])] if page.strip()]
            assert all(page.startswith(("dance", "a")) for page in within)


def test_rows_and_cells_share_leaves_and_each_sheet_has_its_own(tmp_path: Path):
    (tmp_path / "a.xlsx").write_bytes(xlsx({"sales": [["a"], [1]], "costs": [["a"], [1], [2]]}))
    with Index.open(tmp_path / "kb") as index:
        index.sync(tmp_path)
        assert [leaf.place for leaf in index.leaves("a.xlsx")] == ["sales, rows 1-2", "costs, rows 1-3"]
    assert places_of_leaves(assembled(["Heat water.", "Brew tea."], "cell")) == ["cells 1-2"]


def test_an_own_splitter_decides_alone_where_leaves_end():
    assert places_of_leaves(assembled(["One.", "Two."]), lambda text: [Cut(len(text))]) == ["pages 1-2"]


def test_parents_may_span_pages():
    leaves = split_into_leaves(assembled(["Bees dance.", "Honey is sweet."]), HierarchicalSplitter())
    assert [leaf.ancestors[0] for leaf in leaves] == [leaves[0].ancestors[0]] * 2
    assert (leaves[0].ancestors[0].first, leaves[0].ancestors[0].last) == (0, 1)


NAMES = [
    "lighthouse",
    "bakery",
    "harbour",
    "windmill",
    "orchard",
    "glacier",
    "volcano",
    "library",
    "museum",
    "railway",
    "forest",
    "desert",
]


@pytest.mark.parametrize("sentences", [1, 9])
@pytest.mark.parametrize("strategy", [Hybrid(), BM25(), RelevantSegments()], ids=lambda each: type(each).__name__)
def test_the_place_of_the_first_passage_begins_with_the_page_of_the_answer(
    tmp_path: Path, strategy: Strategy, sentences: int
):
    more = [
        f"Its {thing} is open in summer,\nand closed in winter."
        for thing in ["cellar", "roof", "door", "gate", "yard", "hall", "attic", "stair"]
    ]
    pages = [
        f"The {name}\nThe {name} was built\nin {1800 + n}. " + " ".join(more[: sentences - 1])
        for n, name in enumerate(NAMES)
    ]
    (tmp_path / "r.pdf").write_bytes(pdf(pages))
    with Index.open(tmp_path / "kb") as index:
        index.sync(tmp_path)
        for number, name in enumerate(NAMES, start=1):
            [passage] = index.retrieve(f"When was the {name} built?", strategy, k=1)
            assert passage.place is not None
            assert re.match(rf"page {number}(?: \(pages \d+-\d+\))?\Z", passage.place)


def test_without_a_match_a_place_has_no_first_part(report: Index):
    [found] = report.retrieve("candles", BM25(), k=1)
    assert (found.place, report.surroundings(found).place) == ("page 5", "pages 1-5")


def test_a_tool_reads_pages_as_one_range(report: Index):
    [read] = [tool for tool in agent_tools(report) if tool.name.startswith("read")]
    assert read.call({"document_id": "r.pdf"}).content["place"] == "pages 1-5"


@given(
    st.lists(st.tuples(st.sampled_from(["", "Sales", "East to West", "s 3-4, rows"]), st.integers(1, 30)), min_size=1),
    st.sampled_from(["row", "page"]),
)
def test_the_place_between_two_places_is_the_place_of_all_lines(parts: list[tuple[str, int]], unit: str):
    assembly = Assembly()
    for name, number in parts:
        assembly.add("x", unit, number, name)
    runs, last = packed(assembly.record(None).parts), len(parts)
    between = place_between(place_in_file(runs, (1, 1)) or "", place_in_file(runs, (last, last)) or "")
    assert between == place_in_file(runs, (1, last))


@pytest.fixture
def report(tmp_path: Path):
    (tmp_path / "r.pdf").write_bytes(pdf(PAGES, title="A report"))
    with Index.open(tmp_path / "kb") as index:
        index.sync(tmp_path)
        yield index


def test_a_passage_of_a_pdf_says_its_pages_and_no_lines(report: Index):
    [whole] = report.retrieve("wax and candles", k=1)
    assert (whole.place, whole.lines, whole.document_id) == ("page 5 (pages 1-5)", None, "r.pdf")
    leaves = report.leaves("r.pdf")
    assert [(leaf.place, leaf.lines) for leaf in leaves] == [("pages 1-3", None), ("page 4", None), ("page 5", None)]


def test_both_hosts_say_the_place(report: Index):
    [found] = LangChainRetriever(index=report, k=1).invoke("honey")
    [node] = LlamaIndexRetriever(index=report, similarity_top_k=1).retrieve("honey")
    assert found.metadata["place"] == node.metadata["place"] == "page 4"
    assert not {"start_line", "page"} & {*found.metadata, *node.metadata}
    assert "place" in node.node.excluded_embed_metadata_keys


def test_places_stay_in_an_index_that_is_opened_again_and_checked(report: Index, tmp_path: Path):
    assert report.check() == []
    assert report.sync(tmp_path).unchanged == ("r.pdf",)
    report.close()
    with Index.open(tmp_path / "kb") as again:
        assert again.retrieve("honey", BM25(), k=1)[0].place == "page 4"
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

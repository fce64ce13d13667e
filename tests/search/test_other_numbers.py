"""Amounts, fiscal years and quarters find leaves that write them in another way, and no other leaves."""

from __future__ import annotations

import tempfile
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import BM25, Analyzer, Document, Hybrid, Index
from leafspan.lexical import other_numbers
from tests.search.test_other_writings import OTHERS

ALIKE = [
    [
        "$1.2 billion",
        "$1,200 million",
        "1.2bn",
        "$1.2b",
        "1.20 billion",
        "1,200,000,000",
        "US$ 1200 million",
        "1.2-billion",
    ],
    ["600,000", "600 thousand", "0.6 million", "$600k", "600000"],
    ["FY2022", "FY 2022", "fiscal year 2022", "fiscal 2022", "financial year 2022", "FY22", "FY'22"],
    ["Q4 2022", "fourth quarter of 2022", "4Q22", "4Q 2022", "Q4'22", "Q42022", "FY2022Q4", "2022-Q4", "Q4 FY22"],
    ["12 %", "12%", "12 percent", "12.0%"],
    ["(1,234)", "1,234", "-1,234", "$1,234.00", "1234"],
]
APART = [
    ("1.2", "1.2.3"),
    ("version 1.2", "1,200"),
    ("$1.2 billion", "$1.2.3"),
    ("$1.2 million", "1,200,000,000"),
    ("1,200 litres", "200"),
    ("in 2000", "2 thousand"),
    ("a 5 m rope", "5,000,000"),
    ("our 10K report", "10,000"),
    ("ticket 007500", "7,500"),
    ("on 2022-04-01", "Q4"),
    ("Q4 2022", "the fourth man"),
    ("Q4 2022", "each quarter"),
    ("H1 receptor", "first half"),
    ("FY22", "2023"),
    ("FY2022", "fiscal"),
]
IN_LANGUAGES = [
    ("german", "1.234,5", "1234,5"),
    ("german", "1234", "1.234"),
    ("german", "1,2 Milliarden Euro", "1.200 Mio. Euro"),
    ("german", "1.200 Millionen", "1,2 Mrd."),
    ("french", "1 234,5", "1.234,5"),
    ("french", "1,2 milliard", "1 200 millions"),
    ("italian", "1,2 miliardi", "1.200 milioni"),
]


def found(question: str, leaves: dict[str, str], **options: object) -> list[str]:
    """The leaves that a search by words finds, best first."""
    with Index.open(tempfile.mkdtemp(), **options) as index:  # type: ignore[arg-type]
        index.add([*OTHERS, *(Document(id_, text) for id_, text in leaves.items())])
        return [each.document_id for each in index.retrieve(question, BM25(), k=50) if each.document_id in leaves]


@pytest.mark.parametrize("alike", ALIKE)
def test_a_number_written_in_any_way_finds_leaves_with_any_other(alike: list[str]):
    leaves = {writing: f"It was {writing} then." for writing in alike}
    with Index.open(tempfile.mkdtemp()) as index:
        index.add([*OTHERS, *(Document(id_, text) for id_, text in leaves.items())])
        for asked in alike:
            assert {each.document_id for each in index.retrieve(asked, BM25(), k=50)} == {*alike}


def test_leaves_in_several_segments_are_found_and_one_that_has_only_some_of_the_words_is_not():
    texts = {"apart": "The fourth man came.", "value": "It was 1,200 million.", "quarter": "In the fourth quarter, it was."}
    with Index.open(tempfile.mkdtemp()) as index:
        for document in (*OTHERS, *(Document(id_, text) for id_, text in texts.items())):
            index.add(document)
        assert [each.document_id for each in index.retrieve("Q4", BM25(), k=9)] == ["quarter"]
        assert [each.document_id for each in index.retrieve("$1.2bn", BM25(), k=9)] == ["value"]


@pytest.mark.parametrize(("question", "text"), APART)
def test_another_number_is_not_found(question: str, text: str):
    assert found(question, {"it": text}) == []


@pytest.mark.parametrize(("language", "one", "other"), IN_LANGUAGES)
def test_separators_and_scales_are_those_of_the_leafs_language(language: str, one: str, other: str):
    for asked, written in ((one, other), (other, one)):
        assert found(asked, {"it": f"{written} x"}, analyzer=Analyzer(language)) == ["it"]


def test_a_comma_is_decimal_in_one_language_and_separates_thousands_in_another():
    leaves = {"twelve hundred": "1.200.000 x", "one": "1.200 x"}
    assert found("1,2 Millionen", leaves, analyzer=Analyzer("german"))[0] == "twelve hundred"
    assert found("1,200 thousand", {"it": "1.2 million"}, analyzer=Analyzer("english")) == ["it"]


def test_the_same_value_is_found_before_the_same_digits_and_these_before_other_rows():
    leaves = {
        "value": "Revenue was $1.2bn in all.",
        "cell": "| Revenue | 1,200 | 3,400 |",
        "other": "| Revenue | 1,300 | 3,400 |",
    }
    assert found("revenue of $1.2 billion", leaves) == ["value", "cell", "other"]


def test_a_cell_is_found_in_a_table_in_millions_before_one_without_a_unit():
    table = "Sales (in millions):\n\n|  | 2019 |\n|---|---|\n" + "| Nothing of interest | 17 |\n" * 20 + "| Tea | 1,200 |\n"
    leaves = {"without": table.replace("(in millions)", "of the club"), "millions": table}
    assert found("Tea of $1.2 billion", leaves)[0] == "millions"


def test_the_year_in_prose_is_found_before_the_fiscal_year():
    leaves = {"prose": "It was sold in 2022, at last.", "fiscal": "It was sold in FY22, at last."}
    assert found("Was it sold in 2022?", leaves) == ["prose", "fiscal"]
    assert set(found("Was it sold in fiscal 2022?", leaves)) == {"prose", "fiscal"}


def test_own_writing_is_found_first():
    for one, other in permutations(("$1.2 billion", "1,200 million", "1.2bn"), 2):
        assert found(one, {"other": f"It was {other} then.", "own": f"It was {one} then."})[0] == "own"


def test_another_writing_does_not_make_an_answer_less_probable():
    text = "The profit of $1.2 billion is for bees."
    with Index.open(tempfile.mkdtemp()) as alone, Index.open(tempfile.mkdtemp()) as both:
        alone.add([*OTHERS, Document("it", text)])
        both.add([*OTHERS, Document("it", text), Document("other", "Nobody likes 1,200 million of them.")])
        first, second = (index.retrieve("Is $1.2 billion for bees?", Hybrid(), k=1)[0] for index in (alone, both))
    assert (first.document_id, second.document_id) == ("it", "it")
    assert second.score > 0.8 * first.score


SCALES = {"": 0, " thousand": 3, " million": 6, "m": 6, " billion": 9, "bn": 9, " trillion": 12}


@given(st.integers(1, 9_999), st.sampled_from(sorted(SCALES)), st.sampled_from(sorted(SCALES)))
def test_an_amount_of_the_same_value_is_one_of_the_writings(number: int, scale: str, other: str):
    value = number * 10 ** (9 + SCALES[scale] - SCALES[other])
    if value % 10**9 or value >= 10**18 or (number * 10 ** SCALES[scale] < 1000):
        return
    written = {chunk.replace(",", "") for chunk, _, _ in other_numbers(f"${number:,}{scale}", "english")}
    assert f"{value // 10**9}{other}" in written


@given(
    st.text(st.sampled_from("0123456789 .,'-$€%qQfFyYkmbn\u00a0\u0661"), max_size=40),
    st.sampled_from(["english", "german"]),
)
def test_any_text_may_be_asked(text: str, language: str):
    for chunk, words, share in other_numbers(text, language):
        assert chunk
        assert words
        assert 0 < share <= 1

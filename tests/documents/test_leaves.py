"""Other text that is indexed with a leaf: its neighbours' sentences, the title, the headings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import Document
from leafspan.documents import find_sections, indexed_heads, indexed_texts, make_leaves, titles_of_leaves
from leafspan.splitting import Cut, Heading
from leafspan.values import Ancestor, Section
from tests.profiles import examples


def document(*pieces: str):
    """A document whose leaves are these pieces; and its leaves."""
    made = Document("d", "".join(pieces))
    ends = [sum(map(len, pieces[: n + 1])) for n in range(len(pieces))]
    return made, make_leaves(made, "00000000", [Cut(end) for end in ends])


def context(*pieces: str, sentences: int) -> list[str]:
    made, leaves = document(*pieces)
    return indexed_texts(made, leaves, context_sentences=sentences)


# Ancestors


def test_every_leaf_has_an_ancestor_of_each_level_up_to_the_whole_document():
    #        leaves: 0     1         2        3         4;   level 1 ends after 1, 3 and 4, level 2 after 3 and 4
    text = "one two three four five six seven"
    cuts = [Cut(4, 0), Cut(14, 1), Cut(19, 0), Cut(28, 2), Cut(33, 0)]
    leaves = make_leaves(Document("d", text), "00000000", cuts)
    assert [(leaf.ordinal, leaf.start, leaf.end, leaf.words) for leaf in leaves] == [
        *((0, 0, 4, 1), (1, 4, 14, 2), (2, 14, 19, 1), (3, 19, 28, 2), (4, 28, 33, 1))
    ]
    first, second = Ancestor(0, 1, 2, 0, 14, 3), Ancestor(2, 3, 2, 14, 28, 3)
    both = Ancestor(0, 3, 2, 0, 28, 6)
    last, above_last = Ancestor(4, 4, 1, 28, 33, 1), Ancestor(4, 4, 1, 28, 33, 1)
    whole = Ancestor(0, 4, 2, 0, 33, 7)
    assert [leaf.ancestors for leaf in leaves] == [
        *[(first, both, whole)] * 2,
        *[(second, both, whole)] * 2,
        (last, above_last, whole),
    ]


def test_a_word_that_a_cut_divides_counts_once_in_what_holds_both_parts():
    leaves = make_leaves(Document("d", "a long-winded word"), "00000000", [Cut(5, 0), Cut(14, 1), Cut(18, 0)])
    assert [leaf.words for leaf in leaves] == [2, 1, 1]  # "a lon", "g-winded ", "word"
    assert [leaf.ancestors[0].words for leaf in leaves] == [2, 2, 1]
    assert leaves[0].ancestors[-1].words == 3
    assert make_leaves(Document("d", ""), "00000000", []) == []


# Sentences of the neighbours


def test_a_leaf_is_indexed_with_the_last_sentences_before_and_the_first_behind_it():
    pieces = ("One. Two. Three. ", "Four. ", "Five. Six. Seven.")
    assert context(*pieces, sentences=0) == list(pieces)
    assert context(*pieces, sentences=1)[1] == "Three. Four. Five. "
    assert context(*pieces, sentences=2)[1] == "Two. Three. Four. Five. Six. "
    assert context(*pieces, sentences=3)[1] == "".join(pieces)
    assert context(*pieces, sentences=9)[1] == "".join(pieces)  # and no more than the neighbours


def test_the_first_and_the_last_leaf_have_one_neighbour():
    assert context("One. Two. ", "Three. Four.", sentences=1) == ["One. Two. Three. ", "Two. Three. Four."]
    assert context("Alone.", sentences=2) == ["Alone."]


@pytest.mark.parametrize(
    ("before", "last"),
    [
        ("One. Two. ", "Two. "),
        ("One! Two? ", "Two? "),
        ("One… Two… ", "Two… "),
        ("他来了。她走了。", "她走了。"),  # no space between sentences
        ("他来了！她走了？", "她走了？"),
        ("“One.” Two. ", "Two. "),  # the quote ends with the sentence
        ('He said "one." Two. ', "Two. "),
        ("(One.) Two. ", "Two. "),
        ("[One.] Two. ", "Two. "),
        ("«One.» Two. ", "«One.» Two. "),  # these are not known
        ("A heading\n\nTwo. ", "Two. "),  # a paragraph ends a sentence without a full stop
        ("A heading\n  \nTwo. ", "Two. "),
        ("One\nTwo. ", "One\nTwo. "),  # a line does not
        ("Version 1.5 is out. ", "Version 1.5 is out. "),
        ("No end", "No end"),
    ],
)
def test_where_a_sentence_ends(before, last):
    assert context(before, "Then.", sentences=1)[1] == last + "Then."


def test_the_first_sentence_behind_a_leaf_ends_where_sentences_end():
    assert context("One. ", "“Two.” Three.", sentences=1)[0] == "One. “Two.” "
    assert context("一。", "二。三。", sentences=1)[0] == "一。二。"
    assert context("One. ", "Two\n\nThree.", sentences=1)[0] == "One. Two\n\n"


pieces = st.lists(
    st.lists(st.sampled_from(["One. ", "Two! ", "“Three.” ", "四。", "five ", "Six\n\n"]), min_size=1, max_size=4).map(
        "".join
    ),
    min_size=1,
    max_size=4,
)


@examples(200)
@given(pieces, st.integers(0, 4))
def test_what_is_indexed_is_a_part_of_the_text_around_the_leaf_that_grows_with_the_number_of_sentences(parts, count):
    whole = "".join(parts)
    _, leaves = document(*parts)
    for leaf, narrow, wide in zip(
        leaves, context(*parts, sentences=count), context(*parts, sentences=count + 1), strict=True
    ):
        around = whole[leaves[max(0, leaf.ordinal - 1)].start : leaves[min(len(leaves) - 1, leaf.ordinal + 1)].end]
        assert parts[leaf.ordinal] in narrow
        assert narrow in wide
        assert wide in around


# Sections


def leaves_of_ten(number: int):
    return document(*["ten chars."] * number)[1]


def heading(start: int, depth: int, text: str = "x") -> Heading:
    return Heading(start, start + len(text), depth, text)


def test_a_section_goes_to_the_next_heading_of_its_rank_or_a_higher_one():
    found = find_sections(
        leaves_of_ten(6),
        [heading(0, 1, "A"), heading(10, 2, "A.1"), heading(20, 3, "A.1.a"), heading(30, 2, "A.2"), heading(50, 1, "B")],
    )
    assert found == [
        Section(0, 4, 1, "A"),
        Section(1, 2, 2, "A.1"),
        Section(2, 2, 3, "A.1.a"),
        Section(3, 4, 2, "A.2"),
        Section(5, 5, 1, "B"),
    ]


def test_a_heading_without_text_of_its_own_has_the_leaf_that_it_stands_in():
    # Both are in leaf 1: the section of the first one ends where the second begins, but not before its own leaf.
    found = find_sections(leaves_of_ten(3), [heading(10, 1, "A"), heading(15, 1, "B")])
    assert found == [Section(1, 1, 1, "A"), Section(1, 2, 1, "B")]
    found = find_sections(leaves_of_ten(3), [heading(10, 1, "A"), heading(10, 1, "B")])
    assert found == [Section(1, 1, 1, "A"), Section(1, 2, 1, "B")]


@examples(200)
@given(st.integers(1, 8), st.lists(st.tuples(st.integers(0, 79), st.integers(1, 3)), max_size=6))
def test_every_section_begins_with_its_heading_and_none_crosses_another(number, drawn):
    leaves = leaves_of_ten(number)
    headings = [heading(start, depth) for start, depth in sorted(drawn) if start < number * 10]
    sections = find_sections(leaves, headings)
    assert [section.depth for section in sections] == [each.depth for each in headings]
    for here, section in zip(headings, sections, strict=True):
        assert leaves[section.first].start <= here.start < leaves[section.first].end
        assert section.first <= section.last < number
        deeper = [other for other, at in zip(sections, headings, strict=True) if here.start < at.start < section.last * 10]
        assert all(other.last <= section.last for other in deeper if other.depth > section.depth)


# Titles


def test_a_leaf_is_indexed_with_the_title_and_the_headings_it_stands_under_but_none_twice():
    sections = [Section(0, 3, 1, "Tea"), Section(1, 2, 2, "Brewing"), Section(2, 2, 3, ""), Section(3, 3, 2, "Tea")]
    assert titles_of_leaves("Tea", sections, 4) == [["Tea"], ["Tea", "Brewing"], ["Tea", "Brewing"], ["Tea"]]
    assert titles_of_leaves(None, sections, 4) == [["Tea"], ["Tea", "Brewing"], ["Tea", "Brewing"], ["Tea", "Tea"]]
    assert titles_of_leaves("", [], 2) == [[], []]


def test_the_title_and_the_path_of_headings_are_two_lines():
    sections = [Section(0, 2, 1, "Drinks"), Section(1, 1, 2, "Tea")]
    assert indexed_heads("Guide", sections, 4) == ["Guide\nDrinks", "Guide\nDrinks > Tea", "Guide\nDrinks", "Guide"]
    assert indexed_heads(None, sections, 4) == ["Drinks", "Drinks > Tea", "Drinks", ""]

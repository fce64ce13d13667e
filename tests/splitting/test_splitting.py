from __future__ import annotations

import re
import time
from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from wcwidth import iter_graphemes

from leafspan import ChunkSplitter, Document, HierarchicalSplitter, InvalidArgument
from leafspan.documents import find_sections, indexed_heads, indexed_texts, make_leaves, pack_place, unpack_place
from leafspan.errors import FunctionFailed, InvalidDocument, UnusableResult
from leafspan.splitting import (
    Cut,
    check_cuts,
    cuts_at,
    describe_splitter,
    find_headings,
    front_matter,
    to_cuts,
)
from leafspan.splitting._headings import find_tables
from leafspan.splitting._hierarchical import group
from leafspan.store import Row
from leafspan.text import count_words
from tests.profiles import examples

PIECES = [
    "word ",
    "Two words. ",
    "\n",
    "\r\n",
    "\n\n",
    "# Heading\n",
    "## Sub\n",
    "Title\n=====\n",
    "```\n# no\n```\n",
    "- item\n",
    "日本語。",
    "漢字",
]
PIECES += [
    "😀",
    "👨‍👩‍👧",
    "שלום עולם. ",
    "\x00",
    "\x85",
    "\u2028",
    "\u200b",
    "x" * 300,
    "  ",
    "\t",
    "| a | b |\n",
    "e\u0301",
    "... ",
    "3.14 ",
]
texts = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
splitters = st.sampled_from(
    [
        HierarchicalSplitter(),
        HierarchicalSplitter(leaf_words=5, parent_words=(12, 40)),
        HierarchicalSplitter(leaf_words=20, parent_words=(60,), unit="characters"),
        HierarchicalSplitter(leaf_words=4, parent_words=(), unit=lambda text: len(text) // 4),
    ]
)


def leaves_of(text, splitter):
    return make_leaves(Document("d", text), "00000000", splitter(text))


@examples(400)
@given(texts, splitters)
@example(" " * 1000, HierarchicalSplitter())
@example("", HierarchicalSplitter())
@example("# A\n\n## B\n", HierarchicalSplitter())
@example("a\r\n\r\nb\rc\n\nd", HierarchicalSplitter(leaf_words=1, parent_words=(2,)))
def test_leaves_joined_give_the_text_back(text, splitter):
    leaves = leaves_of(text, splitter)
    assert "".join(text[leaf.start : leaf.end] for leaf in leaves) == text
    assert all(leaf.start < leaf.end for leaf in leaves)
    assert [leaf.ordinal for leaf in leaves] == list(range(len(leaves)))


@examples(200)
@given(texts, splitters)
def test_every_level_partitions_the_document_into_whole_nodes_of_the_level_below(text, splitter):
    leaves = leaves_of(text, splitter)
    for leaf in leaves:
        below = (leaf.ordinal, leaf.ordinal)
        for node in leaf.ancestors:
            assert node.first <= below[0]
            assert below[1] <= node.last
            assert (node.start, node.end) == (leaves[node.first].start, leaves[node.last].end)
            assert node.words == count_words(text[node.start : node.end])
            below = (node.first, node.last)
        assert leaf.ancestors[-1].first == 0
        assert leaf.ancestors[-1].last == len(leaves) - 1
    for level in range(len(splitter.parent_words) + 1 if leaves else 0):
        nodes = {leaf.ancestors[level] for leaf in leaves}
        children = {(leaf.ancestors[level - 1] if level else leaf.ordinal, leaf.ancestors[level]) for leaf in leaves}
        assert sum(node.last - node.first + 1 for node in nodes) == len(leaves)
        assert all(node.children == sum(parent == node for _, parent in children) for node in nodes)


@examples(200)
@given(texts)
def test_no_leaf_reaches_across_a_heading(text):
    headings = find_headings(text)
    for leaf in leaves_of(text, HierarchicalSplitter(leaf_words=20)):
        for heading in headings:
            if leaf.start < heading.start < leaf.end:
                # Only headings above it without a text of their own, and white space, stand before it in its leaf.
                before = [other for other in headings if leaf.start <= other.start < heading.start]
                own = sum(len(text[other.start : other.end].strip()) for other in before)
                assert own == sum(len(part.strip()) for part in _cut(text, leaf.start, heading.start, before))


def _cut(text, start, end, headings):
    places = sorted({start, end, *(h.start for h in headings), *(h.end for h in headings)})
    return [text[a:b] for a, b in pairwise(places)]


def test_leaves_end_where_sentences_end():
    text = "The first sentence has seven words here. The second one has six words. A third follows it."
    leaves = leaves_of(text, HierarchicalSplitter(leaf_words=8, parent_words=(30,)))
    assert [text[leaf.start : leaf.end] for leaf in leaves] == [
        "The first sentence has seven words here. ",
        "The second one has six words. ",
        "A third follows it.",
    ]


def test_the_lines_of_a_wrapped_paragraph_are_not_taken_for_sentences():
    text = (
        "This paragraph has been wrapped at some seventy characters, as text\n"
        "files are, and this sentence ends in its second line. The other one\n"
        "reaches down to the third.\nA short line\nAnd a list"
    )
    leaves = leaves_of(text, HierarchicalSplitter(leaf_words=24, parent_words=(50,)))
    assert [text[leaf.start : leaf.end].split(maxsplit=1)[0] for leaf in leaves] == ["This", "The"]


def leaf_texts(text, leaf_words):
    return [text[leaf.start : leaf.end] for leaf in leaves_of(text, HierarchicalSplitter(leaf_words, (50,)))]


def test_the_mark_of_a_list_stands_at_the_head_of_its_first_sentence():
    text = "# Rules\n\n- Dogs pay half of the price here. They sleep below the deck of the ferry.\n- Cats pay nothing.\n"
    assert leaf_texts(text, 10) == [
        "# Rules\n\n- Dogs pay half of the price here. ",
        "They sleep below the deck of the ferry.\n",
        "- Cats pay nothing.\n",
    ]


def test_marks_stay_alone_where_there_is_no_room_for_them():
    text = "# Rules\n\n- Dogs pay half. They sleep below.\n"
    leaves = leaf_texts(text, 3)
    assert "".join(leaves) == text
    assert all(len(leaf.split()) <= 3 for leaf in leaves[1:])


def test_a_sentence_longer_than_a_leaf_is_cut_between_words():
    leaves = leaves_of("word " * 95, HierarchicalSplitter(leaf_words=10, parent_words=(50,)))
    assert max(leaf.words for leaf in leaves) <= 10
    assert sum(leaf.words for leaf in leaves) == 95


@pytest.mark.parametrize(
    ("text", "most_characters"),
    [("漢字" * 5_000, 45), ("A" * 100_000, 45 * 12 + 11), ("ก" * 20_000, 45 * 12 + 11), ("one two three " * 5_000, 45 * 6)],
    ids=["Chinese without full stops", "base64", "Thai", "words without full stops"],
)
def test_runs_without_sentence_ends_are_cut_to_size(text, most_characters):
    leaves = leaves_of(text, HierarchicalSplitter())
    assert max(leaf.end - leaf.start for leaf in leaves) <= most_characters


def test_ten_megabytes_in_one_line_are_split():
    text = "lorem ipsum dolor sit amet " * 400_000
    assert leaves_of(text, HierarchicalSplitter(leaf_words=500, parent_words=(2_000,)))[-1].end == len(text) == 10_800_000


def test_a_heading_stands_at_the_head_of_the_leaf_that_follows_it():
    text = "# A\n\nOne sentence. Another one.\n\n# B\n## C\nThe text of C.\n"
    leaves = leaves_of(text, HierarchicalSplitter())
    assert [text[leaf.start : leaf.end] for leaf in leaves] == [
        "# A\n\nOne sentence. Another one.\n\n",
        "# B\n## C\nThe text of C.\n",
    ]


def test_headings_come_from_markdown_and_not_from_code():
    text = "Intro\n\n# First #\n\ntext\n\n```\n# a comment\n```\n\nSecond\n======\r\n\r\n### Third\rend"
    assert [(h.depth, h.text) for h in find_headings(text)] == [(1, "First"), (1, "Second"), (3, "Third")]
    assert [text[h.start : h.end] for h in find_headings(text)] == ["# First #\n", "Second\n======\r\n", "### Third\r"]


@pytest.mark.parametrize("line", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("blanks", ["", "  "])
@pytest.mark.parametrize(
    ("lines", "headings"),
    [
        (["Title", "=====", "", "Text."], [(1, "Title")]),
        (["Title", "-----", "", "Text.", "", "More", "-"], [(2, "Title"), (2, "More")]),
        (["Two", "lines", "---", "Text."], [(2, "Two\nlines")]),
        (["\ufeff# Title", "", "Text."], [(1, "Title")]),
        (["\ufeff\ufeffTitle", "=====", "", "Text."], [(1, "Title")]),
        (["Text.", "", "\ufeff## A file that was put behind another", ""], [(2, "A file that was put behind another")]),
        (["\ufeff---", "a: b", "---", "Title", "==="], [(1, "Title")]),
        (["+++", "a = 1", "+++", "Title", "---"], [(2, "Title")]),
        (["Text.", "", "---", "", "- a", "- b", "", "| a |", "|---|"], []),
    ],
)
def test_headings_are_found_under_each_line_end_and_behind_a_byte_order_mark(lines, headings, blanks: str, line: str):
    text = f"{blanks}{line}".join(lines)
    found = find_headings(text)
    assert [(h.depth, re.sub(" *\n", "\n", h.text)) for h in found] == headings
    assert all(text[: h.start].endswith(line) for h in found if h.start)
    assert all(text[h.start : h.end].endswith(line) for h in found if h.end < len(text))


def test_what_is_longer_than_a_thousand_characters_is_no_heading():
    assert [h.text for h in find_headings(f"# {'x' * 1_000}\n# {'y' * 1_001}\n{'z' * 1_001}\n---\n")] == ["x" * 1_000]


def test_parents_end_at_headings_and_paragraphs_where_these_allow():
    paragraph = "Ten words are in this sentence, as you can count. " * 5
    text = "\n\n".join(["# One\n\n" + paragraph, paragraph, "# Two\n\n" + paragraph, paragraph])
    leaves = leaves_of(text, HierarchicalSplitter(leaf_words=20, parent_words=(120,)))
    parents = sorted({leaf.ancestors[0] for leaf in leaves})
    assert [text[node.start : node.end].lstrip("# \n")[:3] for node in parents] == ["One", "Two"]


def test_grouping_prefers_full_groups_and_strong_cuts():
    #                         sizes 4 4 4 4, limit 8: two full groups cost 2 * 0 + the cut between them
    assert group([4, 4, 4, 4], [0, 0.1, 0.1, 0.1], 8) == [2, 4]
    # A cut in the middle of something is avoided: (4) (4 4) (4) costs 0.25 + 0.25 + 0, (4 4) (4 4) costs 9.
    assert group([4, 4, 4, 4], [0, 0, 9, 0], 8) == [1, 3, 4]
    assert group([20, 1, 1], [0, 0, 0], 8) == [1, 3]
    assert group([], [], 8) == []


@given(st.lists(st.integers(1, 12), max_size=9), st.data(), st.integers(3, 15))
def test_grouping_is_the_best_of_all_groupings(sizes, data, limit):
    weaknesses = data.draw(st.lists(st.sampled_from([0.0, 0.1, 0.5]), min_size=len(sizes), max_size=len(sizes)))

    def cost(ends):
        total = 0.0
        for start, end in zip([0, *ends], ends, strict=False):
            size = sum(sizes[start:end])
            if size > limit and end - start > 1:
                return float("inf")
            total += (max(limit - size, 0) / limit) ** 2 + (weaknesses[start] if start else 0)
        return total

    every = [
        [i + 1 for i in range(len(sizes)) if mask >> i & 1 or i == len(sizes) - 1]
        for mask in range(1 << max(len(sizes) - 1, 0))
    ]
    assert cost(group(sizes, weaknesses, limit)) == pytest.approx(min(map(cost, every)) if sizes else 0)


def test_words_are_runs_without_spaces_and_single_cjk_characters():
    assert count_words("three small words") == 3
    assert count_words("日本語 text 한국어") == 3 + 1 + 3
    assert count_words(" \n ") == 0


@examples(100)
@given(texts, splitters)
def test_a_leafs_place_survives_packing(text, splitter):
    for leaf in leaves_of(text, splitter):
        assert unpack_place(leaf.id, pack_place(leaf)) == leaf


def test_a_document_id_may_hold_the_separator():
    leaf = make_leaves(Document("a#b#c", "text"), "00000000", [Cut(4)])[0]
    assert str(leaf.id) == "a#b#c#00000000#0"
    assert unpack_place(leaf.id, pack_place(leaf)).document_id == "a#b#c"


@pytest.mark.parametrize(
    ("cuts", "message"),
    [
        ([Cut(3)], "the last cut must be at the end of the text, 4, got 3"),
        ([Cut(2), Cut(2), Cut(4)], "cuts must ascend and be within the text, got 2 after 2"),
        ([Cut(4, -1)], "the level of a cut must be from 0 to 100, got -1 at 4"),
        ([Cut(4, 101)], "the level of a cut must be from 0 to 100, got 101 at 4"),
        ([], "the last cut must be at the end of the text, 4, got 0"),
    ],
)
def test_a_splitter_that_does_not_partition_is_refused(cuts, message):
    with pytest.raises(InvalidDocument, match=message):
        check_cuts(cuts, "text")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"leaf_words": 0}, r"must be positive and ascending, got \(0, 150, 600\)"),
        ({"parent_words": (800, 200)}, r"must be positive and ascending, got \(45, 800, 200\)"),
        ({"leaf_words": 300}, r"must be positive and ascending, got \(300, 150, 600\)"),
        ({"unit": "tokens"}, "unit must be 'words', 'characters' or a function, got 'tokens'"),
    ],
)
def test_bad_sizes_are_refused(options, message):
    with pytest.raises(InvalidArgument, match=message):
        HierarchicalSplitter(**options)


def test_chunks_of_others_become_cuts_where_they_start():
    sentences = ChunkSplitter(lambda text: [s.strip() for s in re.findall(r"[^.]+\.", text)], "sentences")
    text = " One two. Three.  Four five. "
    leaves = leaves_of(text, sentences)
    assert [text[leaf.start : leaf.end] for leaf in leaves] == [" One two. ", "Three.  ", "Four five. "]


def test_overlapping_chunks_partition_all_the_same():
    text = "abcdefghij"
    overlapping = ChunkSplitter(lambda text: [text[i : i + 4] for i in range(0, len(text), 3)], "overlapping")
    assert [leaf.end for leaf in leaves_of(text, overlapping)] == [3, 6, 9, 10]


def test_chunks_that_are_not_in_the_text_are_refused():
    shouting = ChunkSplitter(lambda text: [text.upper()], "shouting")
    with pytest.raises(InvalidDocument, match="shouting changed the text: its chunk 'TEXT' is not in it"):
        shouting("text")


def test_chunks_that_share_more_than_was_said_are_found_behind_the_one_before():
    sharing = ChunkSplitter(lambda text: ["one two one", "one two"], "sharing")
    assert [cut.end for cut in sharing("one two one two")] == [8, 15]  # the second begins where "one" comes again


@pytest.mark.parametrize("wrong", [None, "text", 7])
def test_a_splitter_of_chunks_that_gives_no_texts_is_named_with_the_text(wrong):
    with pytest.raises(UnusableResult) as raised:
        ChunkSplitter(lambda text: wrong, "words")("A text.")
    assert str(raised.value) == f"the splitter words must return a list of texts, got {wrong!r}; it was given 'A text.'"


def test_a_splitter_of_chunks_that_fails_is_named_with_the_text():
    with pytest.raises(FunctionFailed) as raised:
        ChunkSplitter(broken, "words")("A text.")
    assert str(raised.value) == "the splitter words failed with ZeroDivisionError: boom; it was given 'A text.'"


@pytest.mark.parametrize(
    ("returned", "got"), [("abc", "'abc'"), (7, "7"), ([7], "7"), ([Cut(True)], r"Cut(end=True, level=0)")]
)
def test_what_is_no_list_of_cuts_is_shown(returned, got):
    with pytest.raises(UnusableResult) as raised:
        to_cuts("words", returned)
    assert str(raised.value) == f"the splitter words must return a list of Cuts of whole numbers, got {got}"


def test_an_index_stores_the_description_of_a_splitter_or_its_name():
    class Mine:
        def __call__(self, text):
            return [Cut(len(text))]

    assert describe_splitter(broken) == "tests.splitting.test_splitting.broken"
    assert describe_splitter(Mine()).startswith("tests.splitting.test_splitting.")
    assert describe_splitter(Mine()).endswith(".Mine")
    assert describe_splitter(ChunkSplitter(broken, "words")) == "words"


@pytest.mark.parametrize(("unit", "name"), [("words", "words"), ("characters", "characters"), (len, "len")])
def test_the_description_of_a_splitter_of_ours_has_its_options(unit, name):
    splitter = HierarchicalSplitter(leaf_words=40, parent_words=(150, 600), unit=unit)
    described = f"HierarchicalSplitter(leaf_words=40, parent_words=(150, 600), unit={name})"
    assert splitter.describe() == describe_splitter(splitter) == described


@pytest.mark.parametrize("unit", ["words", "characters"])
def test_the_options_of_a_splitter_make_an_equal_one(unit):
    splitter = HierarchicalSplitter(leaf_words=40, parent_words=(150, 600), unit=unit)
    assert HierarchicalSplitter(**splitter.options()) == splitter


def test_nodes_of_several_levels_become_cuts_with_levels():
    assert cuts_at([[0, 2, 4, 6], [0, 4]], "abcdefgh") == [Cut(2, 0), Cut(4, 1), Cut(6, 0), Cut(8, 1)]


def test_leaves_are_indexed_under_title_and_headings():
    text = "Before.\n\n# Animals\n\n## Bees\n\nThey dance.\n\n# Plants\n\nThey grow.\n"
    document = Document("d", text, "Nature")
    leaves = make_leaves(document, "00000000", HierarchicalSplitter()(text))
    sections = find_sections(leaves, find_headings(text))
    assert [(s.first, s.last, s.depth, s.text) for s in sections] == [
        (1, 1, 1, "Animals"),
        (1, 1, 2, "Bees"),
        (2, 2, 1, "Plants"),
    ]
    assert indexed_heads(document.title, sections, len(leaves)) == ["Nature", "Nature\nAnimals > Bees", "Nature\nPlants"]
    assert indexed_heads(None, [], len(leaves)) == ["", "", ""]


def test_neighbouring_sentences_can_be_indexed_with_a_leaf():
    text = "One. Two. Three. Four. Five. Six."
    document = Document("d", text)
    leaves = make_leaves(document, "00000000", [Cut(10), Cut(23), Cut(len(text))])
    assert indexed_texts(document, leaves, context_sentences=1) == [
        "One. Two. Three. ",
        "Two. Three. Four. Five. ",
        "Four. Five. Six.",
    ]


@examples(200)
@given(texts)
def test_sections_cover_the_leaves_from_their_heading_to_the_next_of_its_rank(text):
    leaves = leaves_of(text, HierarchicalSplitter(leaf_words=5))
    headings = find_headings(text)
    for section, heading in zip(find_sections(leaves, headings), headings, strict=True):
        assert leaves[section.first].start <= heading.start < leaves[section.first].end
        after = [other.start for other in headings if other.start > heading.start and other.depth <= heading.depth]
        if after and section.last + 1 < len(leaves):
            assert leaves[section.last].start < after[0] <= leaves[section.last + 1].start or section.first == section.last


@examples(100)
@given(texts, st.data())
def test_leaves_stand_under_the_headings_whose_sections_hold_them_all(text, data):
    leaves = leaves_of(text, HierarchicalSplitter(leaf_words=5))
    sections = find_sections(leaves, find_headings(text)) if leaves else []
    row = Row("a", "", "12345678", len(leaves), sections=tuple(sections))
    ordinals = st.integers(0, max(0, len(leaves) - 1))
    runs = [tuple(sorted(run)) for run in data.draw(st.lists(st.tuples(ordinals, ordinals), min_size=1, max_size=2))]
    path = []
    for section in sections:
        if all(section.first <= first and last <= section.last for first, last in runs):
            path = [*(outer for outer in path if outer.depth < section.depth), section]
    assert row.headings(runs) == tuple(section.text for section in path if section.text)


@pytest.mark.parametrize("end", ["---", "..."])
@pytest.mark.parametrize("line", ["\n", "\r\n"])
def test_front_matter_is_no_heading(line: str, end: str):
    text = line.join(
        ["---", "layout: post", "title: The dance", end, "", "# Bees", "", "They dance.", "", "---", "", "Text."]
    )
    assert [(heading.text, heading.depth) for heading in find_headings(text)] == [("Bees", 1)]
    assert text[find_headings(text)[0].start :].startswith("# Bees")
    assert front_matter(text) == text[: text.index(f"{end}{line}{line}#") + 3]


@pytest.mark.parametrize("begins", ["---\ntitle: Bees\n", "+++\ntitle = 'Bees'\n"])
def test_front_matter_of_more_than_200_lines_begins_with_a_field(begins: str):
    front = begins + "# a note\n" * 300 + begins[:3]
    assert front_matter(f"{front}\n# Bees\n") == front
    assert front_matter(front.replace("title", "")) == ""


@pytest.mark.parametrize("text", ["# Bees\n", "---\nno end", "Text.\n---\na: b\n---\n", ""])
def test_what_does_not_begin_with_front_matter_has_none(text: str):
    assert front_matter(text) == ""


def test_a_page_with_the_line_ends_of_windows_may_begin_with_a_line_of_dashes_that_has_no_second_one():
    assert front_matter("---\r\n" + "Text.\r\n" * 300) == ""  # a hang, if each line end could be taken as one or as two


def broken(text):
    raise ZeroDivisionError("boom")


def test_a_unit_that_fails_is_named_with_what_it_was_given():
    with pytest.raises(
        FunctionFailed, match=r"unit of the splitter, .*broken failed with ZeroDivisionError: boom.*'A short text"
    ):
        HierarchicalSplitter(unit=broken)("A short text. And another one.")


@pytest.mark.parametrize("length", [None, 1.5, float("nan"), "x", -1])
def test_a_unit_must_give_a_whole_number(length):
    with pytest.raises(UnusableResult, match=r"unit of the splitter, .* must return a whole number >= 0"):
        HierarchicalSplitter(unit=lambda text: length)("A short text. And another one.")


def test_a_unit_may_give_a_number_of_numpys():
    text = "A short text. And another one."
    cuts = HierarchicalSplitter(leaf_words=4, parent_words=(), unit=lambda text: np.int64(len(text) // 4))(text)
    assert cuts == HierarchicalSplitter(leaf_words=4, parent_words=(), unit=lambda text: len(text) // 4)(text)


def test_the_end_of_the_text_ends_all_levels_though_a_chunk_starts_there():
    assert cuts_at([[0, 4, 8], [0]], "Tea. Hot") == [Cut(4, 0), Cut(8, 1)]
    assert cuts_at([[0, 3, 6], [0, 6]], "abcdefgh") == [Cut(3, 0), Cut(6, 1), Cut(8, 1)]


TABLES = {
    "| a | b |\n|---|---|\n| 1 | 2 |\n": ["a | b"],
    "a | b\n--|--\n1 | 2\nno row": ["a | b"],
    "| one |\n|-----|\n| 1 |": ["one"],
    "One.\r\n| a | b |\r\n|:-:|--:|\r\n| 1 | 2 |\r\n\r\nx": ["a | b"],
    "| a \\| b | c |\n|---|---|\n| 1 | 2 |": ["a \\| b | c"],
    "|a|\n|-|\n|1|\n\n|b|\n|-|\n|2|": ["a", "b"],
    "| a | b |\n|---|\n| 1 | 2 |": [],  # another number of columns
    "|  |  |\n|---|---|\n| 1 | 2 |": [],  # no names
    "Heading\n---\na | b": [],
    "|---|---|\n| 1 | 2 |": [],
    "a - b | c\n- d | e": [],
    "": [],
    # Captions: a short line above the table
    "Prices (in euros)\n\n| a | b |\n|---|---|\n| 1 | 2 |": ["Prices (in euros) a | b"],
    "We sell tea. The prices are:\n\n|  | b |\n|---|---|\n| 1 | 2 |": ["The prices are: | b"],
    "We sell tea.\n\n| a | b |\n|---|---|\n| 1 | 2 |": ["a | b"],
    "# Tea\n\n| a | b |\n|---|---|\n| 1 | 2 |": ["a | b"],
    "Tea\n\n\n\n| a | b |\n|---|---|\n| 1 | 2 |": ["a | b"],
    f"{'Tea ' * 50}\n\n| a | b |\n|---|---|\n| 1 | 2 |": ["a | b"],
    # Headers of several rows
    "|  | Fiscal |  |\n|---|---|---|\n|  | 2019 | 2018 |\n| (in millions) |  |  |\n| Tea | 1 | 2 |\n|  | 3 | 4 |": [
        "(in millions) | Fiscal 2019 | 2018"
    ],
    "| a | b |\n|---|---|\n|  | 1 |\n| Tea | 2 |": ["a | b"],  # each column has a name
    "|  | b |\n|---|---|\n|  | 1 |": [" | b"],  # the last row does not belong to the header
    "|  | b |\n|---|---|\n|  | 1 | 2 |\n| Tea | 2 |": [" | b"],  # another number of columns
}


@pytest.mark.parametrize(("text", "headers"), TABLES.items())
def test_tables_are_found_by_the_line_below_their_header(text: str, headers: list[str]):
    assert [table.header for table in find_tables(text)] == headers


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.sampled_from(["\n", "\r\n", "\r"]))
def test_a_table_goes_from_its_header_to_its_last_row(sizes: list[int], end: str):
    tables = [end.join(["| a | b |", "|---|---|", *["| 1 | 2 |"] * size, ""]) for size in sizes]
    text = f"Text.{end}" + f"{end}Text.{end}".join(tables)
    assert [text[each.start : each.end] for each in find_tables(text)] == tables


@pytest.mark.parametrize(
    "text", ["|-" * 200_000, "-" * 300_000 + "|", " " * 300_000 + "|-|", "|a|\n|-|\n" * 50_000, ("|" * 300 + "\n") * 1_000]
)
def test_looking_for_tables_takes_time_in_proportion(text: str):
    started = time.process_time()
    find_tables(text)
    assert time.process_time() - started < 3


CLUSTERS = [
    "👨‍👩‍👧‍👦",
    "👩🏽‍❤️‍💋‍👨🏿",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "🇩🇪",
    "🇫🇷",
    "#️⃣",
    "e\u0301",
    "o\u0302\u0323",
    "\u1112\u1161\u11ab",
    "한",
    "क्षि",
    "ക്ഷ",
    "கு",
    "\r\n",
    "a",
    "漢",
    " ",
    ".",
]
in_clusters = st.lists(st.sampled_from(CLUSTERS), max_size=60).map("".join)


@examples(300)
@given(in_clusters, splitters, st.sampled_from([0, 2_480, 4_990, 4_995, 4_999]), st.sampled_from(["x", "é", "🇩🇪"]))
def test_no_leaf_ends_within_a_grapheme(text, splitter, before, filling):
    text = filling * (before // len(filling)) + text
    ends = set(accumulate(map(len, iter_graphemes(text))))
    cuts = splitter(text)
    check_cuts(cuts, text)
    assert {cut.end for cut in cuts} <= ends


@pytest.mark.parametrize("cluster", [each for each in CLUSTERS if len(each) > 1])
def test_long_text_without_breaks_is_cut_between_graphemes(cluster):
    text = "x" + cluster * 4_000
    cuts = HierarchicalSplitter()(text)
    check_cuts(cuts, text)
    assert {(cut.end - 1) % len(cluster) for cut in cuts} == {0}


def test_a_cluster_without_end_is_cut_all_the_same():
    text = "a" + "\u0301" * 20_000
    cuts = HierarchicalSplitter()(text)
    check_cuts(cuts, text)
    assert max(after.end - before.end for before, after in pairwise(cuts)) < 5_000

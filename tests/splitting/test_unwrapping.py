"""Leaves of hard-wrapped texts and of Markdown begin where sentences begin."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate, pairwise
from pathlib import Path
from pydoc_data.topics import topics

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from leafspan import HierarchicalSplitter
from leafspan.splitting._headings import find_headings
from leafspan.splitting._sentences import unwrapped, with_marks
from leafspan.text import count_words
from tests.profiles import examples

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += sorted((ROOT / "docs").glob("*.md"))


def leaves(text: str, words: int) -> list[str]:
    ends = [cut.end for cut in HierarchicalSplitter(words, (10 * words,))(text)]
    return [text[start:end] for start, end in pairwise([0, *ends])]


# The measure


def in_mid_sentence(text: str, words: int = 45) -> tuple[int, int]:
    """How many leaves start in the middle of a sentence that would fit into a leaf, and how many leaves there are.

    A sentence ends at a full stop or the like with the quotes, brackets and marks behind it, or with its paragraph.
    """
    splitter = HierarchicalSplitter(words)
    starts = [0, *(cut.end for cut in splitter(text)[:-1])]
    lines = [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    paragraphs = [token.map for token in tokens if token.type == "paragraph_open"]
    begins = [lines[first] for first, _ in paragraphs]
    found = 0
    for start in starts:
        number = bisect_right(begins, start) - 1
        if number < 0 or start >= lines[paragraphs[number][1]]:
            continue
        paragraph, place = text[begins[number] : lines[paragraphs[number][1]]], start - begins[number]
        head = re.match(r"[\s>]*(?:[-*+]|\d+[.)])?\s*", paragraph).end()
        ends = [head, *(m.end() for m in re.finditer(r"[.!?…:][\"'”’)\]*_`>]*\s+", paragraph)), len(paragraph)]
        before = max((end for end in ends if end <= place), default=place)
        after = min(end for end in ends if end > before)
        sentence = paragraph[before:after]
        fits = max(count_words(sentence), len(sentence) // 12) <= words
        found += fits and place > head and bool(paragraph[before:place].strip(" \r\n>"))
    return found, len(starts)


def share(texts: list[str]) -> float:
    counts = [in_mid_sentence(text) for text in texts]
    return sum(found for found, _ in counts) / sum(all_ for _, all_ in counts)


def test_leaves_of_this_packages_own_pages_begin_with_sentences():
    assert share([page.read_text() for page in PAGES]) < 0.02  # it was 0.15


def test_leaves_of_the_wrapped_texts_of_pythons_help_begin_with_sentences():
    assert share(list(topics.values())) < 0.05  # tables and code among them; it was 0.2


# What was taken for a better place than the end of a sentence


@pytest.mark.parametrize(
    "text",
    [
        "# T\n\nOne two three four five six. Seven eight `code of two` nine ten eleven.\n",
        "# T\n\nOne two three four five six. Seven eight **strong words** nine ten eleven.\n",
        "# T\n\nOne two three four five six. Seven eight [a link](https://x.y/z) nine ten eleven.\n",
        "# T\n\nOne two three four five six. Seven eight don't nine ten eleven.\n",
        '# T\n\nOne two three four five six. Seven eight "quoted words" nine ten eleven.\n',
        "# T\n\nOne two three four five six. Seven eight \\* nine &amp; ten -- eleven.\n",
        "# T\n\nOne two three four five six. `eight` nine ten [eleven](b) twelve thirteen.\n",
        "# T\n\nOne two three four five six. [eight](b) nine ten `eleven` twelve thirteen.\n",
        "# T\n\n**One two three four five six.** Seven eight nine ten eleven twelve.\n",
    ],
)
def test_marks_within_a_sentence_of_markdown_are_no_better_places(text):
    first, second = leaves(text, 10)
    assert first.rstrip("*` ").endswith("six.")
    assert second.lstrip("*`[ ").startswith(("Seven", "eight"))


LONG = "This sentence is long enough that the writer's editor has"


@pytest.mark.parametrize(
    ("opening", "line"),
    [
        ("- ", "  "),
        ("1. ", "   "),
        ("> ", "> "),
        ("- > ", "  > "),
        ("", ""),
        ("* an item\n\n  ", "  "),
    ],
)
@pytest.mark.parametrize(
    "begin", ["wrapped", "`wrapped`", "(wrapped)", "[wrapped](x)", "*wrapped*", "2 times wrapped", '"wrapped"']
)
def test_lines_of_lists_quotes_and_paragraphs_are_not_taken_for_sentences(opening, line, begin):
    for end in ("", ",", ")", "*", "`", ";"):
        text = f"# T\n\n{opening}It begins so. {LONG}{end}\n{line}{begin} it here. Another one\n{line}follows it.\n"
        begins = [each.lstrip(" >\n") for each in leaves(text, 19)]
        assert all(each.startswith(("#", "It", "-", "*", "1.", ">", "This", "Another")) for each in begins), end


def test_short_lines_are_wrapped_where_the_next_word_would_not_have_fitted():
    text = (
        "# T\n\nBefore it. The url of this page, that is,\n"
        "Https://example.org/a/long/path/to/the/one/page is\nlong. The next sentence is here.\n"
    )
    first, second = leaves(text, 14)
    assert first.endswith("is\nlong. ")
    assert second == "The next sentence is here.\n"


def test_lines_of_a_plain_text_too():
    text = (
        " * The first item has been wrapped at some seventy characters, and here\n"
        '   "it goes on" with a quotation (and so on, until the second line, which\n'
        "   is full). Another sentence of the item is here, and is in its own leaf.\n"
    )
    assert [each.strip().split()[0] for each in leaves(text, 30)] == ["*", "Another"]


@pytest.mark.parametrize("end", ["chapter IX", "chapter XX"])
def test_a_line_of_fifty_characters_or_more_was_probably_wrapped(end):
    longest = "It may have been wrapped at a width that is longer than this line is"
    for length in (49, 50):
        line = f"{'The rule for ' + 'all ' * 10:.{length - len(end) - 1}} {end}"
        text = f"{line}\ngoes on here.\n{longest}.\n"
        assert unwrapped(text, markdown=False)[length] == (" " if length == 50 else "\n")


# What stays as it was

CODE_AND_TABLES = [
    "```python\nfoo(a,\n    b='x', c=\"y\", and_a_long_line_of_code_that_goes_on_and_on)\nbar\n```\n",
    "    indented_code(with_a_long_line_that_has_more_than_fifty_characters,\n    and_another_one)\n",
    "| one | two *three* |\n|---|---|\n| a long cell of a table with more than fifty characters | b |\n| c | d |\n",
    "<div>\na block of html with a long line of more than fifty characters\nand another line\n</div>\n",
    "# A heading with `code` and a length of more than fifty characters\n",
]


@pytest.mark.parametrize("block", CODE_AND_TABLES)
def test_code_tables_html_and_headings_stay_as_they_are(block):
    text = f"# T\n\nA *paragraph*.\n\n{block}\nAnother *one*.\n"
    seen = unwrapped(text, markdown=True)
    assert block in seen
    assert "*" not in seen.replace(block, "")


@pytest.mark.parametrize(
    "text",
    [
        "Alpha\nBeta\nGamma",
        "A paragraph that is written in one long line, wider than the widest window of anybody, ends here.\n"
        "A second one of another length, which has not been wrapped either, ends here.\n\nA third one.",
        "(name)      value       unit of the value that is in this column\n(length)    3           metres\n(mass)      4",
        "As follows:\n- a first item that is as long as any line of this text could be\n- a second item",
        "It is as long as a line can be and ends here with a full stop.\n(Then there is another one.)",
    ],
)
def test_a_plain_text_that_is_not_wrapped_stays_as_it_is(text):
    assert unwrapped(text, markdown=False) == text


@pytest.mark.parametrize("end", ["  ", "\\"])
def test_a_hard_line_break_stays(end):
    text = f"# T\n\n{LONG}{end}\nbroken here.\n"
    assert unwrapped(text, markdown=True)[len("# T\n\n") + len(LONG) + len(end)] == "\n"


WORDS = [
    "word ",
    "Word ",
    "`code` ",
    "*so* ",
    "__b__ ",
    "[a](b) ",
    "don't ",
    "e.g. ",
    "end. ",
    "-- ",
    "... ",
    "&amp;",
    "\\",
    "> ",
    "東京。",
    "\t",
    "\x00",
    "❜",
]
LINES = ["\n", "\n\n", "\r\n", "  \n", "\n- ", "\n> ", "\n    ", "\n```\n", "\n# H\n", "|", "long " * 12]
pieces = st.sampled_from(WORDS + LINES)


@examples(400)
@given(st.lists(pieces, max_size=40).map("".join), st.booleans())
def test_only_line_ends_and_marks_are_replaced_and_words_stay_words(text, markdown):
    seen = unwrapped(text, markdown=markdown)
    assert len(seen) == len(text)
    assert [a for a in zip(text, with_marks(seen), strict=True) if a[0] != a[1] and a[0] not in "\r\n❜"] == []
    assert [each.isspace() for each in seen] == [each.isspace() for each in text]


@examples(200)
@given(st.lists(pieces, max_size=40).map("".join))
@example("word word word word word word \n- \nword [a](b) ")
def test_no_leaf_of_markdown_is_longer_than_allowed_in_the_users_own_unit(text):
    def unit(part: str) -> int:
        return len(re.findall(r"[`*_\[\]()'\"\\&]|\w+", part))

    text = "# T\n\n" + text
    ends = [cut.end for cut in HierarchicalSplitter(12, (40,), unit)(text)]
    # The headings at the start of a leaf do not count. A line of dashes makes a heading of the lines above it, too.
    heading_ends = [heading.end for heading in find_headings(text)]
    bodies = [max([start, *(place for place in heading_ends if place <= end)]) for start, end in pairwise([0, *ends])]
    assert max(unit(text[body:end]) for body, end in zip(bodies, ends, strict=True)) <= 12

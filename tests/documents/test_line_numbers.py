"""A passage's line numbers are the ones in an editor."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.documents import lines_of, make_leaves, pack_lines
from leafspan.splitting import Cut
from leafspan.values import Document
from tests.profiles import examples


def leaves_of(text: str, ends: list[int]):
    return make_leaves(Document("d", text), "00000000", [Cut(end) for end in ends])


def editor_lines(text: str) -> list[str]:
    return re.split(r"\r\n|\r|\n", text)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_lines_with_any_ends_are_counted_from_1(line_end: str):
    text = line_end.join(["one", "two", "", "four five"])
    two, five = text.index("two"), text.index("five")
    packed = pack_lines(text, leaves_of(text, [two, five, len(text)]))
    assert packed == "0,1,2"
    assert lines_of(packed, 0, text[:two]) == (1, 1)
    assert lines_of(packed, 1, text[two:five]) == (2, 4)
    assert lines_of(packed, 2, text[five:]) == (4, 4)
    assert lines_of(packed, 0, text) == (1, 4)


def test_blank_lines_around_a_text_are_not_among_its_lines():
    text = "one\n\n \ntwo\n\n"
    packed = pack_lines(text, leaves_of(text, [3, len(text)]))
    assert lines_of(packed, 1, text[3:]) == (4, 4)


def test_lines_that_were_not_stored_are_not_known():
    assert pack_lines("", []) == ""
    assert lines_of("", 3, "text") is None


@examples(300)
@given(st.lists(st.sampled_from(["a", "bc d", "\n", "\r\n", "\r", " "]), min_size=1), st.data())
def test_the_lines_of_a_run_of_leaves_hold_its_text(pieces, data):
    text = "".join(pieces)
    ends = sorted({*data.draw(st.sets(st.integers(1, len(text)))), len(text)})
    leaves = leaves_of(text, ends)
    packed = pack_lines(text, leaves)
    first = data.draw(st.integers(0, len(leaves) - 1))
    last = data.draw(st.integers(first, len(leaves) - 1))
    run = text[leaves[first].start : leaves[last].end]
    begin, end = lines_of(packed, first, run)
    lines = editor_lines(text)
    assert 1 <= begin <= end <= len(lines)
    if run.strip():
        within = [line.strip() for line in editor_lines(run.strip())]
        assert len(within) == end - begin + 1
        assert lines[begin - 1].strip().endswith(within[0]) or end == begin
        assert within[0] in lines[begin - 1]
        assert within[-1] in lines[end - 1]

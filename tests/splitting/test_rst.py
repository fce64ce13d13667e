"""reStructuredText: the same headings as docutils' own parser, and sentences that stay whole."""

import io
from pathlib import Path

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from hypothesis import given
from hypothesis import strategies as st

from leafspan import BM25, Index
from leafspan.splitting import RST, HierarchicalSplitter, layout_of

ADORNMENTS = "=-~^\"'`*+#:."
WORDS = ["tea", "Milk", "sugar", "Das Öl", "水", "water", "a, b"]
BODIES = [
    "A paragraph of two\nlines.",
    ".. _label:",
    ".. note:: A note\n   of two lines.",
    ".. note::\n\n   Title\n   =====\n\n   text",
    "Code::\n\n    Title\n    =====",
    ".. code-block:: text\n\n   Title\n   -----",
    "* an item\n\n  * one below",
    "term\n    definition",
    ".. a comment\n   Title\n   ~~~~~",
    "----",
    "| a line\n| block",
    ":field: value",
    "+---+---+\n| a | b |\n+===+===+\n| 1 | 2 |\n+---+---+",
    "Title too short\n==",
    ".. |x| image:: x.png",
    ".. [1] a footnote",
    "..\n\n   after an empty comment",
]


@st.composite
def texts(draw: st.DrawFn) -> str:
    parts = []
    for _ in range(draw(st.integers(0, 8))):
        if draw(st.booleans()):
            parts.append(draw(st.sampled_from(BODIES)))
            continue
        title, mark = draw(st.sampled_from(WORDS)), draw(st.sampled_from(ADORNMENTS))
        line = mark * (2 * len(title) + draw(st.integers(2, 4)))
        parts.append(f"{line}\n{title}\n{line}" if draw(st.booleans()) else f"{title}\n{line}")
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return "\n\n".join(parts).replace("\n", end) + end


def headings_of_docutils(text: str) -> list[tuple[int, str]]:
    settings = {"report_level": 5, "halt_level": 5, "warning_stream": io.StringIO(), "doctitle_xform": False}
    tree = publish_doctree(text, settings_overrides={**settings, "file_insertion_enabled": False})
    found = []
    for section in tree.findall(nodes.section):
        above = section
        depth = 0
        while isinstance(above, nodes.section):
            depth, above = depth + 1, above.parent
        found.append((min(depth, 6), section[0].astext()))
    return found


@given(texts())
def test_the_headings_match_docutils(text):
    found = layout_of(text, RST)
    assert [(heading.depth, heading.text) for heading in found.headings] == headings_of_docutils(text)
    for heading in found.headings:
        assert heading.text in text[heading.start : heading.end]
        assert text[: heading.start].endswith("\n") or heading.start == 0
        assert text[heading.end - 1] == "\n"


@given(st.text("=-~ \n\r\t.:|*`_ab\f\u2028", max_size=60) | st.text(max_size=60))
def test_any_text_has_a_layout(text):
    headings, tables, paragraphs, _ = layout_of(text, RST)
    assert paragraphs is not None
    places = [place for start, end in paragraphs for place in (start, end)]
    assert places == sorted(places)
    assert all(start < end <= len(text) for start, end in paragraphs)
    assert all(0 <= each.start < each.end <= len(text) for each in headings)
    cuts = HierarchicalSplitter(leaf_words=3, parent_words=(9,)).cuts(text, layout_of(text, RST))
    assert [cut.end for cut in cuts][-1:] == ([len(text)] if text else [])
    assert tables == ()


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("The :class:`~a.B` class", "The a.B class"),
        (":ref:`Brewing <brew>` and ``milk``", "Brewing and milk"),
        ("*Strong* **tea** \\*", "Strong tea *"),
        ("`Tea <https://x.org>`_ of |country|", "Tea of country"),
        ("2 * 3 * 4, a_b and x_", "2 * 3 * 4, a_b and x"),
    ],
)
def test_a_heading_has_its_words_alone(title, text):
    [heading] = layout_of(f"{title}\n{'=' * 80}\n", RST).headings
    assert heading.text == text


def test_a_sentence_in_a_directive_is_not_cut_at_a_line_end():
    sentence = "   The leaves are steeped in water that has just boiled,\n   and taken out before they become bitter to the tongue."
    text = f"Tea\n===\n\n.. function:: brew(leaves)\n   :module: tea\n\n{sentence} They are dried. {'More of it. ' * 30}\n"
    ends = [cut.end for cut in HierarchicalSplitter(leaf_words=30).cuts(text, layout_of(text, RST))]
    assert not any(text.index("The leaves") < end < text.index("They are dried") for end in ends)


def test_code_is_no_paragraph():
    text = (
        "Tea.\n\n.. code-block:: python\n   :linenos:\n\n   brew()\n\nCode::\n\n   pour()\n\n.. note:: Of two\n   lines.\n"
    )
    assert [text[start:end] for start, end in layout_of(text, RST).paragraphs] == [
        "Tea.\n",
        "Code::\n",
        ".. note:: Of two\n   lines.\n",
    ]


def test_nothing_is_read_or_run(tmp_path):
    (tmp_path / "secret.txt").write_text("secret\n======\n")
    text = "".join(
        f".. {name}:: {tmp_path}/secret.txt\n   :file: {tmp_path}/secret.txt\n\n"
        for name in ("include", "raw", "csv-table", "literalinclude", "unknown", "role", "default-role")
    )
    assert layout_of(text, RST).headings == []


def test_lists_within_lists_without_end():
    text = "".join(f"{'  ' * depth}* x\n\n" for depth in range(2_000))
    assert layout_of(text, RST).headings == []


def test_the_sections_of_a_file_survive_its_repair_and_a_second_sync(tmp_path: Path):
    page = ".. _tea:\n\n====\nTea\n====\n\nLeaves in water.\n\nMilk\n~~~~\n\nOf cows, or of oats.\n\nSugar\n~~~~~\n\nOf beets.\n"
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "tea.txt").write_text(page)
    with Index.open(tmp_path / "kb") as index:
        index.sync(tmp_path / "docs")
        [passage] = index.retrieve("oats", BM25(), k=1)
        assert (passage.title, passage.headings, passage.text) == (
            "Tea",
            ("Tea", "Milk"),
            "Milk\n~~~~\n\nOf cows, or of oats.\n\n",
        )
        assert index.sync(tmp_path / "docs").unchanged == ("docs/tea.txt",)
        assert index.check() == []

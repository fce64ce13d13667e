"""The costs of cuts: a cut before a heading costs least, and the first heading is like any other."""

from __future__ import annotations

from leafspan.splitting import Layout, layout_of
from leafspan.splitting._hierarchical import _penalties

TEXT = "Before. All.\n\n# One\nText. More.\nA line.\n\n## Two\nEnd.\n"


def penalty(before: str) -> float:
    [found] = _penalties(TEXT, [TEXT.index(before)], layout_of(TEXT))
    return found


def test_a_cut_before_any_heading_costs_by_its_rank_alone():
    assert penalty("## Two") == 2 * penalty("# One")


def test_a_heading_is_better_to_cut_at_than_a_paragraph_a_line_and_a_sentence():
    without = "One.\n\nTwo.\nThree. Four."
    paragraph, line, sentence = _penalties(without, [without.index(word) for word in ("Two", "Three", "Four")], Layout(()))
    assert penalty("# One") < penalty("## Two") < paragraph < line < sentence
    assert penalty("A line") == line
    assert penalty("More") == penalty("All") == sentence


def test_an_empty_line_at_the_very_beginning_parts_paragraphs_too():
    before, within = "\n\nTwo.", "One.\n\nTwo."
    assert _penalties(before, [2], Layout(())) == _penalties(within, [6], Layout(()))


def test_a_new_page_parts_like_a_paragraph():
    text = "One.\nTwo.\n\nThree."
    page, paragraph = _penalties(text, [5, 11], Layout((), breaks=(5,)))
    assert page == paragraph

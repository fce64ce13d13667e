"""An explanation as a picture."""

from __future__ import annotations

import re

from leafspan import F, Hybrid, Index, Vector
from leafspan.lab import explain
from tests.corpus import QUESTIONS

QUESTION = QUESTIONS[0]


def texts(html: str) -> str:
    """What a reader sees of it, without the style."""
    return " ".join(re.sub(r"<[^>]*>", " ", re.sub(r"<style>.*?</style>", "", html, flags=re.S)).split())


def test_what_is_kept_out_has_its_obstacles_its_passage_and_where_it_stands(shared_index: Index):
    explained = explain(shared_index, QUESTION, Hybrid(), document_id="tea", where=F("topic") == "animals", k=1)
    html = explained._repr_html_()
    assert "not returned" in texts(html)
    assert html.count("<li>") >= len(explained.obstacles) > 0
    for obstacle in explained.obstacles:
        assert obstacle.sentence in texts(html).replace("&#39;", "'")
    assert "Then it is in this passage:" in html
    assert "<svg" in html  # the document with the passage on it
    for standing in explained.standings:
        assert f"{standing.source} {standing.rank or '–'} {standing.results}" in texts(html)


def test_what_is_returned_is_drawn_with_the_passages_that_hold_it(shared_index: Index):
    html = explain(shared_index, QUESTION, Vector(), document_id="bees")._repr_html_()
    assert "not returned" not in html
    assert "Then it is in this passage" not in html
    assert "<svg" in html


def test_without_a_piece_the_result_and_the_requests_are_drawn(shared_index: Index):
    explained = explain(shared_index, QUESTION, Hybrid(), k=2)
    seen = texts(explained._repr_html_())
    assert "2 passages of " in seen
    for request in explained.requests:
        assert request.name in seen


def test_several_places_of_a_text_are_named(shared_index: Index):
    explained = explain(shared_index, QUESTION, Vector(), document_id="bees", text="the")
    start, end = explained.elsewhere[0]
    assert f"It is also at characters {start} to {end}" in explained._repr_html_()


def test_what_cannot_be_let_in_has_no_passage(shared_index: Index):
    html = explain(shared_index, "zzz", "bm25", document_id="bees")._repr_html_()
    assert "none of its searches finds it" in html
    assert "Then it is in" not in html

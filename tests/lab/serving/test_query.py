"""An address keeps the user's input exactly."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from hypothesis import given
from hypothesis import strategies as st

from leafspan.lab.serving._query import PageQuery

TEXTS = st.text(st.characters(exclude_categories=["Cs"])).map(str.strip)


@given(TEXTS, st.lists(TEXTS.filter(bool), unique=True, min_size=1), TEXTS, TEXTS, TEXTS, TEXTS)
def test_a_link_says_the_same(question: str, strategies: list[str], k: str, budget: str, where: str, id_: str):
    query = PageQuery(question, tuple(strategies), k, budget, where)
    parts = urlsplit(query.link("document", id=id_))
    fields = parse_qsl(parts.query, keep_blank_values=True)
    assert parts.path == "./document"
    assert dict(fields)["id"] == id_
    assert PageQuery.of(fields, "other") == query


def test_where_nothing_was_asked_a_link_says_nothing_of_it():
    query = PageQuery.of([], "hybrid")
    assert query == PageQuery(None, ("hybrid",))
    assert query.link("index") == "./index?"


def test_an_id_that_is_no_unicode_does_no_harm():
    assert PageQuery.of([], "hybrid").link("document", id="half \ud83d") == "./document?id=half+%3F"

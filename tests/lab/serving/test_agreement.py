"""How much of a passage another strategy found."""

from __future__ import annotations

from leafspan import Passage
from leafspan.lab.serving._query import Agreement, agreements
from leafspan.trace import EMPTY_TRACE
from leafspan.values import Covered, Summary


def passage(start: int | None, end: int | None, document: str = "a", **options: object) -> Passage:
    id_ = str(options.pop("id", f"{document}#{start}-{end}"))
    return Passage(id_, document, start, end, "text", 1.0, {}, EMPTY_TRACE, **options)


def test_the_same_passage_is_found_whole():
    assert agreements(passage(0, 10), {"other": [passage(20, 30), passage(0, 10)]}) == [Agreement("other", (2,), 1.0)]


def test_pieces_add_up():
    others = {"pieces": [passage(0, 2), passage(5, 10)], "around": [passage(0, 100)]}
    assert agreements(passage(0, 10), others) == [
        Agreement("pieces", (1, 2), 2 / 10 + 5 / 10),
        Agreement("around", (1,), 1.0),
    ]


def test_neighbours_and_other_documents_have_nothing_in_common():
    assert agreements(passage(0, 10), {"b": [passage(10, 20)], "c": [passage(0, 10, "b")], "d": []}) == []


def test_a_summary_is_not_the_text_that_it_covers():
    covers = (Covered("a", "00000000", 0, 1, 0, 10),)
    summary = passage(0, 10, id="a#t0000000#0", summary=Summary(1, (), covers))
    assert agreements(summary, {"leaves": [passage(0, 10)]}) == []
    assert agreements(summary, {"tree": [summary]}) == [Agreement("tree", (1,), 1.0)]


def test_passages_of_another_source_are_the_same_by_their_id():
    row = passage(None, None, "", id="row-1")
    assert agreements(row, {"sql": [row]}) == [Agreement("sql", (1,), 1.0)]
    assert agreements(row, {"sql": [passage(None, None, "", id="row-2")]}) == []

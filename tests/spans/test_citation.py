"""The place of a passage in the results of both hosts."""

from __future__ import annotations

from dataclasses import replace

from leafspan import Passage
from leafspan.spans import citation
from leafspan.trace import Trace
from leafspan.values import Covered, Summary

V = "00000000"
PASSAGE = Passage("tea#00000000#1-2", "tea", 10, 40, "text", 0.5, {}, Trace())
COVERS = (Covered("tea", V, 0, 3, 0, 90), Covered("bees", V, 1, 2, 20, 60))


def test_a_passage_has_its_place_and_what_is_known_of_it():
    assert citation(PASSAGE) == {"doc_id": "tea", "start": 10, "end": 40}
    known = replace(PASSAGE, title="Tea", headings=("Tea", "Brewing"), lines=(3, 5))
    assert citation(known) == {
        "doc_id": "tea",
        "start": 10,
        "end": 40,
        "title": "Tea",
        "headings": "Tea > Brewing",
        "start_line": 3,
        "end_line": 5,
    }


def test_what_the_users_own_metadata_says_is_not_said_again():
    known = replace(PASSAGE, title="Tea", headings=("Brewing",), lines=(3, 5))
    assert citation(replace(known, metadata={"title": "Mine"})).keys() == {
        *("doc_id", "start", "end", "headings", "start_line", "end_line")
    }
    assert "headings" not in citation(replace(known, metadata={"headings": "Mine"}))
    for key in ("start_line", "end_line"):  # both lines or none
        assert not {"start_line", "end_line"} & citation(replace(known, metadata={key: 7})).keys()


def test_a_summary_also_has_its_layer_and_what_it_covers():
    of_one = replace(PASSAGE, summary=Summary(2, ("a", "b"), COVERS[:1]))
    assert citation(of_one) == {"doc_id": "tea", "start": 10, "end": 40, "layer": 2, "covers": [["tea", 0, 90]]}


def test_a_summary_of_several_documents_has_no_place_of_its_own():
    of_two = replace(PASSAGE, document_id="", start=None, end=None, summary=Summary(3, ("a", "b"), COVERS))
    assert citation(of_two) == {"layer": 3, "covers": [["tea", 0, 90], ["bees", 20, 60]]}


def test_a_passage_of_another_source_has_its_kind():
    row = replace(PASSAGE, document_id="", start=None, end=None, kind="row", title="ignored")
    assert citation(row) == {"kind": "row"}
    assert citation(replace(row, metadata={"kind": "mine"})) == {}

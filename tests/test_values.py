"""Ids, spans and candidates: the values that all rooms use."""

from __future__ import annotations

import pickle
from copy import copy
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import Document, Passage
from leafspan.trace import Calibrated, Trace, TracedHit, made_later
from leafspan.values import (
    OUTSIDE_VERSION,
    Ancestor,
    Candidate,
    Covered,
    Hit,
    Leaf,
    LeafId,
    Span,
    Summary,
    id_of_text,
    leaf_ids,
    outside_candidate,
    run_of_id,
    scored,
)
from tests.profiles import examples


def test_a_document_with_values_of_wrong_types_can_be_shown() -> None:
    assert repr(Document(None, 5, title=3)) == "Document('None', title='3', 1 characters, '5')"  # type: ignore[arg-type]


V = "0a1b2c3d"
ids = st.text(min_size=1).filter(lambda text: text.strip())
ordinals = st.integers(0, 10**6)


def test_ids_are_document_version_and_ordinal():
    assert str(LeafId("a#b", V, 12)) == "a#b#0a1b2c3d#12"
    assert LeafId.parse("a#b#0a1b2c3d#12") == LeafId("a#b", V, 12)
    assert leaf_ids("d", V, [3, 1]) == ["d#0a1b2c3d#3", "d#0a1b2c3d#1"]
    for wrong in ("", "a", "a#1", "a#b#c"):
        with pytest.raises(ValueError, match=r"unpack|invalid literal"):
            LeafId.parse(wrong)


@examples(200)
@given(ids, ordinals, ordinals)
def test_ids_of_leaves_and_spans_are_read_as_they_were_written(document_id, first, more):
    leaf = LeafId(document_id, V, first)
    assert LeafId.parse(str(leaf)) == leaf
    assert run_of_id(str(leaf)) == (leaf, first)
    assert LeafId.of_result(str(leaf)) == leaf
    span = Span(document_id, V, first, first + more, (first, 0))
    assert run_of_id(span.id) == (leaf, first + more)
    assert LeafId.of_result(span.id) == (leaf if more == 0 else None)
    assert LeafId.of_result(f"{document_id}#{V}#{first}-{first}") == leaf  # the older form


@pytest.mark.parametrize("other", [None, "", "a", "a#b", "#v#1", "a#v#", "a#v#x", "a#v#1-", "a#v#1-x", "a#v#-1", "a#v#²"])
def test_other_texts_are_the_id_of_nothing(other):
    assert run_of_id(other) is None
    assert LeafId.of_result(other) is None


def test_summaries_are_distinguished_from_leaves_by_the_version():
    assert LeafId("d", "t0000000", 1).is_summary
    assert not LeafId("d", V, 1).is_summary


def test_a_span_knows_its_leaves():
    span = Span("d", V, 2, 4, (3, 50))
    assert (span.id, span.size) == ("d#0a1b2c3d#2-4", 3)
    assert span.leaf_ids == [LeafId("d", V, 2), LeafId("d", V, 3), LeafId("d", V, 4)]
    assert Span("d", V, 2, 2, (2, 50)).id == "d#0a1b2c3d#2"
    leaf = Leaf("d", V, 2, 50, 60, 3, (Ancestor(0, 9, 10, 0, 90, 30),))
    assert (str(leaf.id), leaf.span) == ("d#0a1b2c3d#2", Span("d", V, 2, 2, (2, 50)))


def test_a_summary_knows_the_leaves_that_it_covers():
    summary = Summary(2, (), (Covered("a", V, 0, 1, 0, 20), Covered("b", V, 3, 3, 30, 40)))
    assert summary.size == 3
    assert summary.leaf_ids == ["a#0a1b2c3d#0", "a#0a1b2c3d#1", "b#0a1b2c3d#3"]


def test_results_are_sorted_by_score_then_document_then_position():
    hits = [Hit(LeafId(*place), score) for place, score in ((("b", V, 1), 0.5), (("a", V, 9), 0.5), (("b", V, 0), 0.5))]
    best = Hit(LeafId("z", V, 5), 0.9)
    assert sorted([*hits, best], key=lambda hit: hit.order) == [best, hits[1], hits[2], hits[0]]
    found = [
        Candidate(hit.leaf and Span(*hit.leaf, hit.leaf.ordinal, (0, 0)), hit.score, Trace(), {}) for hit in [*hits, best]
    ]
    assert sorted(found, key=lambda each: each.order) == [found[3], found[1], found[2], found[0]]


def test_a_loaded_leaf_has_the_score_and_a_trace_of_who_found_it():
    leaf = Candidate(Span("d", V, 3, 3, (3, 30)), 0.0, Trace(), {})
    assert scored(leaf, 0.7, "vector", 2) == replace(leaf, score=0.7, trace=Trace(hits=(TracedHit(3, 0.7, "vector", 2),)))
    summary = scored(replace(leaf, summary=Summary(2, (), ())), 0.7, "vector")
    assert summary.trace == Trace(hits=(TracedHit(3, 0.7, "vector", None),), layer=2)


def test_a_passage_is_a_text_of_layer_0_unless_it_says_otherwise():
    passage = Passage("d#0a1b2c3d#1", "d", 0, 4, "text", 0.5, {}, Trace())
    assert (passage.kind, passage.layer, passage.title, passage.headings, passage.lines) == ("text", 0, None, (), None)
    assert replace(passage, summary=Summary(3, (), ())).layer == 3


def test_a_text_of_another_source_has_the_same_id_each_time():
    assert id_of_text("one") == id_of_text("one") != id_of_text("two")
    assert len(id_of_text("one")) == len("text-") + 16
    assert id_of_text("\ud800").startswith("text-")  # half a surrogate pair, which a source may give


def test_a_passage_of_another_source_stands_for_no_leaf_and_keeps_its_score_and_trace():
    passage = Passage("row-7", "", None, None, "three words here", 0.5, {"a": 1}, Trace(notes=("why",)), kind="row")
    found = outside_candidate(passage)
    assert found.span == Span("row-7", OUTSIDE_VERSION, 0, 0, (0, 0))
    assert (found.score, found.trace, found.metadata, found.words) == (0.5, passage.trace, {"a": 1}, 3)
    assert (found.outside, found.leaf, found.summary) == (passage, None, None)


def test_a_trace_that_is_made_later_is_made_once_and_equals_one_made_at_once():
    calibrated = (Calibrated(3, 0.5, 0.9),)
    made = []

    def make() -> Trace:
        made.append(Trace((TracedHit(3, 0.8),), calibrated=calibrated, layer=1))
        return made[-1]

    trace = made_later(make, calibrated)
    assert trace.calibrated == calibrated
    assert not made
    with pytest.raises(AttributeError, match="'Trace' object has no attribute 'steps'"):
        _ = trace.steps  # type: ignore[attr-defined]
    assert not made
    assert trace.layer == 1
    assert (trace, hash(trace), repr(trace), len(made)) == (made[0], hash(made[0]), repr(made[0]), 1)
    for other in (
        copy(trace),
        pickle.loads(pickle.dumps(made_later(make, calibrated))),
        replace(made_later(make, ()), layer=1),
    ):
        assert other == trace
    assert made_later(make, calibrated) + Trace(layer=2) == trace

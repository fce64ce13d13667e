"""BM25 of larger nodes: a node scores like a leaf with all of its terms."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.lexical import BM25Settings, Corpus, build_postings, merge_postings, starts_of

TERMS = st.lists(st.sampled_from("abcd"), max_size=4)
PLACES = {"parent": 0, "section": 1, "document": 2}


@st.composite
def documents(draw):
    """Documents as lists of leaves: the terms, and the numbers of the parent and the section within the document."""
    found = []
    for _ in range(draw(st.integers(1, 5))):
        leaves = draw(st.lists(TERMS, min_size=1, max_size=6))
        parents = np.cumsum([0, *draw(st.lists(st.integers(0, 1), min_size=len(leaves) - 1, max_size=len(leaves) - 1))])
        ups = draw(st.lists(st.integers(0, 1), min_size=int(parents[-1]) + 1, max_size=int(parents[-1]) + 1))
        sections = np.cumsum([0, *ups[1:]])[parents]
        found.append([(terms, int(p), int(s)) for terms, p, s in zip(leaves, parents, sections, strict=True)])
    return found


def postings_of(some):
    """The arrays of an index of documents."""
    begins = []
    for leaves in some:
        for ordinal, (_, parent, section) in enumerate(leaves):
            firsts = [
                next(number for number, leaf in enumerate(leaves) if leaf[1] == parent),
                next(number for number, leaf in enumerate(leaves) if leaf[2] == section),
            ]
            begins.append((ordinal, firsts))
    return build_postings([terms for leaves in some for terms, _, _ in leaves], starts_of(begins))


def nodes_of(some, scale):
    """The nodes of a scale: numbers of the first and of the last leaf, and all terms."""
    keys = []
    for number, leaves in enumerate(some):
        keys += [((number, parent, section), (number, section), number)[PLACES[scale]] for _, parent, section in leaves]
    terms = [each for leaves in some for each, _, _ in leaves]
    runs = [[number for number, _ in run] for _, run in groupby(enumerate(keys), key=lambda each: each[1])]
    return [(run[0], run[-1], [term for number in run for term in terms[number]]) for run in runs]


@given(documents(), TERMS, st.integers(0, 5), st.sampled_from([BM25Settings(), BM25Settings(1.5, 1), BM25Settings(0, 0)]))
def test_a_node_is_scored_as_a_leaf_with_all_of_its_terms(some, query, cut, settings):
    parts = [(postings_of(each), None) for each in (some[:cut], some[cut:])]
    leaves, nodes, idf = Corpus(parts).score_with_nodes(query, settings=settings)
    assert leaves.scores.tolist() == Corpus(parts).score(query, settings=settings).scores.tolist()
    assert set(idf) == set(query)
    for scale, found in zip(PLACES, nodes, strict=True):
        expected = nodes_of(some, scale)
        alone = Corpus([(build_postings([terms for _, _, terms in expected]), None)])
        assert list(zip(found.firsts.tolist(), found.lasts.tolist(), strict=True)) == [each[:2] for each in expected]
        assert found.scores.tolist() == pytest.approx(alone.score(query, settings=settings).scores.tolist())


@given(documents(), TERMS, st.data())
def test_only_documents_that_count_make_the_statistics(some, query, data):
    """A view has nodes of its own, at every scale."""
    counts = data.draw(st.lists(st.booleans(), min_size=len(some), max_size=len(some)))
    counting = np.repeat(counts, [len(leaves) for leaves in some])
    _, found, _ = Corpus([(postings_of(some), None)]).score_with_nodes(query, settings=BM25Settings(), counting=counting)
    kept = [leaves for leaves, is_counted in zip(some, counts, strict=True) if is_counted]
    _, alone, _ = Corpus([(postings_of(kept), None)]).score_with_nodes(query, settings=BM25Settings())
    for ours, theirs in zip(found, alone, strict=True):
        counted = counting[ours.firsts]
        assert ours.scores[counted].tolist() == pytest.approx(theirs.scores.tolist())
        assert not ours.scores[~counted].any()


@given(documents(), TERMS, st.data())
def test_where_nodes_begin_is_kept_when_segments_are_merged(some, query, data):
    live = data.draw(st.lists(st.booleans(), min_size=len(some), max_size=len(some)))
    mask = np.repeat(live, [len(leaves) for leaves in some])
    merged = merge_postings([(postings_of(some), mask)])
    kept = postings_of([leaves for leaves, lives in zip(some, live, strict=True) if lives])
    assert {name: array.tolist() for name, array in merged.items()} == {
        name: array.tolist() for name, array in kept.items()
    }


def test_nodes_are_scored_by_lucenes_variant_and_leaves_by_any():
    arrays = postings_of([[(["a", "b"], 0, 0), (["a"], 1, 0)], [(["c"], 0, 0)]])
    _, okapi, _ = Corpus([(arrays, None)]).score_with_nodes(["a"], settings=BM25Settings(variant="okapi"))
    _, lucene, _ = Corpus([(arrays, None)]).score_with_nodes(["a"], settings=BM25Settings())
    assert [each.scores.tolist() for each in okapi] == [each.scores.tolist() for each in lucene]


def test_a_leaf_without_ancestors_has_the_document_as_its_parent_and_its_section():
    assert starts_of([(0, []), (1, []), (0, [0]), (1, [1])]).tolist() == [7, 0, 7, 1]

"""Strategies' scores, computed by hand from their searches: ranks, means, maxima, probabilities."""

from __future__ import annotations

from math import exp
from statistics import fmean

import pytest

from leafspan import BM25, AutoMerging, Ensemble, Hybrid, Index, ParentDocument, SentenceWindow, Strategy, Vector
from leafspan.values import run_of_id
from tests.corpus import QUESTIONS

ALL = 20  # candidates: as many leaves as either search can rank
every_question = pytest.mark.parametrize("question", QUESTIONS)


def found(index: Index, question: str, strategy: Strategy) -> dict[str, float]:
    """The scores by id, best first."""
    return {each.id: each.score for each in index.retrieve(question, strategy, k=100, candidates=ALL)}


def ordinals(id_: str) -> tuple[str, range]:
    """The document and the leaves of a passage."""
    parsed = run_of_id(id_)
    assert parsed is not None
    first, last = parsed
    return first.document_id, range(first.ordinal, last + 1)


def inside(scores: dict[str, float], id_: str) -> list[float]:
    """The scores of the leaves in a passage."""
    document, leaves = ordinals(id_)
    return [score for each, score in scores.items() if ordinals(each)[0] == document and ordinals(each)[1][0] in leaves]


@every_question
@pytest.mark.parametrize(("weights", "constant"), [(None, 60), ([3, 1], 10)])
def test_reciprocal_rank_fusion_adds_a_share_for_each_rank(shared_index: Index, question, weights, constant):
    words, vectors = found(shared_index, question, BM25()), found(shared_index, question, Vector())
    one, other = (0.5, 0.5) if weights is None else (0.75, 0.25)
    expected = dict.fromkeys([*words, *vectors], 0.0)
    for share, ranking in ((one, words), (other, vectors)):
        for rank, id_ in enumerate(ranking, start=1):
            expected[id_] += share / (constant + rank)
    fused = found(shared_index, question, Ensemble(retrievers=[BM25(), Vector()], weights=weights, rank_constant=constant))
    assert fused == pytest.approx({id_: expected[id_] for id_ in fused})
    assert list(fused.values()) == sorted(fused.values(), reverse=True)


@every_question
def test_a_window_and_a_parent_have_the_score_of_their_best_leaf(shared_index: Index, question):
    leaves = found(shared_index, question, Vector())
    for strategy in (SentenceWindow(base=Vector(), before=1, after=1), ParentDocument(base=Vector())):
        passages = found(shared_index, question, strategy)
        assert passages == {id_: max(inside(leaves, id_)) for id_ in passages}
        # And each leaf is in one of them.
        assert sum(len(inside(leaves, id_)) for id_ in passages) == len(leaves)


@every_question
def test_merging_takes_the_best_or_the_mean_of_the_children(shared_index: Index, question):
    leaves = found(shared_index, question, Vector())
    options = {"base": Vector(), "fill_gaps": 0, "max_level": 1, "threshold": 0.5}
    for score, combine in (("max", max), ("mean", fmean)):
        merged = found(shared_index, question, AutoMerging(**options, score=score))
        assert merged == pytest.approx({id_: combine(inside(leaves, id_)) for id_ in merged})
        assert sum(len(inside(leaves, id_)) for id_ in merged) == len(leaves)


@every_question
def test_probabilities_of_all_leaves_are_at_most_the_probability_of_an_answer(shared_index: Index, question):
    passages = shared_index.retrieve(question, Hybrid(), k=100, candidates=ALL)
    assert 0 < sum(each.score for each in passages) <= 1
    # And each is in proportion to the leaf's weight.
    weights = [exp(each.trace.fused[0].score) for each in passages]
    assert [each.score / passages[0].score for each in passages] == pytest.approx([each / weights[0] for each in weights])

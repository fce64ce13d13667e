"""Hybrid with references: what leaves mention, in the scores, in the traces and in what is read."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import AutoMerging, Document, F, HierarchicalSplitter, Hybrid, Index, RelevantSegments, SentenceWindow
from leafspan.strategies import Mention
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER
from tests.strategies.answers import V
from tests.strategies.test_hybrid import PLAIN, found_by

WORDS = {"a0": 9.0, "b0": 6.0, "c0": 5.0}
NEAR = {"a0": 0.8, "d0": 0.6}
QUESTION = "In which city was the man born who decoded the dance of the bees?"
NEVER_MENTIONED = Hybrid(references=0)


def to(document_id: str, strength: float = 1.0) -> list[Mention]:
    return [Mention(document_id, V, 10, f"the {document_id}", strength)]


def scores(found):
    return {name: each.score for name, each in found.items()}


def test_a_share_of_the_weight_goes_to_the_document_that_is_mentioned():
    found = found_by(Hybrid(references=0.5), WORDS, NEAR, mentions={"a0": to("b", 0.8)})
    without = found_by(PLAIN, WORDS, NEAR)
    given_by, before, after = (
        exp(each["b0" if number else "a0"].trace.fused[0].score) for number, each in enumerate([without, without, found])
    )
    assert after == pytest.approx(before + 0.5 * 0.8 * given_by)
    fused = found["b0"].trace.fused[0]
    assert fused.reference is not None
    assert (fused.reference.leaf, fused.reference.written) == (f"a#{V}#0", "the b")
    assert fused.reference_bonus == pytest.approx(log(after / before))
    parts = sum(part.share for part in fused.contributions)
    assert parts + fused.neighbour_bonus + fused.reference_bonus == pytest.approx(fused.score)
    assert found["a0"].trace.fused[0].reference is None


def test_a_document_that_no_search_has_found_comes_with_its_first_leaf():
    found = found_by(Hybrid(references=0.5), WORDS, NEAR, mentions={"a0": to("e")})
    assert found["e0"].trace.fused[0].score == pytest.approx(log(1 + 0.5 * exp(found["a0"].trace.fused[0].score)))
    assert list(found)[:2] == ["a0", "e0"]
    assert found["e0"].trace.hits == ()


def test_at_0_nothing_is_asked_for():
    plain = found_by(Hybrid(references=0), WORDS, NEAR, mentions={"a0": to("e")})
    assert scores(plain) == scores(found_by(PLAIN, WORDS, NEAR))


def test_the_lowest_score_changes_no_score_and_leaves_out_what_is_below_it():
    options = {"mentions": {"b0": to("e")}}
    all_of_them = found_by(Hybrid(), WORDS, NEAR, **options)
    least = all_of_them["e0"].score
    best = found_by(Hybrid(min_score=least), WORDS, NEAR, **options)
    assert "e0" in best
    assert scores(best) == {name: score for name, score in scores(all_of_them).items() if score >= least}


@given(
    st.dictionaries(st.sampled_from(["a0", "a1", "b0", "b2", "c0"]), st.floats(0.1, 9), min_size=2),
    st.dictionaries(st.sampled_from(["a0", "b0", "c0"]), st.builds(to, st.sampled_from("abcde"), st.floats(0.3, 1))),
    st.integers(1, 5),
)
def test_probabilities_stay_probabilities_and_keep_the_order_of_the_sums(words, mentions, count):
    words = dict(sorted(words.items(), key=lambda item: -item[1]))
    found = found_by(Hybrid(), words, {}, mentions=mentions)
    each = [(result.score, result.trace.fused[0].score) for result in found.values()]
    assert each == sorted(each, reverse=True)
    assert all(0 <= score <= 1 for score, _ in each)
    assert sum(score for score, _ in each) <= 1 + 1e-9
    # What the leaves share among themselves is the same: mentions say nothing of whether there is an answer.
    plain = found_by(Hybrid(references=0), words, {})
    if plain.keys() == found.keys():
        assert sum(result.score for result in plain.values()) == pytest.approx(sum(score for score, _ in each))
    few = found_by(Hybrid(), words, {}, mentions=mentions, count=count)
    assert few.items() == dict(list(found.items())[: len(few)]).items()


@pytest.fixture(scope="module")
def mentioning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """Two documents that answer a question together (the first mentions the second), and others."""
    pages = [Document(f"page{number}", f"A city of water, number {number}. The bees left it.") for number in range(20)]
    with Index.open(tmp_path_factory.mktemp("mentioning") / "kb", splitter=HierarchicalSplitter(12, (40,))) as index:
        index.add(
            [
                *pages,
                Document("dance", "Bees dance for each other. The man who decoded the dance was Karl von Frisch.", "Dance"),
                Document("frisch", "He came to the world in Vienna. His father was a surgeon.", "Karl von Frisch"),
            ]
        )
        yield index


def test_the_second_document_is_found_through_the_first(mentioning: Index):
    found = mentioning.retrieve(QUESTION, k=3, strategy=Hybrid())
    assert found[0].document_id == "dance"
    second = next(passage for passage in found if passage.document_id == "frisch")
    assert second.start == 0
    plain = mentioning.retrieve(QUESTION, k=3, strategy=NEVER_MENTIONED)
    assert "frisch" not in [passage.document_id for passage in plain]
    assert "is mentioned, as 'Karl von Frisch', by a leaf that matches" in second.trace.explain()[0]
    said = [line for line in second.trace.explain() if "mentions" in line]
    assert len(said) == 1
    assert any(f"from {each.id!r}, which mentions 'Karl von Frisch'" in said[0] for each in found)


@pytest.mark.parametrize("kind", [RelevantSegments, SentenceWindow, AutoMerging])
def test_strategies_over_hybrid_profit(mentioning: Index, kind):
    assert "frisch" in [each.document_id for each in mentioning.retrieve(QUESTION, kind(), k=3)]
    assert "frisch" not in [each.document_id for each in mentioning.retrieve(QUESTION, kind(base=NEVER_MENTIONED), k=3)]


def test_a_filter_keeps_out_what_is_mentioned(mentioning: Index):
    found = mentioning.retrieve(QUESTION, Hybrid(), k=50, where=F("doc_id") != "frisch")
    assert "frisch" not in {passage.document_id for passage in found}
    assert not any(each.reference for passage in found for each in passage.trace.fused)


@pytest.mark.parametrize("limits", [{"k": 1}, {"k": 3}, {"k": 50}, {"budget": 60}, {"k": 9, "min_score": 0.001}])
def test_scores_match_all_results_under_any_limits(mentioning: Index, limits):
    every = {each.id: each.score for each in mentioning.retrieve(QUESTION, Hybrid(), k=50, candidates=50)}
    some = mentioning.retrieve(QUESTION, Hybrid(), candidates=50, **limits)
    assert some
    assert all(every[each.id] == each.score for each in some if each.id in every)


@pytest.mark.parametrize("options", [{}, {"weights": (1, 9)}, {"min_score": 0.01}, {"summaries": True}])
def test_nothing_changes_where_nothing_is_mentioned(tmp_path, options):
    """The only title that the corpus mentions is Tea, which is no rare word there."""
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        index.add(DOCUMENTS)
        index.build_tree()
        for limits in ({"k": 1}, {"k": 5}, {"k": 50}, {"budget": 40}):
            found = index.retrieve_many(QUESTIONS, Hybrid(**options), **limits)
            assert found == index.retrieve_many(QUESTIONS, Hybrid(**options, references=0), **limits)
            assert not any(each.reference for row in found for passage in row for each in passage.trace.fused)


def test_several_questions_at_once_have_the_results_of_each(mentioning: Index):
    questions = [QUESTION, "city of water", "surgeon"]
    together = mentioning.retrieve_many(questions, Hybrid(), k=4)
    assert [[each.id for each in row] for row in together] == [
        [each.id for each in mentioning.retrieve(question, Hybrid(), k=4)] for question in questions
    ]

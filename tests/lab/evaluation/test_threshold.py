"""Thresholds that keep a promised share of the answerable questions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import (
    BM25,
    Config,
    Document,
    Ensemble,
    F,
    Hybrid,
    Index,
    InvalidArgument,
    MultiQuery,
    RelevantSegments,
    Rerank,
    RewriteQuery,
    SentenceWindow,
    Vector,
)
from leafspan.lab import Question, choose_threshold
from leafspan.lab.evaluation._threshold import conformal_threshold
from tests.profiles import examples

THINGS = ("ferry", "bridge", "lighthouse", "mill", "harbour", "chapel", "market", "school", "theatre", "orchard", "quarry")
TOWNS = ("Ardun", "Belmoor", "Castrel")
DOCUMENTS = [
    Document(f"{thing} of {town}", f"The {thing} of {town} opened in {1700 + 7 * number}, and {town} paid for it.")
    for number, (thing, town) in enumerate((thing, town) for thing in THINGS for town in TOWNS)
]
ANSWERABLE = [Question(f"When did the {each.id} open?", [str(1700 + 7 * number)]) for number, each in enumerate(DOCUMENTS)]
UNANSWERABLE = [
    *(Question(f"Who drew the plans of the {each.id}?") for each in DOCUMENTS[:6]),
    *(Question(f"How do {animal} sleep in winter?") for animal in ("bears", "bats", "hedgehogs", "frogs")),
]


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with Index.open(tmp_path_factory.mktemp("towns") / "kb") as index:
        index.add(DOCUMENTS)
        yield index


def share_kept(index: Index, questions: list[Question], config: Config) -> float:
    """The share of the questions for which the strategy and limits leave a passage."""
    rows = index.retrieve_many([each.text for each in questions], config.strategy, min_score=config.min_score)
    return fmean(map(bool, rows))


@examples(300, fast=60)
@given(
    pool=st.lists(st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0, -math.inf]), min_size=3, max_size=8),
    keep=st.sampled_from([0.3, 0.5, 0.6, 0.7, 0.75, 0.8]),
    data=st.data(),
)
def test_the_mean_over_all_splits_keeps_the_promised_share(pool: list[float], keep: float, data: st.DataObject):
    fewest = math.ceil(1 / (1 - Fraction(str(keep)))) - 1
    if len(pool) <= fewest:
        pool = [*pool, *pool]
    chosen_on = data.draw(st.integers(max(1, fewest), len(pool) - 1))
    shares = []
    for some in combinations(range(len(pool)), chosen_on):
        least = conformal_threshold([pool[place] for place in some], keep)
        others = [pool[place] for place in range(len(pool)) if place not in some]
        shares.append(Fraction(sum(score >= least for score in others), len(others)))
    assert sum(shares) / len(shares) >= Fraction(str(keep))


@examples(100, fast=25)
@given(st.integers(9, 60).flatmap(lambda count: st.permutations(range(count))))
def test_without_ties_no_more_is_kept_than_the_promise_needs(scores: list[int]):
    others = [[*scores[:place], *scores[place + 1 :]] for place in range(len(scores))]
    kept = [score >= conformal_threshold(rest, 0.8) for score, rest in zip(scores, others, strict=True)]
    # The share for the rank r = floor(0.2 * n): n - r of all n scores.
    assert sum(kept) == len(scores) - len(scores) // 5


@pytest.mark.parametrize(
    ("scores", "keep", "value"),
    [
        (range(9), 0.9, 0),  # floor(0.1 * 10) = 1: the smallest. In floats, 1 - 0.9 is below 0.1
        (range(18), 0.9, 0),  # floor(0.1 * 19) = 1
        (range(19), 0.9, 1),  # floor(0.1 * 20) = 2
        (range(19), 0.95, 0),
        ([0.5] * 3 + [0.7] * 16, 0.9, 0.5),
        (range(9), 0.3, 6),  # floor(0.7 * 10) = 7
    ],
)
def test_the_threshold_is_the_score_of_that_rank(scores, keep, value):
    assert conformal_threshold(list(reversed(scores)), keep) == value


@pytest.mark.parametrize(
    "strategy", [Hybrid(), RelevantSegments(), SentenceWindow(base=Hybrid(min_answer_probability=0.99))]
)
def test_a_threshold_for_the_probability_of_an_answer_acts_as_it_says(towns: Index, strategy):
    found = choose_threshold(towns, [*ANSWERABLE, *UNANSWERABLE], strategy, keep=0.8)
    assert (found.option, found.keep) == ("min_answer_probability", 0.8)
    assert (found.answerable, found.unanswerable) == (33, 10)
    hybrid = found.config.strategy if isinstance(found.config.strategy, Hybrid) else found.config.strategy.base
    assert hybrid.min_answer_probability == found.value
    assert type(found.config.strategy) is type(strategy)
    # floor(0.2 * 34) = 6: all but five have the score of rank 6 or a higher one.
    assert share_kept(towns, ANSWERABLE, found.config) >= 28 / 33
    assert found.refused == 1 - share_kept(towns, UNANSWERABLE, found.config) >= 0.4


def test_a_higher_threshold_keeps_less(towns: Index):
    found = choose_threshold(towns, ANSWERABLE, Hybrid(), keep=0.5)
    assert found.refused is None
    assert found.unanswerable == 0
    # floor(0.5 * 34) = 17: at least 17 of 33 have the score of that rank or a higher one.
    assert share_kept(towns, ANSWERABLE, found.config) >= 17 / 33
    higher = Config(strategy=Hybrid(min_answer_probability=min(1.0, found.value * 1.01)))
    assert share_kept(towns, ANSWERABLE, higher) < 17 / 33


@pytest.mark.parametrize(
    "strategy",
    [BM25(), Vector(), Ensemble(retrievers=[Hybrid(), Vector()]), SentenceWindow(base=BM25())],
)
def test_other_strategies_get_the_lowest_score_of_the_best_passage(towns: Index, strategy):
    found = choose_threshold(towns, [*ANSWERABLE, *UNANSWERABLE], strategy, keep=0.8)
    assert found.option == "min_score"
    best = [row[0].score for row in towns.retrieve_many([each.text for each in ANSWERABLE], strategy, k=1)]
    assert found.value == pytest.approx(sorted(best)[5])
    assert found.config.strategy == strategy
    assert found.config.min_score == found.value
    assert found.config.k is None
    assert share_kept(towns, ANSWERABLE, found.config) >= 28 / 33
    assert found.refused == 1 - share_kept(towns, UNANSWERABLE, found.config)


def test_the_index_gives_the_strategy_and_limits(towns: Index, tmp_path):
    found = choose_threshold(towns, ANSWERABLE)
    assert found.config.strategy == RelevantSegments(base=Hybrid(min_answer_probability=found.value))
    with Index.open(tmp_path / "kb", config=Config(strategy=BM25(), k=2, min_score=1_000)) as index:
        index.add(DOCUMENTS)
        assert index.retrieve(ANSWERABLE[0].text) == []
        found = choose_threshold(index, ANSWERABLE)
        assert found.config == Config(strategy=BM25(), k=2, min_score=found.value)
        assert found.value < 1_000


def test_a_configuration_with_its_threshold_can_be_saved_and_chosen_again(towns: Index, tmp_path):
    found = choose_threshold(towns, ANSWERABLE, Config(strategy="hybrid", k=3))
    found.config.save(tmp_path / "kb.yaml")
    again = choose_threshold(towns, ANSWERABLE, Config.load(tmp_path / "kb.yaml"))
    assert again == found
    assert again.config.k == 3
    assert repr(found).startswith("Threshold(option='min_answer_probability', value=0.")


def test_questions_with_relevant_documents_are_answerable(towns: Index):
    questions = [Question(f"When did the {each.id} open?", relevant=[each.id]) for each in DOCUMENTS]
    assert choose_threshold(towns, questions, Hybrid()).value == choose_threshold(towns, ANSWERABLE, Hybrid()).value


def test_a_filter_applies_to_all_questions(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        index.add([Document(each.id, each.text, metadata={"new": number > 2}) for number, each in enumerate(DOCUMENTS)])
        found = choose_threshold(index, ANSWERABLE, BM25(scale=True), where=F("new") == True)  # noqa: E712
        rows = index.retrieve_many([each.text for each in ANSWERABLE], BM25(scale=True), k=1, where=F("new") == True)  # noqa: E712
        assert found.value == pytest.approx(sorted(row[0].score for row in rows)[2])


@pytest.mark.parametrize(
    ("questions", "keep", "message"),
    [
        (
            ANSWERABLE[:8],
            0.9,
            r"keep=0.9 needs at least 9 questions with answers, got 8: give more, or lower keep to at most 0.888",
        ),
        (ANSWERABLE[:18], 0.95, r"keep=0.95 needs at least 19 questions with answers, got 18: .* at most 0.947"),
        (UNANSWERABLE, 0.9, r"some questions must have answers or relevant documents, got none: give answerable ones"),
        (ANSWERABLE, 1, r"keep must be a number .*1.*, got 1"),
        (ANSWERABLE, 0, r"keep must be a number .*0.*, got 0"),
        ([Question("When?", ["in 2099"])], 0.5, r"in 2099"),
    ],
)
def test_a_promise_that_cannot_be_kept_is_an_error(towns: Index, questions, keep, message):
    with pytest.raises(InvalidArgument, match=message):
        choose_threshold(towns, questions, keep=keep)


def test_as_few_questions_as_the_error_says_are_enough(towns: Index):
    assert choose_threshold(towns, ANSWERABLE[:9], Hybrid(), keep=0.9).answerable == 9
    assert choose_threshold(towns, ANSWERABLE[:8], Hybrid(), keep=0.888).answerable == 8


def test_a_strategy_that_finds_too_little_cannot_keep_its_promise(towns: Index):
    unknown = [Question(f"xyzzy {number}?", relevant=[DOCUMENTS[0].id]) for number in range(5)]
    with pytest.raises(InvalidArgument, match=r"got 0.9 where it finds none for 5 of 38: lower keep, or look at these"):
        choose_threshold(towns, [*ANSWERABLE, *unknown], BM25())
    found = choose_threshold(towns, [*ANSWERABLE, *unknown], BM25(), keep=0.8)  # floor(0.2 * 39) = 7
    assert share_kept(towns, [*ANSWERABLE, *unknown], found.config) >= 32 / 38


def test_a_lowest_score_beside_the_probability_counts_too(towns: Index):
    with pytest.raises(InvalidArgument, match="it finds none for 33 of 33"):
        choose_threshold(towns, ANSWERABLE, Hybrid(min_score=1.5))


def test_several_phrasings_keep_at_least_what_is_promised(towns: Index):
    found = choose_threshold(towns, [*ANSWERABLE, *UNANSWERABLE], MultiQuery(phrasings=["in which year"]), keep=0.8)
    assert share_kept(towns, ANSWERABLE, found.config) >= 28 / 33
    assert found.refused == 1 - share_kept(towns, UNANSWERABLE, found.config)


def test_a_strategy_that_replaces_the_question_has_the_probability_of_the_new_one(towns: Index):
    found = choose_threshold(towns, ANSWERABLE, RewriteQuery(how=lambda text: f"{text} Tell me more about it."), keep=0.8)
    assert found.value < choose_threshold(towns, ANSWERABLE, Hybrid(), keep=0.8).value
    assert share_kept(towns, ANSWERABLE, found.config) >= 28 / 33


def test_a_reranker_over_hybrid_leaves_the_probability_to_hybrid(towns: Index):
    found = choose_threshold(towns, ANSWERABLE, Rerank(base=Hybrid(), diversity=0.3))
    assert found.value == choose_threshold(towns, ANSWERABLE, Hybrid()).value

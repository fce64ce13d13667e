"""The search for better values, with given scores."""

from __future__ import annotations

import random

import pytest

from leafspan.flows import run
from leafspan.lab.tuning._parameters import Parameter
from leafspan.lab.tuning._search import folds_of, generalises, search

QUESTIONS = 100
FOLDS = folds_of(QUESTIONS, 5, seed=0)


def parameter(name, *values):
    return Parameter(name, values, read=lambda strategy: values[0], change=lambda strategy, value: strategy)


class Scores:
    """Scores of a made-up strategy, which count how often they are measured."""

    def __init__(self, score):
        self.measured = []
        self.score = score

    def __call__(self, values):
        self.measured.append(dict(values))
        yield from ()
        return [self.score(values, number) for number in range(QUESTIONS)]


def test_the_best_value_is_found_in_steps():
    scores = Scores(lambda values, number: -abs(values["a"] - 3) + number)
    found = run(search([parameter("a", 0, 1, 2, 3, 4, 5)], {"a": 0}, scores, folds=FOLDS, rounds=1))
    assert found == {"a": 3}
    # Upwards until it gets worse. Nothing is below 0, and 5 is never tried.
    assert [each["a"] for each in scores.measured] == [0, 1, 2, 3, 4]


def test_values_that_depend_on_each_other_take_another_round():
    def score(values, number):
        return values["a"] * values["b"] + 0.1 * values["b"]

    both = [parameter("a", 0, 1), parameter("b", 0, 1)]
    assert run(search(both, {"a": 0, "b": 0}, Scores(score), folds=FOLDS, rounds=1)) == {"a": 0, "b": 1}
    assert run(search(both, {"a": 0, "b": 0}, Scores(score), folds=FOLDS, rounds=2)) == {"a": 1, "b": 1}


def test_a_round_that_changes_nothing_is_the_last():
    scores = Scores(lambda values, number: 0)
    assert run(search([parameter("a", 0, 1)], {"a": 0}, scores, folds=FOLDS, rounds=10)) == {"a": 0}
    assert [each["a"] for each in scores.measured] == [0, 1]


def test_of_values_that_are_equally_good_the_present_one_stays():
    scores = Scores(lambda values, number: 1)
    assert run(search([parameter("a", 0, 1, 2)], {"a": 1}, scores, folds=FOLDS, rounds=1)) == {"a": 1}


def test_a_gain_on_a_few_questions_is_not_taken():
    # Three questions of a hundred gain 1, two lose 1: the mean is 0.01, its standard error about 0.022.
    def score(values, number):
        return values["a"] * (1 if number < 3 else -1 if number < 5 else 0)

    assert run(search([parameter("a", 0, 1)], {"a": 0}, Scores(score), folds=FOLDS, rounds=1)) == {"a": 0}


def test_a_gain_on_many_questions_is_taken():
    # Thirty gain 1, ten lose 1: the mean is 0.2, its standard error about 0.06.
    def score(values, number):
        return values["a"] * (1 if number < 30 else -1 if number < 40 else 0)

    assert run(search([parameter("a", 0, 1)], {"a": 0}, Scores(score), folds=FOLDS, rounds=1)) == {"a": 1}


def test_what_is_chosen_for_some_questions_does_not_count_for_them():
    # Each value is good for the three questions of one fold. The best of them looks better, by 3 / 30 - 0.01.
    folds = [number // 3 for number in range(30)]
    good = {value: [float(fold == value - 1) - 0.01 for fold in folds] for value in range(1, 11)}
    assert sum(good[1]) / 30 == pytest.approx(3 / 30 - 0.01)
    assert not generalises({0: [0.0] * 30, **good}, 0, folds)


def test_noise_is_seldom_taken_for_a_gain():
    taken = 0
    for seed in range(200):
        noise = random.Random(seed)
        scores = {value: [noise.gauss(0, 1) for _ in range(QUESTIONS)] for value in range(3)}
        taken += generalises(scores, 1, FOLDS)
    # One standard error is passed by chance about once in six times; what is held out must decide.
    assert taken / 200 < 0.25


def test_folds_are_of_nearly_the_same_size_and_depend_on_the_seed():
    folds = folds_of(23, 5, seed=1)
    assert sorted(folds.count(fold) for fold in range(5)) == [4, 4, 5, 5, 5]
    assert folds == folds_of(23, 5, seed=1) != folds_of(23, 5, seed=2)

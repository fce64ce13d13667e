"""Complete tunings: results, errors, and the resulting configuration."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import langchain_ext
import llamaindex_ext
from leafspan import BM25, Config, Document, Hybrid, Index, InvalidArgument, SentenceWindow, Vector
from leafspan.lab import Question, Tuning, atune, evaluate, tune
from leafspan.lab.evaluation import _tuning
from leafspan.strategies import Browse
from tests.event_loop import wait_for_the_loop
from tests.lab.tuning.conftest import BUDGETS, CHAPTERS, CODES, OPTIONS, PARTS, QUESTIONS, TOO_LITTLE_ON_WORDS
from tests.profiles import quick


@pytest.fixture(scope="module")
def tuning(parts: Index) -> Tuning:
    return tune(parts, QUESTIONS, TOO_LITTLE_ON_WORDS, budgets=BUDGETS)


def test_a_better_setting_is_found(tuning: Tuning):
    assert tuning.is_better
    assert list(tuning.changes) == ["weights"]
    before, weights = tuning.changes["weights"]
    assert before == (0.05, 0.95)
    assert weights[0] > 0.1
    assert tuning.strategy == tuning.tuned.strategy == replace(TOO_LITTLE_ON_WORDS, weights=weights)
    assert 0 < tuning.difference.low < tuning.difference.difference < tuning.difference.high


def test_it_is_reported_on_the_questions_that_did_not_choose(tuning: Tuning, parts: Index):
    assert (tuning.fitted_on, len(tuning.evaluation.questions)) == (24, 24)
    held_out = [each for each in QUESTIONS if each.id in tuning.evaluation.questions]
    again = evaluate(parts, held_out, {"base": tuning.base, "tuned": tuning.tuned}, budgets=BUDGETS)
    assert again.scores == tuning.evaluation.scores
    mean = {name: sum(again.mean(name, f"recall@{budget}") for budget in BUDGETS) / 2 for name in ("base", "tuned")}
    assert tuning.difference.difference == pytest.approx(mean["tuned"] - mean["base"])


def test_the_report_says_what_was_changed_and_what_it_is_worth(tuning: Tuning):
    assert repr(tuning).startswith("Tuning(better, +0.")
    lines = str(tuning).splitlines()
    assert lines[0] == "24 questions to choose by (9 strategies), 24 to report on"
    assert lines[2].split() == ["|", "|", "recall@12", "|", "recall@36", "|"]
    assert [line.split()[1] for line in lines[4:6]] == ["base", "tuned"]
    assert lines[7].startswith("mean recall: tuned less base is +0.")
    assert lines[8].startswith("The tuned strategy takes the place of the base: weights (0.05, 0.95) -> (0.")
    assert "made from the documents" not in str(tuning)
    plain = json.loads(json.dumps(tuning.to_dict()))
    assert plain["is_better"]
    assert plain["changes"]["weights"]["before"] == "(0.05, 0.95)"
    assert plain["difference"]["mean"] == tuning.difference.difference


@pytest.mark.parametrize("seed", quick(1, range(3)))
def test_on_random_labels_the_base_stays(parts: Index, seed: int):
    answers = random.Random(seed).sample(CODES, len(CODES))
    shuffled = [Question(each.text, [answer]) for each, answer in zip(QUESTIONS, answers, strict=True)]
    tuning = tune(parts, shuffled, TOO_LITTLE_ON_WORDS, budgets=BUDGETS, seed=seed)
    assert not tuning.is_better
    assert tuning.strategy == TOO_LITTLE_ON_WORDS
    assert tuning.config == tuning.base
    assert "The base stays" in str(tuning)
    assert repr(tuning).startswith("Tuning(base stays, ")


def test_a_change_that_does_not_hold_on_other_questions_is_refused(parts: Index, tuning: Tuning):
    refused = replace(tuning, difference=replace(tuning.difference, low=0.0))
    assert not refused.is_better
    assert refused.config == tuning.base
    assert refused.verdict.startswith("The base stays: on the questions that were held out, chance may explain")


def test_a_seed_says_which_questions_are_held_out(parts: Index):
    first, again, other = (tune(parts, QUESTIONS, [BM25(), Vector()], budgets=[30], seed=seed) for seed in (0, 0, 1))
    assert again == first
    assert set(other.evaluation.questions) != set(first.evaluation.questions)


def test_how_many_questions_are_held_out(parts: Index):
    tuning = tune(parts, QUESTIONS, [BM25(), Vector()], budgets=[30], held_out=5 / 12)
    assert (tuning.fitted_on, len(tuning.evaluation.questions)) == (28, 20)


def after_the_loop(loop, work, *arguments, **options):
    wait_for_the_loop(loop)
    return work(*arguments, **options)


def test_asyncio_finds_the_same_and_the_loop_goes_on(parts: Index, tuning: Tuning, monkeypatch: pytest.MonkeyPatch):
    async def tune() -> Tuning:
        loop = asyncio.get_running_loop()
        for name in ("placed_questions", "evaluation_by", "_difference"):
            monkeypatch.setattr(_tuning, name, partial(after_the_loop, loop, getattr(_tuning, name)))
        return await atune(parts, QUESTIONS, TOO_LITTLE_ON_WORDS, budgets=BUDGETS)

    assert asyncio.run(tune()) == tuning


@pytest.mark.slow
def test_documents_count_by_their_ranks(parts: Index):
    relevant = [Question(each.text, relevant={code: 1}) for each, code in zip(QUESTIONS, CODES, strict=True)]
    tuning = tune(parts, relevant, TOO_LITTLE_ON_WORDS)
    assert tuning.is_better
    assert tuning.difference.measure == "nDCG@10"
    means = [tuning.evaluation.mean(name, "nDCG@10") for name in ("base", "tuned")]
    assert tuning.difference.difference == pytest.approx(means[1] - means[0])


def test_the_strategies_to_try_can_be_given(parts: Index):
    window = SentenceWindow(base=Vector(), before=0, after=0)
    tuning = tune(parts, QUESTIONS, [window, replace(window, base=BM25(), after=1), "vector"], budgets=[12])
    assert tuning.is_better
    assert tuning.changes == {"base": (Vector(), BM25()), "after": (0, 1)}
    assert tune(parts, QUESTIONS, ["vector", "bm25"], budgets=[12]).changes == {"strategy": (Vector(), BM25())}


def test_of_strategies_that_are_as_good_the_base_stays(parts: Index):
    tuning = tune(parts, QUESTIONS, ["bm25", BM25()], budgets=BUDGETS)
    assert (tuning.tuned, tuning.changes, tuning.settings) == (tuning.base, {}, 2)
    assert tuning.verdict == "The base stays: on the questions to choose by, no other strategy is better."
    assert tuning.evaluation.strategies == ("base", "tuned")


def test_thresholds_are_chosen_with_questions_that_nothing_answers(parts: Index):
    unanswered = [Question(f"Who {verb} the opera?", []) for verb in [f"has {n} times sung" for n in range(60)]]
    tuning = tune(parts, [*QUESTIONS, *unanswered], [Vector(), Vector(min_score=0.9)], budgets=BUDGETS)
    assert tuning.difference.measure == "score"
    assert set(tuning.evaluation.measures) >= {"recall@36", "abstention"}
    assert set(tuning.changes) <= {"min_score"}


def test_questions_are_made_where_there_are_none_and_said_to_be_weaker(parts: Index):
    tuning = tune(parts, strategy="hybrid", budgets=BUDGETS)
    assert tuning.made
    assert "The questions were made from the documents. They favour words over meaning" in str(tuning)
    assert tuning.to_dict()["made"]
    assert tuning.base == Config(strategy=Hybrid())


def test_a_filter_keeps_to_some_documents(parts: Index):
    with pytest.raises(InvalidArgument, match="nonsense"):
        tune(parts, QUESTIONS, Hybrid(), where={"$nonsense": 1})


def test_the_configuration_is_what_index_open_takes(parts: Index, tuning: Tuning, tmp_path: Path):
    for name in ("tuned.yaml", "tuned.json"):
        tuning.save(tmp_path / name)
        assert Config.load(tmp_path / name) == tuning.config
        with Index.open(tmp_path / "kb", config=tmp_path / name) as index:
            assert index.default_strategy == tuning.strategy
    assert tuning.to_yaml() == (tmp_path / "tuned.yaml").read_text(encoding="utf-8")


@pytest.mark.slow
def test_what_else_a_configuration_says_stays(parts: Index):
    given = Config(strategy=TOO_LITTLE_ON_WORDS, candidates=80, k=3, context_sentences=1)
    tuning = tune(parts, QUESTIONS, given, budgets=BUDGETS)
    assert tuning.is_better
    assert replace(tuning.config, strategy=given.strategy) == given


def test_both_hosts_take_the_strategy_and_the_configuration(parts: Index, tuning: Tuning, tmp_path: Path):
    question = tuning.difference.wins[0]  # ids are texts, where there are no others
    expected = [each.document_id for each in parts.retrieve(question, tuning.strategy, k=3)]
    assert expected[0] in question
    assert expected != [each.document_id for each in parts.retrieve(question, tuning.base.strategy, k=3)]

    def found(index, **options):
        in_langchain = langchain_ext.SpanRetriever(index=index, k=3, **options).invoke(question)
        in_llamaindex = llamaindex_ext.SpanRetriever(index, similarity_top_k=3, **options).retrieve(question)
        return [
            [each.metadata["doc_id"] for each in in_langchain],
            [each.node.metadata["doc_id"] for each in in_llamaindex],
        ]

    assert found(parts, strategy=tuning.strategy) == [expected, expected]
    tuning.save(tmp_path / "tuned.yaml")
    with Index.open(tmp_path / "kb", config=tmp_path / "tuned.yaml", **OPTIONS) as index:
        index.add([*PARTS, *CHAPTERS])
        assert found(index) == [expected, expected]


@pytest.mark.parametrize(
    ("questions", "options", "message"),
    [
        (QUESTIONS[:20], {}, "at least 20 questions to choose by and 20 to report on, got 10 and 10: give 40 or more"),
        (QUESTIONS[:40], {"held_out": 0.9}, "got 4 and 36: give 200 or more"),
        ([], {}, "there must be a question"),
        ([*QUESTIONS, Question("Who?", ["not there"])], {}, "question 49: an answer must be in a document of the index"),
        ([*QUESTIONS, Question("Who?", relevant={"nowhere": 1})], {}, "a relevant document must be in the index"),
        (QUESTIONS, {"strategy": Browse()}, "a strategy to tune must have the weights of two searches, got Browse"),
        (QUESTIONS, {"strategy": "bm52"}, "bm52"),
        (QUESTIONS, {"strategy": ["bm25"]}, "strategies to choose from must be two or more, got 1"),
        (QUESTIONS, {"budgets": [0]}, "each of budgets must be a whole number >= 1, got 0"),
        (QUESTIONS, {"held_out": 1}, "held_out must be"),
        (QUESTIONS, {"seed": -1}, "seed must be a whole number >= 0, got -1"),
        (QUESTIONS, {"progress": "yes"}, "progress must be"),
    ],
)
def test_what_is_wrong_is_said(parts: Index, questions, options, message):
    with pytest.raises(InvalidArgument, match=message):
        tune(parts, questions, **{"strategy": "hybrid", **options})


def test_an_empty_index_has_nothing_to_ask_for(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("short", "Too short."))
        with pytest.raises(InvalidArgument, match="questions are made from leaves of 8 words or more, got no such leaf"):
            tune(index)


def test_a_bar_shows_what_is_done(parts: Index, capsys: pytest.CaptureFixture[str]):
    tune(parts, QUESTIONS, Hybrid(references=0), budgets=[30], progress=True)
    shown = capsys.readouterr().err
    assert "tuning: " in shown
    assert "reporting: " in shown

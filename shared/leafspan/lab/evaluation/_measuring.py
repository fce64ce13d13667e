"""Retrieves a strategy's passages for questions, and measures how well they answer the questions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from leafspan.configuration import Config
from leafspan.flows import Call, Flow, Progress
from leafspan.lab.evaluation._evaluation import Evaluation
from leafspan.lab.evaluation._questions import Answer, Question
from leafspan.lab.evaluation._spans import (
    MEASURES,
    check_can_measure,
    document_scores,
    find_all_answers,
    first_words,
    span_scores,
)
from leafspan.lexical import find_plain_words
from leafspan.values import Passage

ABSTENTION = "abstention"
"""The measure for questions that nothing answers."""

_DEPTH = 100  # passages that rank their documents
_AT_ONCE = 32  # questions in one retrieval

Ask = Callable[..., Flow[list[list[Passage]]]]
"""Takes texts, a strategy and limits, as ``Index.retrieve`` does, and returns the passages for each text."""

Scores = dict[str, dict[str, float]]
"""Each measure's scores by question id, for the questions that the measure applies to."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Questions with all that is needed to judge their passages."""

    questions: Sequence[Question]
    answers: Mapping[str, Sequence[Sequence[Answer]]]  # for each question, by its id, its answers, each with all its places
    texts: Mapping[str, str]  # of each document by id; empty if no question has answers

    @classmethod
    def of(cls, placed: Mapping[str, Question], ids: Collection[str], texts: Mapping[str, str]) -> Judged:
        """Find the answers of placed questions in the documents."""
        answers = find_all_answers(placed, frozenset(ids), texts)
        return cls(tuple(placed.values()), answers, texts)

    def only(self, questions: Sequence[Question]) -> Judged:
        """Some of the questions."""
        return replace(self, questions=tuple(questions))

    @property
    def with_answers(self) -> list[Question]:
        """Questions that pieces of text answer."""
        return [each for each in self.questions if each.answers]

    @property
    def graded(self) -> list[Question]:
        """Questions that have relevant documents."""
        return [each for each in self.questions if each.relevant]

    @property
    def without_answer(self) -> list[Question]:
        """Questions that nothing answers."""
        return [each for each in self.questions if each.has_no_answer]

    def steps(self, budgets: Sequence[int]) -> int:
        """Number of retrievals that ``measure`` makes."""
        return len(self.with_answers) * len(budgets) + len(self.graded) + len(self.without_answer)


def measure(ask: Ask, judged: Judged, config: Config, budgets: Sequence[int], where: object, bar: Progress) -> Flow[Scores]:
    """Measure how well a strategy answers questions, by each measure that applies to them."""
    if judged.graded:
        yield Call(check_can_measure)
    scores: Scores = {}
    for budget in budgets if judged.with_answers else ():
        how: dict[str, Any] = {"budget": budget, "candidates": config.candidates, "where": where}
        answers = yield from _ask_all(ask, judged.with_answers, config, bar, **how)
        scores |= yield Call(_scores_of_spans, (judged, answers, budget))
    if judged.graded:
        answers = yield from _ask_all(ask, judged.graded, config, bar, k=_DEPTH, candidates=_DEPTH, where=where)
        ranked = {id_: list(dict.fromkeys(each.document_id for each in row)) for id_, row in answers.items()}
        scores |= yield Call(document_scores, (ranked, {each.id: each.relevant for each in judged.graded}))
    if judged.without_answer:
        how = {"budget": budgets[-1], "candidates": config.candidates, "where": where}
        answers = yield from _ask_all(ask, judged.without_answer, config, bar, **how)
        scores[ABSTENTION] = {id_: float(not passages) for id_, passages in answers.items()}
    return scores


def evaluation_of(judged: Judged, budgets: tuple[int, ...], scores: Mapping[str, Scores]) -> Evaluation:
    """Make an evaluation of the strategies' scores, by name. It sorts the measures."""
    of_spans = [f"{measure}@{budget}" for measure in ("recall", "precision", "iou") for budget in budgets]
    order = [*of_spans, *MEASURES, ABSTENTION]
    ordered = {name: {each: row[each] for each in order if each in row} for name, row in scores.items()}
    quoting = sum(any(_quotes(each, one, judged.texts) for one in judged.answers[each.id]) for each in judged.with_answers)
    return Evaluation({each.id: each.text for each in judged.questions}, budgets, ordered, quoting)


def _quotes(question: Question, places: Sequence[Answer], texts: Mapping[str, str]) -> bool:
    """Whether all words of a question are in an answer to it, at one of the answer's places."""
    words = set(find_plain_words(question.text))
    return any(words.issubset(find_plain_words(texts[at.document_id][at.start : at.end])) for at in places)


def _ask_all(
    ask: Ask, questions: Sequence[Question], config: Config, bar: Progress, **limits: Any
) -> Flow[dict[str, list[Passage]]]:
    """The passages for each question, by its id."""
    answers: dict[str, list[Passage]] = {}
    strategy = config.defaults().strategy
    for start in range(0, len(questions), _AT_ONCE):
        some = questions[start : start + _AT_ONCE]
        rows = yield from ask([each.text for each in some], strategy, min_score=config.min_score, **limits)
        answers.update((each.id, row) for each, row in zip(some, rows, strict=True))
        bar.advance(len(some))
    return answers


def _scores_of_spans(judged: Judged, answers: Mapping[str, Sequence[Passage]], budget: int) -> Scores:
    """The scores of the first words of each question's passages."""
    scores: Scores = {}
    for each in judged.with_answers:
        read = first_words(_places(answers[each.id]), judged.texts, budget)
        for name, value in span_scores(judged.answers[each.id], read, needs_all=each.needs_all)._asdict().items():
            scores.setdefault(f"{name}@{budget}", {})[each.id] = value
    return scores


def _places(passages: Sequence[Passage]) -> list[Answer]:
    """The passages' places. A passage without a place, such as a row of a database, answers nothing."""
    return [
        Answer(each.document_id, each.start, each.end)
        for each in passages
        if each.start is not None and each.end is not None
    ]

"""Chooses the best of several strategies by some questions, and checks the choice by the others."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from leafspan.checks import check_number, check_whole
from leafspan.config import config_text
from leafspan.configuration import Config
from leafspan.errors import InvalidArgument
from leafspan.flows import Call, Flow, arun
from leafspan.lab.evaluation._evaluate import BUDGETS, checked_budgets, evaluation_by, judged_in
from leafspan.lab.evaluation._evaluation import Comparison, Evaluation, compare
from leafspan.lab.evaluation._making import make_questions
from leafspan.lab.evaluation._measuring import ABSTENTION
from leafspan.lab.evaluation._questions import Question, placed_questions
from leafspan.strategies import Ensemble, Hybrid, Strategy, StrategyLike, to_strategy
from leafspan.view import View

BASE, TUNED = "base", "tuned"
"""The names of both strategies in ``Tuning.evaluation``."""

_FEWEST = 20  # questions to choose by, and to report on
_MADE = 200  # questions that are made if the user passes none
_SHARES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # of the first of two weights
_OF_DOCUMENTS = "nDCG@10"


@dataclass(frozen=True, slots=True, repr=False)
class Tuning:
    """The best of several strategies, compared with the first of them on questions that were held out.

    ``print`` shows a report, and so does a notebook.

    Attributes:
        base: The configuration before.
        tuned: The configuration that is best on the questions to choose by. Equal to ``base`` if no other is better there.
        changes: The changed options by name, each with its value before and after.
        evaluation: The evaluation of ``"base"`` and ``"tuned"`` on the held-out questions.
        difference: The comparison of both on the held-out questions, with a confidence interval.
        fitted_on: Number of questions to choose by.
        settings: Number of strategies that were measured.
        made: Whether the questions were made from the documents.
    """

    base: Config = field(repr=False)
    tuned: Config = field(repr=False)
    changes: Mapping[str, tuple[Any, Any]]
    evaluation: Evaluation
    difference: Comparison
    fitted_on: int
    settings: int
    made: bool

    @property
    def is_better(self) -> bool:
        """Whether the tuned strategy is better on the held-out questions by more than chance explains."""
        return bool(self.changes) and self.difference.low > 0

    @property
    def config(self) -> Config:
        """The tuned configuration if it is better, or else the base."""
        return self.tuned if self.is_better else self.base

    @property
    def strategy(self) -> Strategy:
        """The strategy of ``config``."""
        return self.config.defaults().strategy

    @property
    def verdict(self) -> str:
        """The result in a sentence."""
        if not self.changes:
            return "The base stays: on the questions to choose by, no other strategy is better."
        changed = ", ".join(f"{name} {old} -> {new}" for name, (old, new) in self.changes.items())
        if self.is_better:
            return f"The tuned strategy takes the place of the base: {changed}."
        return f"The base stays: on the questions that were held out, chance may explain the difference. Tried: {changed}."

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""
        names = {"measure": "measure", "mean": "difference", "low": "low", "high": "high"}
        return {
            "is_better": self.is_better,
            "verdict": self.verdict,
            "changes": {name: {"before": str(old), "after": str(new)} for name, (old, new) in self.changes.items()},
            "difference": {name: getattr(self.difference, attribute) for name, attribute in names.items()},
            "fitted_on": self.fitted_on,
            "held_out": len(self.evaluation.questions),
            "settings": self.settings,
            "made": self.made,
            "evaluation": self.evaluation.to_dict(),
            "config": self.config.to_dict(),
        }

    def to_yaml(self, *, given: Mapping[str, object] | None = None) -> str:
        """Return ``config`` as YAML text, as ``Index.open(config=...)`` and ``--config`` take it.

        Args:
            given: Objects that cannot be written, such as functions, by their names in the file. Default: none.
        """
        return config_text(self.config.to_dict(given=given))

    def save(self, path: str | Path, *, given: Mapping[str, object] | None = None) -> None:
        """Write ``config`` to a file: as JSON if its name ends with ``.json``, else as YAML. An existing file is replaced.

        Args:
            path: The file.
            given: Objects that cannot be written, such as functions, by their names in the file. Default: none.
        """
        self.config.save(path, given=given)

    def __repr__(self) -> str:
        each = self.difference
        verdict = "better" if self.is_better else "base stays"
        return f"Tuning({verdict}, {each.difference:+.3f} [{each.low:+.3f}, {each.high:+.3f}] {each.measure})"

    def __str__(self) -> str:
        held_out = len(self.evaluation.questions)
        counts = f"{self.fitted_on} questions to choose by ({self.settings} strategies), {held_out} to report on"
        made = (
            "The questions were made from the documents. They favour words over meaning, and say less than users' "
            "questions: a choice by them is a guess."
        )
        parts = [counts, self.evaluation.table(), f"{self.difference}\n{self.verdict}", *([made] if self.made else [])]
        return "\n\n".join(parts)

    def _repr_markdown_(self) -> str:
        return str(self)


def tune(
    index: View,
    questions: str | Path | Iterable[Question | Mapping[str, Any]] | None = None,
    strategy: StrategyLike | Config | Sequence[StrategyLike | Config] | None = None,
    *,
    budgets: Sequence[int] = BUDGETS,
    where: object = None,
    held_out: float = 0.5,
    seed: int = 0,
    progress: bool | None = None,
) -> Tuning:
    """Choose the best of several strategies by some of your questions, and check it by the others: see docs/tuning.md.

    The strategies answer the questions to choose by, as in ``evaluate``. Then the first strategy, the base, and the best
    one answer the other questions, which are held out until then. The best one is better if the whole confidence interval
    of the difference is above 0. Otherwise the base stays.

    Args:
        index: The index or view.
        questions: The path of a JSON Lines file, or questions, as for ``evaluate``. Default: 200 questions made from the
            documents, as by ``make_questions``. Results with made questions are less reliable, and the report says so.
        strategy: A list with the base first, then the strategies to try. Or the base alone, if it is or has a ``Hybrid``
            or an ``Ensemble`` of two: then other weights of the two searches are tried, and ``Hybrid``'s defaults. A
            ``Config`` also gives its ``candidates`` and ``min_score``. Default: the strategy and limits of the index.
        budgets: Numbers of words, each >= 1. The mean of the recall at each is improved. Default: 150, 300, 600 and 1,200.
        where: Filter on the documents, for all questions. Default: all documents.
        held_out: Share of the questions to report on, in (0, 1). At least 20 questions must be on either side.
            Default: 0.5.
        seed: Seed of the random choices, >= 0. Default: 0.
        progress: Whether to show a bar. Default: only in a terminal or a notebook.

    Raises:
        InvalidArgument: if an option is out of its range, there is nothing to try or too few questions, or an answer or a
            relevant document is not in the index.
        MissingExtra: if questions have relevant documents, but ir-measures is not installed.
    """
    words = checked_budgets(budgets)
    check_number("held_out", held_out, above=0, below=1)
    seed = check_whole("seed", seed, 0)
    configs = _configs(index, strategy)
    base = configs[0]
    placed = placed_questions(make_questions(index, _MADE, where=where, seed=seed) if questions is None else questions)
    fitting, reporting = _divided(list(placed.values()), held_out, seed)
    judged = judged_in(index, placed)
    named = {str(number): config for number, config in enumerate(configs)}
    tried = evaluation_by(index, judged.only(fitting), named, words, where, progress, title="tuning")
    best = named[max(named, key=lambda name: fmean(_means(tried.scores[name]).values()))]  # the first of equals
    both = {BASE: base} if best == base else {BASE: base, TUNED: best}
    report = evaluation_by(index, judged.only(reporting), both, words, where, progress, title="reporting")
    if best == base:
        report = replace(report, scores=dict.fromkeys((BASE, TUNED), report.scores[BASE]))
    changes = dict(_changes(base.defaults().strategy, best.defaults().strategy))
    if best != base and not changes:
        changes = {"config": (base, best)}
    difference = _difference(reporting, report, seed)
    return Tuning(base, best, changes, report, difference, len(fitting), len(configs), questions is None)


async def atune(
    index: View,
    questions: str | Path | Iterable[Question | Mapping[str, Any]] | None = None,
    strategy: StrategyLike | Config | Sequence[StrategyLike | Config] | None = None,
    *,
    budgets: Sequence[int] = BUDGETS,
    where: object = None,
    held_out: float = 0.5,
    seed: int = 0,
    progress: bool | None = None,
) -> Tuning:
    """Like ``tune``, without blocking the event loop."""
    how: dict[str, Any] = {"budgets": budgets, "where": where, "held_out": held_out, "seed": seed, "progress": progress}

    def tuned() -> Flow[Tuning]:
        return (yield Call(tune, (index, questions, strategy), how))  # type: ignore[no-any-return]

    return await arun(tuned())


def _configs(index: View, strategy: object) -> list[Config]:
    """The base, then the configurations to try."""
    if isinstance(strategy, Sequence) and not isinstance(strategy, str):
        configs = [config_in(index, each) for each in strategy]
        if len(configs) < 2:
            raise InvalidArgument(f"strategies to choose from must be two or more, got {len(configs)}")
        return configs
    base = config_in(index, strategy)
    own = base.defaults().strategy
    others = [each for each in _variants(own) if each != own]
    if not others:
        raise InvalidArgument(
            f"a strategy to tune must have the weights of two searches, got {own!r}: give a list of strategies to try"
        )
    return [base, *(replace(base, strategy=each) for each in others)]


def config_in(index: View, strategy: object) -> Config:
    """The given configuration, or a strategy with the index's limits."""
    defaults = index._sources.defaults
    if isinstance(strategy, Config):
        return replace(strategy, strategy=defaults.strategy_of(strategy.strategy))
    limits = {name: getattr(defaults, name) for name in ("k", "candidates", "budget", "min_score")}
    return Config(strategy=defaults.strategy if strategy is None else to_strategy("strategy", strategy), **limits)


def _variants(strategy: Any) -> Iterator[Any]:
    """The strategy with other weights of its two searches, or of the two searches of a strategy in it."""
    if isinstance(strategy, Hybrid) or (isinstance(strategy, Ensemble) and len(strategy.retrievers) == 2):
        yield from (replace(strategy, weights=(share, round(1 - share, 3))) for share in _SHARES)
        if isinstance(strategy, Hybrid):
            yield Hybrid()
        return
    for each in fields(strategy):
        inner = getattr(strategy, each.name)
        if isinstance(inner, Strategy):
            yield from (replace(strategy, **{each.name: variant}) for variant in _variants(inner))


def _changes(base: Any, tuned: Any, path: str = "") -> Iterator[tuple[str, tuple[Any, Any]]]:
    """The options with different values in two strategies, with both values."""
    if type(base) is not type(tuned):
        yield path or "strategy", (base, tuned)
        return
    for each in fields(base):
        old, new = getattr(base, each.name), getattr(tuned, each.name)
        name = f"{path}.{each.name}" if path else each.name
        if isinstance(old, Strategy) and isinstance(new, Strategy):
            yield from _changes(old, new, name)
        elif old != new:
            yield name, (old, new)


def _divided(questions: list[Question], share: float, seed: int) -> tuple[list[Question], list[Question]]:
    """Divide the questions, at random, into those to choose by and those to report on, with the same share of each kind."""
    random.Random(seed).shuffle(questions)
    kinds: dict[tuple[bool, bool], list[Question]] = {}
    for each in questions:
        kinds.setdefault((bool(each.answers), bool(each.relevant)), []).append(each)
    # Sorted by kind, so that taking every n-th question takes the same share of each kind.
    ordered = [each for kind in sorted(kinds) for each in kinds[kind]]
    held_out = [each for place, each in enumerate(ordered) if int((place + 1) * share) > int(place * share)]
    ids = {each.id for each in held_out}
    fitting = [each for each in ordered if each.id not in ids]
    if min(len(fitting), len(held_out)) < _FEWEST:
        needed = math.ceil(round(_FEWEST / min(share, 1 - share), 6))
        raise InvalidArgument(
            f"there must be at least {_FEWEST} questions to choose by and {_FEWEST} to report on, got {len(fitting)} and "
            f"{len(held_out)}: give {needed} or more"
        )
    return fitting, held_out


def _difference(questions: Sequence[Question], report: Evaluation, seed: int) -> Comparison:
    """The mean difference over the questions, with its confidence interval."""
    ids = [each.id for each in questions]
    rows = {name: _means(scores) for name, scores in report.scores.items()}
    kinds = {name.partition("@")[0] for name in report.measures} & {"recall", "nDCG", ABSTENTION}
    names = {"recall": "mean recall", "nDCG": _OF_DOCUMENTS}
    name = names.get(min(kinds), ABSTENTION) if len(kinds) == 1 else "score"
    return compare(name, TUNED, BASE, {each: [row[id_] for id_ in ids] for each, row in rows.items()}, ids, seed=seed)


def _means(scores: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Each question's mean recall, nDCG@10 or abstention, by its id, or the mean of those that apply."""
    recalls: dict[str, list[float]] = {}
    for measure, row in scores.items():
        if measure.startswith("recall@"):
            for id_, value in row.items():
                recalls.setdefault(id_, []).append(value)
    parts: dict[str, list[float]] = {id_: [fmean(row)] for id_, row in recalls.items()}
    for measure in (_OF_DOCUMENTS, ABSTENTION):
        for id_, value in scores.get(measure, {}).items():
            parts.setdefault(id_, []).append(value)
    return {id_: fmean(row) for id_, row in parts.items()}

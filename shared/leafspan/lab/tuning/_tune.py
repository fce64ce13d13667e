"""Runs one tuning: divides the questions, finds a better setting on one part, and compares it on the other part."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from leafspan.config import write_config
from leafspan.configuration import Config
from leafspan.errors import InvalidArgument
from leafspan.flows import Call, Flow, Progress, arun, run
from leafspan.index import Index
from leafspan.lab.evaluation import (
    ABSTENTION,
    Comparison,
    Judged,
    Question,
    Scores,
    compare,
    evaluation_of,
    measure,
    plain_question,
)
from leafspan.lab.tuning._corpus import Corpora, Corpus
from leafspan.lab.tuning._measured import Measured
from leafspan.lab.tuning._options import Kind, TuneOptions
from leafspan.lab.tuning._parameters import LEAF, Parameter, leaf_length, parameters_of, with_values
from leafspan.lab.tuning._questions import Questions, divided, judged_in, placed_in
from leafspan.lab.tuning._search import folds_of, search
from leafspan.lab.tuning._tuning import BASE, TUNED, Tuning
from leafspan.retrieval import Defaults
from leafspan.strategies import Strategy, StrategyLike

_OF_DOCUMENTS = "nDCG@10"


def tune(
    index: Index,
    questions: str | Path | Iterable[Question | Mapping[str, Any]] | None = None,
    strategy: StrategyLike | Config | None = None,
    *,
    options: Kind | Sequence[Kind] = ("weights",),
    leaf_words: Sequence[int] = (),
    budgets: Sequence[int] = (150, 300, 600, 1_200),
    where: object = None,
    held_out: float = 0.5,
    folds: int = 5,
    rounds: int = 2,
    seed: int = 0,
    resume: str | Path | None = None,
    progress: bool | None = None,
) -> Tuning:
    """Fit a strategy on some of your questions, and report how much better it is on the others: see docs/tuning.md.

    The tuning changes one weight at a time. It keeps a change only if cross-validation shows that the change also helps on
    questions that were not used to choose it. Then the old and the tuned strategy answer the other questions, which are
    held out until then. The tuned strategy is better if the whole confidence interval of the difference is above 0.
    Otherwise the old strategy stays.

    Args:
        index: The index.
        questions: The path of a JSON Lines file, or questions, as for ``evaluate``. Default: 200 questions made from the
            documents, as by ``make_questions``. Results with made questions are less reliable, and the report says so.
        strategy: The strategy to start from. A ``Config`` also gives its ``candidates`` and ``min_score``, and its other
            options stay. Default: the strategy and limits of the index.
        options: One or several kinds of options to change: ``"weights"`` (of searches, scales, soft matches, neighbours and
            references, and BM25's k1 and b), ``"windows"`` (how far passages reach), ``"thresholds"`` (which scores are
            good enough; needs questions that nothing answers, except for ``AutoMerging``). Default: weights.
        leaf_words: Other longest leaves to try, >= 1 each (``HierarchicalSplitter.leaf_words``). Each gets an index of the
            documents in a temporary folder, without trees. If another length is better, the configuration has a splitter,
            and needs a new index. Default: none.
        budgets: Numbers of words, each >= 1. The score of a question with answers is its mean recall over the budgets. The
            score of a question with relevant documents is nDCG@10. A question without an answer scores 1 if nothing is
            found. Default: 150, 300, 600 and 1,200.
        where: Filter on the documents, for all questions. Default: all documents.
        held_out: Share of the questions to report on, in (0, 1). Default: 0.5.
        folds: Parts for cross-validation, >= 2. Default: 5.
        rounds: Largest number of rounds over all options, >= 1. Default: 2.
        seed: Seed of the random choices, >= 0. Default: 0.
        resume: File for the measured scores, so that a stopped tuning continues when you run it again. Default: None.
        progress: Whether to show a bar. Default: only in a terminal or a notebook.

    Raises:
        InvalidArgument: if there are fewer than 20 questions to fit on or to report on, an answer or a relevant
            document is not in the index, the strategy has no such options, ``resume`` belongs to another tuning, or
            an option is out of its range.
        MissingExtra: if questions have relevant documents, but ir-measures is not installed.
    """
    what = {"options": options, "leaf_words": leaf_words, "budgets": budgets, "where": where, "resume": resume}
    how = {"held_out": held_out, "folds": folds, "rounds": rounds, "seed": seed, "progress": progress}
    return run(_tuned(index, questions, strategy, **what, **how))


async def atune(
    index: Index,
    questions: str | Path | Iterable[Question | Mapping[str, Any]] | None = None,
    strategy: StrategyLike | Config | None = None,
    *,
    options: Kind | Sequence[Kind] = ("weights",),
    leaf_words: Sequence[int] = (),
    budgets: Sequence[int] = (150, 300, 600, 1_200),
    where: object = None,
    held_out: float = 0.5,
    folds: int = 5,
    rounds: int = 2,
    seed: int = 0,
    resume: str | Path | None = None,
    progress: bool | None = None,
) -> Tuning:
    """Like ``tune``, without blocking the event loop."""
    what = {"options": options, "leaf_words": leaf_words, "budgets": budgets, "where": where, "resume": resume}
    how = {"held_out": held_out, "folds": folds, "rounds": rounds, "seed": seed, "progress": progress}
    return await arun(_tuned(index, questions, strategy, **what, **how))


def _base_of(strategy: object, defaults: Defaults) -> Config:
    """The configuration to start from: the given one, or a strategy with the index's limits."""
    if isinstance(strategy, Config):
        return replace(strategy, strategy=defaults.strategy_of(strategy.strategy))
    limits = {name: getattr(defaults, name) for name in ("k", "candidates", "budget", "min_score")}
    return Config(strategy=defaults.strategy_of(strategy), **limits)


def _tuned(index: Index, questions: Questions, start: object, **given: Any) -> Flow[Tuning]:
    corpus = Corpus(index)
    base, options = _base_of(start, index._sources.defaults), TuneOptions(**given)
    strategy = base.defaults().strategy
    corpora = Corpora(corpus, options.leaf_words)
    parameters = parameters_of(strategy, options.options, corpus.bm25)
    if options.leaf_words:
        parameters.insert(0, leaf_length(corpora.length, options.leaf_words))
    if not parameters:
        raise InvalidArgument(
            f"a strategy to tune must have options of the kind {' or '.join(options.options)}, got {strategy!r}"
        )
    bar = Progress(None, show=options.progress, what="tuning", unit=" retrievals")
    try:
        placed = yield from placed_in(corpus, questions, options)
        fitting, held_out = divided(list(placed.values()), options)
        judged, state = yield from judged_in(corpus, placed, options)
        this = _Run(corpora, base, parameters, options, judged.only(fitting), bar)
        measured = Measured(None if options.resume is None else Path(options.resume), this.identity(state, held_out))
        yield from measured.load(len(fitting))
        values = yield from this.fit(measured)
        tuned = this.config(values)
        report = judged.only(held_out)
        before = yield from this.report({}, report, "the base")
        after = before if tuned == base else (yield from this.report(values, report, "the tuned strategy"))
    finally:
        bar.close()
        yield from corpora.close()
    evaluation = evaluation_of(report, tuple(options.budgets), {BASE: before, TUNED: after})
    difference = yield Call(_difference, (held_out, before, after, options.seed))
    changes = {name: (value, values[name]) for name, value in this.start.items() if values[name] != value}
    return Tuning(base, tuned, changes, evaluation, difference, len(fitting), len(measured), questions is None)


@dataclass(frozen=True, slots=True)
class _Run:
    """The fixed parts of a tuning."""

    corpora: Corpora
    base: Config
    parameters: Sequence[Parameter]
    options: TuneOptions
    judged: Judged
    bar: Progress

    @property
    def strategy(self) -> Strategy:
        return self.base.defaults().strategy

    @property
    def start(self) -> dict[str, Any]:
        """The values of the parameters in the base."""
        return {each.name: each.read(self.strategy) for each in self.parameters}

    def config(self, values: Mapping[str, Any]) -> Config:
        """The base with other values of parameters. Equal values stay as they are in the base."""
        changed = {name: values[name] for name, value in self.start.items() if values.get(name, value) != value}
        if not changed:
            return self.base
        config = replace(self.base, strategy=with_values(self.strategy, self.parameters, changed))
        return replace(config, splitter=self.corpora.splitter(changed[LEAF])) if LEAF in changed else config

    def measure(self, values: Mapping[str, Any], judged: Judged, *, once: bool = False) -> Flow[Scores]:
        """Measure how well the base with these values answers questions."""
        corpus = yield from self.corpora.of(values.get(LEAF))
        budgets, where = self.options.budgets, self.options.where
        return (yield from measure(corpus.ask, judged, self.config(values), budgets, where, self.bar, once=once))

    def fit(self, measured: Measured) -> Flow[dict[str, Any]]:
        """Find the best values on the questions to fit on."""
        ids = [each.id for each in self.judged.questions]
        once = not self.strategy.finds_spans
        retrievals = self.judged.steps(self.options.budgets, once=once)
        # A round measures the present value of each parameter, and usually one value on either side.
        total = retrievals * 3 * len(self.parameters) * self.options.rounds
        best, asked = 0.0, 0

        def scores_of(values: Mapping[str, Any]) -> Flow[Sequence[float]]:
            nonlocal best, asked
            setting = json.dumps(dict(sorted(values.items())))
            found = measured.get(setting)
            if found is None:
                counts = f"setting {len(measured) + 1}{f', best so far {best:.3f}' if asked else ''}"
                self.bar.say("tuning", counts, done=asked * retrievals, total=total)
                by_question = means((yield from self.measure(values, self.judged, once=once)))
                found = [by_question[id_] for id_ in ids]
                yield from measured.keep(setting, found)
            best, asked = max(best, fmean(found)), asked + 1
            return found

        folds = folds_of(len(ids), self.options.folds, self.options.seed)
        return (yield from search(self.parameters, self.start, scores_of, folds=folds, rounds=self.options.rounds))

    def report(self, values: Mapping[str, Any], judged: Judged, what: str) -> Flow[Scores]:
        """Evaluate the base with these values on the held-out questions."""
        self.bar.say("tuning", f"reporting on {what}")
        return (yield from self.measure(values, judged))

    def identity(self, state: str, held_out: Sequence[Question]) -> dict[str, str]:
        """All that must be equal for a file to belong to this tuning."""
        if self.options.resume is None:
            return {}
        questions = [[plain_question(each) for each in some] for some in (self.judged.questions, held_out)]
        values = {each.name: each.values for each in self.parameters}
        options = [self.options.budgets, repr(self.options.where), values]
        return {
            "questions": json.dumps(questions, default=repr),
            "index": state,
            "base": json.dumps(write_config(self.base, {}, base=Config)),
            "options": json.dumps(options),
        }


def means(scores: Scores) -> dict[str, float]:
    """Each question's mean recall, nDCG@10 or abstention, by its id, or the mean of those that apply."""
    recalls: dict[str, list[float]] = {}
    for measure_, row in scores.items():
        if measure_.startswith("recall@"):
            for id_, value in row.items():
                recalls.setdefault(id_, []).append(value)
    parts: dict[str, list[float]] = {id_: [fmean(row)] for id_, row in recalls.items()}
    for measure_ in (_OF_DOCUMENTS, ABSTENTION):
        for id_, value in scores.get(measure_, {}).items():
            parts.setdefault(id_, []).append(value)
    return {id_: fmean(row) for id_, row in parts.items()}


def _difference(questions: Sequence[Question], before: Scores, after: Scores, seed: int) -> Comparison:
    """The mean difference over the questions, with its confidence interval."""
    ids = [each.id for each in questions]
    rows = {name: means(scores) for name, scores in ((BASE, before), (TUNED, after))}
    kinds = {name.partition("@")[0] for name in before} & {"recall", "nDCG", ABSTENTION}
    names = {"recall": "mean recall", "nDCG": _OF_DOCUMENTS}
    name = names.get(min(kinds), ABSTENTION) if len(kinds) == 1 else "score"
    return compare(name, TUNED, BASE, {each: [row[id_] for id_ in ids] for each, row in rows.items()}, ids, seed=seed)

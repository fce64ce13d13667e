"""The result of an evaluation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from leafspan.checks import check_choice, check_path, reason_of, write_file
from leafspan.errors import InvalidArgument
from leafspan.flows import np
from leafspan.text import name_in_markdown

RESAMPLES = 10_000
_ENOUGH = 10  # questions; with fewer, the bootstrap's intervals are much too narrow


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two strategies compared by one measure on the same questions.

    Attributes:
        measure: The measure.
        one: Name of a strategy.
        other: Name of the strategy that it is compared with.
        difference: Mean of ``one`` minus mean of ``other``.
        low: Lower end of the 95 % confidence interval of the difference.
        high: Upper end.
        wins: Ids of the questions on which ``one`` does better.
        losses: Ids of the questions on which ``other`` does better.
        ties: Number of questions on which both have the same score.
    """

    measure: str
    one: str
    other: str
    difference: float
    low: float
    high: float
    wins: tuple[str, ...]
    losses: tuple[str, ...]
    ties: int

    def __repr__(self) -> str:
        counts = f"{len(self.wins)} won, {len(self.losses)} lost, {self.ties} the same"
        mean = f"{self.difference:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"
        return f"Comparison({self.measure!r}, {self.one!r} less {self.other!r}: {mean}, {counts})"

    def __str__(self) -> str:
        count = len(self.wins) + len(self.losses) + self.ties
        if count < _ENOUGH:
            too_few = "1 question is" if count == 1 else f"{count} questions are"
            sure = f"; {too_few} too few to tell it from chance"
        else:
            sure = "" if self.low <= 0 <= self.high else ", which chance does not explain"
        return (
            f"{self.measure}: {self.one} less {self.other} is {self.difference:+.3f} (95 %: {self.low:+.3f} to "
            f"{self.high:+.3f}{sure}). Questions: {len(self.wins)} won, {len(self.losses)} lost, {self.ties} the same"
        )


def compare(
    measure: str, one: str, other: str, scores: Mapping[str, Sequence[float]], questions: Sequence[str], *, seed: int
) -> Comparison:
    """Compare two strategies by a measure. The interval comes from the paired bootstrap, by percentiles.

    It draws questions with replacement, with the scores of both strategies; see Efron and Tibshirani, An
    Introduction to the Bootstrap, 1993, section 13.3.
    """
    differences = np.subtract(scores[one], scores[other])
    random = np.random.default_rng(seed)
    # How often each question is drawn: one row for each resample.
    means = np.empty(RESAMPLES)
    for start in range(0, RESAMPLES, 1_000):  # in parts, since a row has a number for each question
        drawn = random.multinomial(len(questions), np.full(len(questions), 1 / len(questions)), size=1_000)
        means[start : start + 1_000] = drawn @ differences / len(questions)
    low, high = np.percentile(means, [2.5, 97.5])
    return Comparison(
        measure,
        one,
        other,
        float(differences.mean()),
        float(low),
        float(high),
        tuple(id_ for id_, each in zip(questions, differences, strict=True) if each > 0),
        tuple(id_ for id_, each in zip(questions, differences, strict=True) if each < 0),
        int((differences == 0).sum()),
    )


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How well strategies answer questions. ``print`` shows it as a table, and so does a notebook.

    Attributes:
        questions: Text of each question, by its id.
        budgets: The budgets in words.
        scores: ``scores[strategy][measure][question id]``. A measure such as ``"abstention"`` has only the questions that
            it applies to. The measures are ``"recall@300"``, ``"precision@300"`` and ``"iou@300"`` of the first 300 words
            (and of the other budgets), measures of documents such as ``"nDCG@10"``, and ``"abstention"``.
        quoting: Number of questions whose words are all in their answer, as ``make_questions`` makes them without a
            language model. Scores are high for such questions, and favour searches by words. Default: 0.
    """

    questions: Mapping[str, str] = field(repr=False)
    budgets: tuple[int, ...]
    scores: Mapping[str, Mapping[str, Mapping[str, float]]] = field(repr=False)
    quoting: int = field(default=0, repr=False)

    @property
    def strategies(self) -> tuple[str, ...]:
        """The names of the strategies."""
        return tuple(self.scores)

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures."""
        return tuple(next(iter(self.scores.values()), {}))

    @property
    def default_measure(self) -> str:
        """The measure that compares strategies by default: recall at the second budget, or the first measure."""
        wanted = f"recall@{self.budgets[min(1, len(self.budgets) - 1)]}"
        return wanted if wanted in self.measures else self.measures[0]

    def mean(self, strategy: str, measure: str) -> float:
        """The mean score of a strategy, in [0, 1].

        Raises:
            InvalidArgument: if there is no such strategy or measure.
        """
        return fmean(self._scores(strategy, measure).values())

    def compare(self, one: str, other: str, measure: str | None = None, *, seed: int = 0) -> Comparison:
        """Compare two strategies, with a confidence interval and the questions on which they differ.

        Args:
            one: Name of a strategy.
            other: Name of the other strategy.
            measure: The measure. Default: recall at the second budget, or the first measure.
            seed: Seed of the bootstrap. Default: 0.

        Raises:
            InvalidArgument: if there is no such strategy or measure.
        """
        used = self.default_measure if measure is None else measure
        rows = {name: self._scores(name, used) for name in (one, other)}
        ids = list(rows[one])
        return compare(used, one, other, {name: [row[id_] for id_ in ids] for name, row in rows.items()}, ids, seed=seed)

    def to_dict(self) -> dict[str, Any]:
        """Return questions, budgets, means and scores as plain values for JSON."""
        means = {name: {measure: self.mean(name, measure) for measure in self.measures} for name in self.scores}
        scores = {name: {measure: dict(row) for measure, row in rows.items()} for name, rows in self.scores.items()}
        how = {"budgets": list(self.budgets), "quoting": self.quoting, "means": means, "scores": scores}
        return {"questions": dict(self.questions), **how}

    def save(self, path: str | Path) -> None:
        """Write the evaluation to a file as JSON. An existing file is replaced.

        Raises:
            InvalidArgument: if the file cannot be written.
        """
        text = json.dumps(self.to_dict(), ensure_ascii=False, indent=1) + "\n"
        write_file(path, text)

    @classmethod
    def load(cls, path: str | Path) -> Evaluation:
        """Read an evaluation that ``save`` has written.

        Raises:
            InvalidArgument: if the file cannot be read, or ``save`` has not written it.
        """
        check_path("path", path)
        try:
            plain = json.loads(Path(path).read_text(encoding="utf-8"))
            return cls(plain["questions"], tuple(plain["budgets"]), plain["scores"], int(plain["quoting"]))
        except OSError as error:
            raise InvalidArgument(
                f"an evaluation must be a file that can be read, got {str(path)!r}: {reason_of(error)}"
            ) from error
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InvalidArgument(f"{str(path)!r} must be a file that Evaluation.save has written") from error

    def table(self, measures: Sequence[str] | None = None) -> str:
        """Return the means as a Markdown table, with a row for each strategy. ``**`` marks the best mean of each column,
        unless it is 0.

        Args:
            measures: Names of the measures. Default: recall at each budget, and the measures of documents.
        """
        shown = (
            [each for each in self.measures if not each.startswith(("precision@", "iou@"))]
            if measures is None
            else measures
        )
        best = {measure: max(self.mean(name, measure) for name in self.scores) for measure in shown}

        def cell(name: str, measure: str) -> str:
            mean = self.mean(name, measure)
            return f"**{mean:.3f}**" if mean == best[measure] > 0 and len(self.scores) > 1 else f"{mean:.3f}"

        names = {name: name_in_markdown(name) for name in self.scores}
        width = max(map(len, names.values()), default=0)
        rows = [f"| {'':<{width}} | {' | '.join(f'{each:>11}' for each in shown)} |"]
        rows.append(f"|{'-' * (width + 2)}|{'|'.join(['-' * 12 + ':'] * len(shown))}|")
        for name, escaped in names.items():
            rows.append(f"| {escaped:<{width}} | {' | '.join(f'{cell(name, each):>11}' for each in shown)} |")
        return "\n".join(rows)

    def __str__(self) -> str:
        count = len(self.questions)
        text = f"{count} question{'' if count == 1 else 's'}\n\n{self.table()}"
        if 2 * self.quoting < count or not count:
            return text
        return (
            f"{text}\n\nThe words of {self.quoting} of these questions are all in their answers, as in questions that "
            "leafspan made without a language model. Such questions favour searches by words: do not choose a strategy by "
            "them."
        )

    def _repr_markdown_(self) -> str:
        return str(self)

    def plot(self, measure: str = "recall") -> Any:
        """Plot a measure against the budget in words, with a line for each strategy, as a matplotlib figure.

        Args:
            measure: ``"recall"``, ``"precision"`` or ``"iou"``. Default: ``"recall"``.

        Raises:
            MissingExtra: if matplotlib is not installed.
            InvalidArgument: if no question has answers.
        """
        from leafspan.lab.evaluation._plot import plot_against_budget

        check_choice("measure", measure, ("recall", "precision", "iou"))
        if f"{measure}@{self.budgets[0]}" not in self.measures:
            raise InvalidArgument("a plot needs questions with answers, got no question with answers")
        lines = {name: [self.mean(name, f"{measure}@{budget}") for budget in self.budgets] for name in self.scores}
        return plot_against_budget(measure, self.budgets, lines)

    def _scores(self, strategy: str, measure: str) -> Mapping[str, float]:
        check_choice("strategy", strategy, self.scores)
        check_choice("measure", measure, self.measures)
        return self.scores[strategy][measure]

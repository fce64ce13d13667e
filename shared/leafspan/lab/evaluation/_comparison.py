"""Compares two strategies on the same questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
    import numpy as np

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

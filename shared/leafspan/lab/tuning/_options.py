"""The options of a tuning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from leafspan.checks import check_choice, check_number, check_path, check_whole, keep_whole, shown
from leafspan.errors import InvalidArgument
from leafspan.filters import to_filter
from leafspan.lab.evaluation import BUDGETS, checked_budgets

Kind = Literal["weights", "windows", "thresholds"]
"""The kinds of options: weights of searches, widths of passages, and thresholds of scores."""

FEWEST_QUESTIONS = 20
"""Fewest questions to fit on, and fewest questions to report on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions:
    """The options of one tuning: see ``leafspan.lab.tune``.

    Attributes:
        options: The kinds of options that may be changed.
        leaf_words: Longest leaves to try, each in a separate index.
        budgets: Numbers of words, in ascending order.
        where: Filter on the documents, for all questions.
        held_out: Share of the questions to report on, in (0, 1).
        folds: Parts into which the questions to fit on are divided, >= 2.
        rounds: Largest number of rounds over all options, >= 1.
        seed: Seed of the random choices.
        resume: File for the measured scores, or None.
        progress: Whether to show a bar.
    """

    options: Sequence[Kind] = ("weights",)
    leaf_words: Sequence[int] = ()
    budgets: Sequence[int] = BUDGETS
    where: object = None
    held_out: float = 0.5
    folds: int = 5
    rounds: int = 2
    seed: int = 0
    resume: str | Path | None = None
    progress: bool | None = None

    def __post_init__(self) -> None:
        kinds = (self.options,) if isinstance(self.options, str) else self.options
        if not isinstance(kinds, Sequence) or not kinds:
            raise InvalidArgument(f"options must be a list of {', '.join(get_args(Kind))}, got {shown(self.options)}")
        for each in kinds:
            check_choice("each of options", each, get_args(Kind))
        object.__setattr__(self, "options", tuple(dict.fromkeys(kinds)))
        if not isinstance(self.leaf_words, Sequence) or isinstance(self.leaf_words, str):
            raise InvalidArgument(f"leaf_words must be a list of whole numbers, got {shown(self.leaf_words)}")
        lengths = [check_whole("each of leaf_words", length, 1) for length in self.leaf_words]
        object.__setattr__(self, "leaf_words", tuple(dict.fromkeys(lengths)))
        object.__setattr__(self, "budgets", checked_budgets(self.budgets))
        object.__setattr__(self, "where", to_filter(self.where))
        check_number("held_out", self.held_out, above=0, below=1)
        keep_whole(self, "folds", 2)
        keep_whole(self, "rounds", 1)
        keep_whole(self, "seed", 0)
        if self.resume is not None:
            check_path("resume", self.resume)

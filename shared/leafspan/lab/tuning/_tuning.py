"""The result of a tuning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leafspan.config import config_text
from leafspan.configuration import Config
from leafspan.lab.evaluation import Comparison, Evaluation
from leafspan.strategies import Strategy

BASE, TUNED = "base", "tuned"
"""The names of both strategies in ``Tuning.evaluation``."""


@dataclass(frozen=True, slots=True, repr=False)
class Tuning:
    """A tuned strategy, compared with the original one on questions that were held out.

    ``print`` shows a report, and so does a notebook.

    Attributes:
        base: The configuration before.
        tuned: The configuration that is best on the questions to fit on. Equal to ``base`` if no other is better there.
        changes: The changed options by name, each with its value before and after. For ``Hybrid``'s weights, the value is
            the share of BM25. For ``Ensemble``'s weights, it is the weight divided by the first retriever's weight.
        evaluation: The evaluation of ``"base"`` and ``"tuned"`` on the held-out questions.
        difference: The comparison of both on the held-out questions, with a confidence interval.
        fitted_on: Number of questions to fit on.
        settings: Number of settings that were measured.
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
            return "The base stays: on the questions to fit on, no change is better by more than chance explains."
        changed = ", ".join(f"{name} {_shown(old)} -> {_shown(new)}" for name, (old, new) in self.changes.items())
        if self.is_better:
            remade = "" if self.tuned.splitter == self.base.splitter else f" {REMADE}"
            return f"The tuned strategy takes the place of the base: {changed}.{remade}"
        return f"The base stays: on the questions that were held out, chance may explain the difference. Tried: {changed}."

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""
        difference = self.difference
        return {
            "is_better": self.is_better,
            "verdict": self.verdict,
            "changes": {name: {"before": old, "after": new} for name, (old, new) in self.changes.items()},
            "difference": {
                "measure": difference.measure,
                "mean": difference.difference,
                "low": difference.low,
                "high": difference.high,
            },
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
        counts = f"{self.fitted_on} questions to fit on ({self.settings} settings), {held_out} to report on"
        parts = [counts, self.evaluation.table(), f"{self.difference}\n{self.verdict}", *([MADE] if self.made else [])]
        return "\n\n".join(parts)

    def _repr_markdown_(self) -> str:
        return str(self)


MADE = (
    "The questions were made from the documents. They favour words over meaning, and say less than users' questions: "
    "weights that were fitted on them are a guess."
)

REMADE = "A new index must be made of the documents, with the configuration."


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)

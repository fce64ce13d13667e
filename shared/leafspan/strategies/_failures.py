"""Failures of strategies that ran at the same time."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from leafspan.errors import InvalidArgument
from leafspan.strategies._requests import StrategyResults
from leafspan.values import Candidate

OnFailure: TypeAlias = Literal["raise", "skip"]
ON_FAILURE: tuple[OnFailure, ...] = ("raise", "skip")
"""What happens when a strategy fails: leafspan raises its error, or skips the strategy."""


def split_failures(
    names: Sequence[str], answers: Sequence[StrategyResults], *, on_failure: OnFailure, owner: str
) -> tuple[list[list[list[Candidate]] | None], dict[str, Exception]]:
    """The results of each strategy, None if it failed, and the errors by strategy name."""
    failed = {name: each for name, each in zip(names, answers, strict=True) if isinstance(each, Exception)}
    if failed and (on_failure == "raise" or any(isinstance(error, InvalidArgument) for error in failed.values())):
        raise noted(failed, owner)
    return [None if isinstance(each, Exception) else each for each in answers], failed


def noted(failed: Mapping[str, Exception], owner: str) -> Exception:
    """The first failure, an InvalidArgument before others, with a note for each strategy that failed."""
    raised = min(failed.values(), key=lambda error: not isinstance(error, InvalidArgument))
    for name, error in failed.items():
        raised.add_note(f"{name} of the {owner} failed" + ("" if error is raised else f" too: {in_words(error)}"))
    return raised


def left_out(failed: Mapping[str, Exception]) -> list[str]:
    """A remark for the trace on each strategy that failed."""
    return [f"{name} was left out: {in_words(error)}" for name, error in failed.items()]


def in_words(error: Exception) -> str:
    """The text of an error in a trace."""
    return f"{type(error).__name__}: {error}"


def went_on_without(what: str, error: Exception) -> str:
    """Warn that the strategy goes on without a function that failed, and return the remark for the trace."""
    failed = f"{what} failed: {in_words(error)}"
    warnings.warn(f"{failed}; the retrieval goes on without it", RuntimeWarning, stacklevel=2)
    return failed

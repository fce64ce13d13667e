"""How many examples Hypothesis tries: few and always the same ones in ``make test``, many new ones in ``make test-all``.

``make test-all`` sets ``LEAFSPAN_TESTS=thorough``. With ``CI`` set, it tries many that are always the same, so that a change is
judged by what it changes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

THOROUGH = os.environ.get("LEAFSPAN_TESTS") == "thorough"
_FEWEST = 15

# No test may fail because the machine is busy.
_BUSY: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}

settings.register_profile("fast", max_examples=_FEWEST, derandomize=True, **_BUSY)
settings.register_profile("thorough", max_examples=100, print_blob=True, derandomize=bool(os.environ.get("CI")), **_BUSY)
settings.load_profile("thorough" if THOROUGH else "fast")


def examples(thorough: int, *, fast: int | None = None, **options: Any) -> settings:
    """Settings with the number of examples to try.

    Args:
        thorough: Number of examples in a thorough run.
        fast: Number of examples in a fast run. Default: a twentieth of ``thorough``, but at least 15.
        options: Further settings of Hypothesis.
    """
    if fast is None:
        fast = max(_FEWEST, thorough // 20)
    return settings(max_examples=thorough if THOROUGH else min(fast, thorough), **options)


def paired(cases: Iterable[Any], *others: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Each case with one value of each of ``others``, which take turns; in a thorough run with every combination of them."""
    cases, combined = list(cases), list(product(*others))
    turns = [(values, cases if THOROUGH else cases[number :: len(combined)]) for number, values in enumerate(combined)]
    return [
        (case, *values) for values, some in turns for case in some
    ]  # in this order, what is made of a value is made once


def quick(count: int, cases: Iterable[Any]) -> list[Any]:
    """The first cases as they are, and the others as slow ones."""
    cases = list(cases)
    rest = [each if isinstance(each, tuple) else (each,) for each in cases[count:]]
    return [*cases[:count], *(pytest.param(*values, marks=pytest.mark.slow) for values in rest)]


def in_groups(cases: Iterable[Any], size: int) -> list[list[Any]]:
    """Cases that one test tries one after the other: see ``all_hold``."""
    cases = list(cases)
    return [cases[start : start + size] for start in range(0, len(cases), size)]


def all_hold(check: Callable[[Any], object], cases: Iterable[Any]) -> None:
    """Try each case, and fail with the names and errors of all that do not hold."""
    failures = []
    for case in cases:
        try:
            check(case)
        except (Exception, pytest.fail.Exception) as error:
            failures.append(f"{getattr(case, 'name', case)}: {type(error).__name__}: {error}")
    assert not failures, "\n".join(failures)

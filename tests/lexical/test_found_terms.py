"""Terms that are kept for the next question."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from leafspan.lexical import _terms
from leafspan.lexical._terms import TermCache, TermPostings


def term_of(leaves: int) -> TermPostings:
    rows = np.arange(leaves)
    return TermPostings(rows, np.ones(leaves, np.uint8), np.ones(leaves), 1.0)


def test_terms_are_kept_until_they_have_too_many_leaves_together(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_terms, "_MOST_KEPT", 20)
    known, looked_up = TermCache(), []

    def find(name: str, leaves: int) -> Mapping[int | None, TermPostings]:
        return known.find(name, lambda: looked_up.append(name) or {None: term_of(leaves)})

    for name in "abcda":
        find(name, 5)
    assert looked_up == ["a", "b", "c", "d"]  # 20 leaves are kept
    for name in "eaefbf":
        find(name, 5)
    assert looked_up == ["a", "b", "c", "d", "e", "a", "f", "b"]  # all are dropped for e, and then kept again
    for _ in range(2):
        find("wide", 6)
    assert looked_up[-2:] == ["wide", "wide"]  # a fourth of what is kept is the most for one of them
    find("b", 5)
    assert len(looked_up) == 10

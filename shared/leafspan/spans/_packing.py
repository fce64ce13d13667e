"""Keeping a result within a number of passages and a budget of words or tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from leafspan.checks import check_whole, shown
from leafspan.errors import InvalidArgument
from leafspan.values import Candidate, Passage
from leafspan.words import count_words

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Budget:
    """At most ``limit`` words in all, or tokens where ``count`` is a tokenizer's counting function.

    Raises:
        InvalidArgument: if ``limit`` is not a positive whole number.
    """

    limit: int
    count: Callable[[str], int] = count_words

    def __post_init__(self) -> None:
        check_whole("budget", self.limit, 1)
        if not callable(self.count):
            raise InvalidArgument(f"count must be a function from a text to a number, got {shown(self.count)}")

    @property
    def words(self) -> int:
        """About so many words: what another function than ours counts is taken for three quarters of a word."""
        return self.limit if self.count is count_words else max(1, self.limit * 3 // 4)


def longest_prefix(items: Iterable[T], sizes: Iterable[int], limit: int, *, least: int = 1) -> list[T]:
    """The longest prefix whose sizes sum up to at most ``limit``, and at least the first ``least`` items."""
    kept: list[T] = []
    left = limit
    for item, size in zip(items, sizes, strict=True):
        left -= size
        if len(kept) >= least and left < 0:
            break
        kept.append(item)
    return kept


def shortlist(found: Sequence[Candidate], k: int | None, budget: Budget | None) -> list[Candidate]:
    """What may still be returned, judged before any text is fetched: the first ``k``, as far as known lengths go."""
    kept = list(found if k is None else found[:k])
    if budget is None or budget.count is not count_words:
        return kept
    return longest_prefix(kept, [item.words or 0 for item in kept], budget.limit)


def within_budget(passages: Sequence[Passage], budget: Budget | None) -> list[Passage]:
    """The passages within the budget: the first that does not fit ends the list; the first of all always stays."""
    if budget is None:
        return list(passages)
    return longest_prefix(passages, (budget.count(passage.text) for passage in passages), budget.limit)


def joined(passages: Iterable[Passage]) -> str:
    """The passages' texts as one, in their order, set apart by a blank line; without the white space around each."""
    return "\n\n".join(text for passage in passages if (text := passage.text.strip()))

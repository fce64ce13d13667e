"""The form's fields, as the address of a page has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlencode

from leafspan.checks import check_choice, shown
from leafspan.configuration import Config
from leafspan.errors import InvalidArgument
from leafspan.filters import filter_from_option

MOST_STRATEGIES = 3
"""Largest number of strategies to compare, since a page has no room for more."""

MOST_CHARACTERS = 2_000
"""Longest question, and longest filter."""

MOST_PASSAGES = 50
"""Largest number of passages for each strategy."""

MOST_WORDS = 10_000
"""Largest number of words for each strategy."""

USUAL_PASSAGES = 5


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and its options as the user typed them. Nothing is checked yet.

    Attributes:
        question: The question. None before the first question.
        strategies: Names of strategies, each once.
        k: Most passages.
        budget: Most words.
        where: Filter.
    """

    question: str | None
    strategies: tuple[str, ...]
    k: str = ""
    budget: str = ""
    where: str = ""

    @classmethod
    def of(cls, fields: Iterable[tuple[str, str]], default: str) -> Self:
        """Read the fields of an address."""
        given = [(key, value.strip()) for key, value in fields]
        last = dict(given)
        names = tuple(dict.fromkeys(value for key, value in given if key == "s" and value))
        typed = {key: last.get(key, "") for key in ("k", "budget", "where")}
        return cls(last.get("q"), names or (default,), **typed)

    def link(self, page: str, /, **others: str | int) -> str:
        """The address of another page with the same question."""
        fields: list[tuple[str, str | int]] = [*others.items()]
        if self.question is not None:
            fields += [("q", self.question), *(("s", name) for name in self.strategies)]
            fields += [(key, value) for key in ("k", "budget", "where") if (value := getattr(self, key))]
        return f"./{page}?{urlencode(fields, errors='replace')}"

    def check(self, known: Mapping[str, Config]) -> None:
        """Check the fields that do not depend on the index.

        Raises:
            InvalidArgument: if a field breaks its rule.
        """
        self.filter()
        self._number("k", self.k, MOST_PASSAGES)
        self._number("budget", self.budget, MOST_WORDS)
        if self.question is not None and len(self.question) > MOST_CHARACTERS:
            raise InvalidArgument(
                f"a question must have at most {MOST_CHARACTERS:,} characters, got {len(self.question):,}"
            )
        if len(self.strategies) > MOST_STRATEGIES:
            raise InvalidArgument(f"there must be at most {MOST_STRATEGIES} strategies, got {len(self.strategies)}")
        for name in self.strategies:
            check_choice("strategy", name, known)

    def filter(self) -> Any:
        """The filter, or None without one.

        Raises:
            InvalidArgument: if the text is too long, or not a filter.
        """
        if len(self.where) > MOST_CHARACTERS:
            raise InvalidArgument(f"a filter must have at most {MOST_CHARACTERS:,} characters, got {len(self.where):,}")
        return filter_from_option(self.where) if self.where else None

    def limits(self, config: Config) -> dict[str, Any]:
        """Options of ``retrieve`` for one strategy. The form's limits take precedence over the configuration's limits.

        Raises:
            InvalidArgument: if a limit in the form is out of its range.
        """
        limits = config.defaults()
        k = self._number("k", self.k, MOST_PASSAGES)
        budget: Any = self._number("budget", self.budget, MOST_WORDS)
        if k is None and budget is None:
            k, budget = limits.k, limits.budget
        if k is None and budget is None:
            k = USUAL_PASSAGES  # also for strategies that would return any number of passages
        own = {name: getattr(limits, name) for name in ("candidates", "min_score", "per_document")}
        return {"k": k, "budget": budget, **own}

    @staticmethod
    def _number(name: str, typed: str, most: int) -> int | None:
        if not typed:
            return None
        if not (typed.isascii() and typed.isdecimal() and len(typed) < 10 and 1 <= int(typed) <= most):
            raise InvalidArgument(f"{name} must be a whole number in [1, {most:,}], got {shown(typed)}")
        return int(typed)

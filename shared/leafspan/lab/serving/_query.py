"""The form's fields, as the address of a page has them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode

from leafspan.checks import check_choice, shown
from leafspan.configuration import Config
from leafspan.errors import InvalidArgument, LeafspanError
from leafspan.filters import filter_from_option
from leafspan.lab.pictures import Places
from leafspan.retrieval import Passages
from leafspan.values import Passage
from leafspan.view import View

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
class PageQuery:
    """A question and its options as the user typed them. Nothing is checked yet."""

    question: str | None
    strategies: tuple[str, ...]
    k: str = ""
    budget: str = ""
    where: str = ""

    @classmethod
    def of(cls, fields: Iterable[tuple[str, str]], default: str) -> Self:
        """Read the fields of an address."""
        values = [(key, value.strip()) for key, value in fields]
        last = dict(values)
        names = tuple(dict.fromkeys(value for key, value in values if key == "s" and value))
        typed = {key: last.get(key, "") for key in ("k", "budget", "where")}
        return cls(last.get("q"), names or (default,), **typed)

    def link(self, page: str, /, **others: str | int) -> str:
        """The address of another page with the same question."""
        fields: list[tuple[str, str | int]] = [*others.items()]
        if self.question is not None:
            fields += [("q", self.question), *(("s", name) for name in self.strategies)]
        if self.question is not None or self.where:
            fields += [(key, value) for key in ("k", "budget", "where") if (value := getattr(self, key))]
        return f"./{page}?{urlencode(fields, errors='replace')}"

    def check(self, configs: Mapping[str, Config]) -> None:
        """Check the fields that do not depend on the index."""
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
            check_choice("strategy", name, configs)

    def filter(self) -> Any:
        """The filter, or None without one."""
        if len(self.where) > MOST_CHARACTERS:
            raise InvalidArgument(f"a filter must have at most {MOST_CHARACTERS:,} characters, got {len(self.where):,}")
        return filter_from_option(self.where) if self.where else None

    def limits(self, config: Config) -> dict[str, Any]:
        """Options of ``retrieve`` for one strategy. The form's limits take precedence over the configuration's limits."""
        limits = config.defaults()
        k = self._number("k", self.k, MOST_PASSAGES)
        budget: Any = self._number("budget", self.budget, MOST_WORDS)
        if k is None and budget is None:
            k, budget = limits.k, limits.budget
        if k is None and budget is None:
            k = USUAL_PASSAGES  # also for strategies that would return any number of passages
        own = {name: getattr(limits, name) for name in ("candidates", "min_score", "per_document", "as_of")}
        return {"k": k, "budget": budget, **own}

    @staticmethod
    def _number(name: str, typed: str, most: int) -> int | None:
        if not typed:
            return None
        if not (typed.isascii() and typed.isdecimal() and len(typed) < 10 and 1 <= int(typed) <= most):
            raise InvalidArgument(f"{name} must be a whole number in [1, {most:,}], got {shown(typed)}")
        return int(typed)


@dataclass(frozen=True, slots=True)
class Answer:
    """The results of one strategy, best first, or its error."""

    strategy: str
    passages: Sequence[Passage]
    error: str | None = None
    words: Places | None = None  # finds the places of the question's words in a text
    why_no_answer: str | None = None

    def of_document(self, document_id: str) -> Answer:
        """The passages from one document."""
        kept = [each for each in self.passages if each.document_id == document_id]
        return Answer(self.strategy, kept, self.error, self.words)


async def find_answers(view: View, query: PageQuery, configs: Mapping[str, Config], timeout: float) -> list[Answer]:
    """Retrieve with each strategy. A strategy that fails does not keep the others from answering."""
    return await asyncio.gather(*(_find(view, query, name, configs[name], timeout) for name in query.strategies))


async def _find(view: View, query: PageQuery, name: str, config: Config, timeout: float) -> Answer:
    try:
        passages = await view.aretrieve(
            query.question, config.defaults().strategy, where=query.filter(), timeout=timeout, **query.limits(config)
        )
    except LeafspanError as error:
        return Answer(name, [], "; ".join([str(error), *getattr(error, "__notes__", [])]))
    if not isinstance(passages, Passages):
        return Answer(name, passages)
    return Answer(name, passages.worth_showing(), None, passages.words, passages.why_no_answer)


class Agreement(NamedTuple):
    """How much of a passage another strategy found too."""

    strategy: str
    numbers: tuple[int, ...]  # of the other strategy's passages, from 1
    share: float  # of the passage's characters that are in these passages, in (0, 1]


def agreements(passage: Passage, others: Mapping[str, Sequence[Passage]]) -> list[Agreement]:
    """The other strategies that found the passage, or a part of it."""
    all_agreements = []
    for strategy, passages in others.items():
        shares = {number: share for number, each in enumerate(passages, start=1) if (share := _share(passage, each))}
        if shares:
            all_agreements.append(Agreement(strategy, tuple(shares), min(sum(shares.values()), 1.0)))
    return all_agreements


def _share(passage: Passage, other: Passage) -> float:
    """The share of a passage that is in another one."""
    if passage.id == other.id:
        return 1.0
    same_kind = passage.summary is None and other.summary is None
    if not same_kind or not passage.document_id or passage.document_id != other.document_id:
        return 0.0
    if passage.start is None or passage.end is None or other.start is None or other.end is None:
        return 0.0
    common = min(passage.end, other.end) - max(passage.start, other.start)
    return max(common, 0) / max(passage.end - passage.start, 1)


def labels_of(answers: Sequence[Answer]) -> dict[str, dict[str, str]]:
    """The passages' labels in their document's text, by strategy and id: A1, or 1 if there is only one strategy."""
    labels: dict[str, dict[str, str]] = {}
    for answer, letter in zip(answers, ascii_uppercase, strict=False):
        counts: dict[str, int] = {}
        labels[answer.strategy] = {}
        for passage in answer.passages:
            counts[passage.document_id] = number = counts.get(passage.document_id, 0) + 1
            labels[answer.strategy][passage.id] = f"{letter if len(answers) > 1 else ''}{number}"
    return labels

"""One interface to ask all systems."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

Found = list[str]
"""The ids of the results, best first. Results that are not leaves have their own ids, or are left out."""


@dataclass(frozen=True)
class Asked:
    """A system that is ready to answer questions.

    Attributes:
        name: Its name in tables.
        kind: The kind of its search: one of ``KINDS``.
        package: Its distribution, whose version is printed.
        ask: Answers a question.
        many: Answers many questions in one call. None if it has no such call; then they are asked one after the other.
        aask: Answers a question for a caller that awaits it. None if it has no coroutine; then a thread asks.
        within: Answers a question from the documents with numbers from the first to the second, exclusive. None if it
            has no filters.
        count: Number of leaves to ask for, if it searches vectors. Default: 24.
        note: A remark in a few words. Default: none.
    """

    name: str
    kind: str
    package: str
    ask: Callable[[str], Found]
    many: Callable[[list[str]], Any] | None = None
    aask: Callable[[str], Awaitable[Any]] | None = None
    within: Callable[[str, int, int], Found] | None = None
    count: int = 24
    note: str = ""


@dataclass(frozen=True)
class NotInstalled:
    """A system whose package is missing.

    Attributes:
        name: Its name in tables.
        package: The missing distribution.
    """

    name: str
    package: str


def installed(packages: Sequence[str]) -> str | None:
    """The first missing distribution, or None if all are installed."""
    for name in packages:
        try:
            version(name)
        except PackageNotFoundError:
            return name
    return None

"""How something is asked, in one form for all systems."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

Found = list[str]
"""The ids of what was found, best first. Of what is no leaf, its own ids or none."""


@dataclass(frozen=True)
class Asked:
    """A system that answers questions, ready to be asked.

    Attributes:
        name: What it is called in tables.
        kind: What it searches by: one of ``KINDS``.
        package: Name of its distribution, whose version counts.
        ask: Answers a question.
        many: Answers many questions in one call. None if it has no such call: they are asked one after the other.
        aask: Answers a question for a caller that awaits it. None if it has no coroutine: a thread asks.
        within: Answers a question from the documents with numbers from the first to the second, exclusive. None if it
            has no filters.
        count: Number of leaves that it is asked for, of those that search vectors. Default: 24.
        note: What should be known of it, in a phrase. Default: nothing.
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
    """A system that could not be asked.

    Attributes:
        name: What it is called in tables.
        package: The distribution that is missing.
    """

    name: str
    package: str


def installed(packages: Sequence[str]) -> str | None:
    """The first of these distributions that is missing, None if all are there."""
    for name in packages:
        try:
            version(name)
        except PackageNotFoundError:
            return name
    return None

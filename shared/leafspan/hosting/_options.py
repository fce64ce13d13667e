"""Makes a strategy from the options of a host's retriever."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from inspect import getattr_static
from typing import Any, TypeVar

from leafspan.checks import shown, what_makes_one
from leafspan.errors import InvalidArgument
from leafspan.strategies import Strategy
from leafspan.view import View

S = TypeVar("S", bound=Strategy)

LIMITS = ("k", "candidates", "budget", "where")
"""Options of ``View.retrieve`` that a strategy may have, too. For a retriever they are options of the call."""

CALL_OPTIONS = (*LIMITS, "min_score", "per_document")
"""The options of a call of ``View.retrieve``."""


def make_strategy(kind: type[S], retriever: object, converted: Mapping[str, object]) -> S:
    """The strategy of a retriever."""
    options = {name: getattr(retriever, name) for name in _plain_names(kind, retriever, converted)}
    given = {name: value for name, value in converted.items() if value is not None or name in _required(kind)}
    return kind(**options, **given)


def plain_options(
    kind: type[Strategy], retriever: object, strategy: Strategy, converted: Collection[str]
) -> dict[str, Any]:
    """The options of a retriever in the strategy's form, which differs for some names and types."""
    if not isinstance(strategy, kind):
        return {}
    return {name: getattr(strategy, name) for name in _plain_names(kind, retriever, converted)}


def _plain_names(kind: type[Strategy], retriever: object, converted: Collection[str]) -> list[str]:
    """The options that the retriever has in the same form as the strategy."""
    return [name for name in _own_names(kind) if name not in converted and hasattr(retriever, name)]


@cache
def _own_names(kind: type[Strategy]) -> tuple[str, ...]:
    """The strategy's options without the call's options. Cached, since a retriever makes its strategy for each question."""
    return tuple(each.name for each in fields(kind) if each.name not in LIMITS)  # type: ignore[arg-type]


@cache
def _required(kind: type[Strategy]) -> frozenset[str]:
    """The options of a strategy that have no default."""
    return frozenset(each.name for each in fields(kind) if each.default is each.default_factory is MISSING)  # type: ignore[arg-type]


def to_strategies(retrievers: object, to_strategy: Callable[[str, object], Strategy]) -> object:
    """The retrievers of an ensemble as a list of strategies."""
    if not isinstance(retrievers, Sequence) or isinstance(retrievers, str):
        return retrievers
    return [to_strategy(f"retriever {number}", each) for number, each in enumerate(retrievers, start=1)]


def to_named_strategies(one: str, given: object, to_strategy: Callable[[str, object], Strategy]) -> object:
    """The retrievers of a router, or the targets of references, as strategies by name."""
    if not isinstance(given, Mapping):
        return given
    return {name: to_strategy(f"{one} {name!r}", each) if isinstance(name, str) else each for name, each in given.items()}


def check_index(index: object, strategy: Strategy | None = None) -> None:
    """Check that an option is an index, a view or None, and that the strategy can search it."""
    check_view = getattr(strategy, "check_view", None)
    if check_view is not None and isinstance(index, View):
        check_view(index)
    if index is not None and not isinstance(index, View):
        raise InvalidArgument(f"index must be an Index or a view of one, got {shown(index)}")


def check_base_retriever(name: str, thing: object, host: str) -> Strategy:
    """A base that must be a strategy, since it is not a retriever of the host."""
    if not isinstance(thing, Strategy):
        hint = what_makes_one(thing, ["as_strategy", "as_retriever"])
        raise InvalidArgument(f"{name} must be a strategy or a {host} retriever, got {shown(thing)}{hint}")
    return thing


def is_plain(retriever: object, base: type, methods: Collection[str]) -> bool:
    """Whether a retriever inherits these methods from ``base``, so that it only runs its strategy."""
    return all(getattr_static(retriever, name) is getattr_static(base, name) for name in methods)

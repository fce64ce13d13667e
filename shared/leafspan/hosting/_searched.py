"""What a host's retriever searches: an index or a view of one, or other sources alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.retrieval import aretrieve, retrieve
from leafspan.strategies import DEFAULT, Strategy, at_least, filtered, to_queries, to_strategy
from leafspan.view import View


def search(index: View | None, query: Any, strategy: Strategy, options: Mapping[str, Any], *, for_several: str) -> Any:
    """What ``View.retrieve`` returns for a single query, or without an index ``leafspan.retrieve``.

    Raises:
        InvalidArgument: if it is no query, or a list of them.
    """
    _check_single(query, strategy, for_several)
    return search_many(index, query, strategy, options)


async def asearch(
    index: View | None, query: Any, strategy: Strategy, options: Mapping[str, Any], *, for_several: str
) -> Any:
    """Like ``search``."""
    _check_single(query, strategy, for_several)
    return await asearch_many(index, query, strategy, options)


def _check_single(query: Any, strategy: Strategy, for_several: str) -> None:
    _, single = to_queries(query, needed=strategy.needs_query)
    if not single:
        raise InvalidArgument(
            f"a query must be a text or a vector, got {shown(query)}: for several queries, call {for_several}"
        )


def search_many(index: View | None, queries: Any, strategy: Strategy, options: Mapping[str, Any]) -> Any:
    """What ``View.retrieve`` returns for a list of queries, or without an index ``leafspan.retrieve``."""
    return (retrieve if index is None else index.retrieve)(queries, strategy, **options)


async def asearch_many(index: View | None, queries: Any, strategy: Strategy, options: Mapping[str, Any]) -> Any:
    """Like ``search_many``."""
    return await (aretrieve if index is None else index.aretrieve)(queries, strategy, **options)


def as_base(strategy: Strategy, where: object, min_score: float | None) -> Strategy:
    """The strategy of a retriever as the base of another one: with its filter and its lowest score."""
    return at_least(filtered(strategy, where), min_score)


def searched_index(index: View | None) -> View:
    """The index of a retriever that becomes a tool.

    Raises:
        InvalidArgument: if it has none, since it searches other sources only.
    """
    if index is None:
        raise InvalidArgument("retriever must have an index to become a tool, got one that searches other sources only")
    return index


def is_elsewhere(own: View | None, other: View | None) -> bool:
    """Whether what a retriever of ours finds comes from another index, so that its ids mean nothing in this one."""
    return own is not None and other is not None and not own.is_of_same_index(other)


def searches_the_same(own: View | None, other: View | None) -> bool:
    """Whether what a base finds can be taken as it is: it searches the same index, or none."""
    return other is None or other == own


def strategy_of(index: View | None, strategy: object) -> Strategy:
    """The strategy of a retriever: one, its name or its configuration, or None for the one that the index is asked by.

    Raises:
        InvalidArgument: if it is none of these.
    """
    if strategy is None and index is not None:
        return index.default_strategy
    return DEFAULT if strategy is None else to_strategy("strategy", strategy)

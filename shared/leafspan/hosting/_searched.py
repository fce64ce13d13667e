"""Runs a host's retriever over an index, a view, or other sources only."""

from __future__ import annotations

from typing import Any

from leafspan.errors import InvalidArgument
from leafspan.retrieval import CallOptions, Passages, aretrieve, aretrieve_many, retrieve, retrieve_many
from leafspan.strategies import DEFAULT, Strategy, at_least, filtered, to_query, to_strategy
from leafspan.view import View


def search(index: View | None, query: Any, strategy: Strategy, options: CallOptions, *, for_several: str) -> Passages:
    """The result of ``View.retrieve``, or of ``leafspan.retrieve`` without an index."""
    query = query if index is None else index._readable(query)
    to_query(query, needed=strategy.needs_query, for_several=for_several)
    return (retrieve if index is None else index.retrieve)(query, strategy, **options)


async def asearch(
    index: View | None, query: Any, strategy: Strategy, options: CallOptions, *, for_several: str
) -> Passages:
    """Like ``search``."""
    query = query if index is None else index._readable(query)
    to_query(query, needed=strategy.needs_query, for_several=for_several)
    return await (aretrieve if index is None else index.aretrieve)(query, strategy, **options)


def search_many(index: View | None, queries: Any, strategy: Strategy, options: CallOptions) -> list[Passages]:
    """The result of ``View.retrieve_many``, or of ``leafspan.retrieve_many`` without an index."""
    return (retrieve_many if index is None else index.retrieve_many)(queries, strategy, **options)


async def asearch_many(index: View | None, queries: Any, strategy: Strategy, options: CallOptions) -> list[Passages]:
    """Like ``search_many``."""
    return await (aretrieve_many if index is None else index.aretrieve_many)(queries, strategy, **options)


def as_base(strategy: Strategy, where: object, min_score: float | None) -> Strategy:
    """The strategy of a retriever as the base of another one: with its filter and its lowest score."""
    return at_least(filtered(strategy, where), min_score)


def searched_index(index: View | None) -> View:
    """The index of a retriever that becomes a tool."""
    if index is None:
        raise InvalidArgument("retriever must have an index to become a tool, got one that searches other sources only")
    return index


def is_elsewhere(own: View | None, other: View | None) -> bool:
    """Whether a leafspan retriever's results come from another index, whose ids do not exist in this one."""
    return own is not None and other is not None and not own.is_of_same_index(other)


def searches_the_same(own: View | None, other: View | None) -> bool:
    """Whether a base's results can stay as they are, since it searches the same index or no index."""
    return other is None or other == own


def strategy_of(index: View | None, strategy: object) -> Strategy:
    """The strategy from a strategy, a name or a configuration, or the index's own strategy for None."""
    if strategy is None and index is not None:
        return index.default_strategy
    return DEFAULT if strategy is None else to_strategy("strategy", strategy)

"""The base of a strategy that merges or widens leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leafspan.checks import shown
from leafspan.errors import InvalidArgument, LeafspanError, NotALeaf
from leafspan.strategies._context import RetrievalContext
from leafspan.strategies._fuse import is_nameless
from leafspan.strategies._host_retriever import HostRetriever
from leafspan.strategies._requests import StrategyFlow
from leafspan.strategies._strategy import Strategy, check_strategy
from leafspan.values import Candidate, Query

HOW_TO_FIND_LEAVES = "from leaf_documents(index) of langchain_ext or leaf_nodes(index) of llamaindex_ext"


def check_base(base: object) -> None:
    """Check that an option is a strategy that finds single leaves, which can be merged or widened.

    Raises:
        InvalidArgument: if it is not.
    """
    check_strategy("base", base)
    assert isinstance(base, Strategy)
    if base.finds_spans:
        raise InvalidArgument(f"base must be a strategy that finds single leaves, such as Hybrid(), got {shown(base)}")


def retrieve_leaves(
    base: Strategy, queries: Sequence[Query], context: RetrievalContext, *, most: int | None = None
) -> StrategyFlow[list[list[Candidate]]]:
    """The leaves that a base finds for each query, for a strategy that merges or widens them.

    Args:
        base: The base.
        queries: The queries.
        context: The context of the strategy.
        most: How many of the best leaves the strategy needs. Default: None, all.

    Raises:
        NotALeaf: if a result comes from another source than the index.
        InvalidArgument: if a candidate of the base is not a single leaf for another reason.
    """
    results = yield from base.retrieve(queries, replace(context, k=most))
    for row in results:
        for number, found in enumerate(row, start=1):
            if found.leaf is None:
                raise _refusal(base, number, found)
    return results


def _refusal(base: Strategy, number: int, found: Candidate) -> LeafspanError:
    name = found.trace.hits[0].source if found.trace.hits else type(base).__name__
    remedy = f"build that retriever {HOW_TO_FIND_LEAVES}"
    if found.outside is not None and is_nameless(found.outside):
        what = f"no id, text {found.outside.text[:60]!r}"
        remedy = f"leafspan knows leaves by id, so take a retriever that keeps ids, and build it {HOW_TO_FIND_LEAVES}"
    elif found.outside is not None:
        what = f"id {found.outside.id!r}, text {found.outside.text[:60]!r}"
    elif isinstance(base, HostRetriever):
        what = f"the span {found.span.id!r}"
    else:
        return InvalidArgument(
            f"the base {type(base).__name__} must find single leaves, got the span {found.span.id!r}: keep the `leaf` of "
            "each candidate, or override finds_spans so that it is refused as a base"
        )
    return NotALeaf(f"the results of {name} must be leaves of this index, but number {number} is not: {what}; {remedy}")

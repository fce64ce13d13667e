"""A LlamaIndex retriever as the base or a leg of a strategy."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from leafspan import HostRetriever, InvalidArgument, Strategy
from leafspan.strategies import HostResult


def as_strategy(thing: Any, bundle: QueryBundle | None = None, *, name: str = "base") -> Strategy:
    """The strategy as it is, or a LlamaIndex retriever as one; it is asked the whole ``bundle``, or another phrasing.

    Raises:
        InvalidArgument: if it is neither; ``name`` is what it is called there.
    """
    if isinstance(thing, BaseRetriever):

        def asked(question: str) -> QueryBundle:
            return bundle if bundle is not None and bundle.query_str == question else QueryBundle(question)

        def ask(question: str) -> list[HostResult]:
            return [_result(node) for node in thing.retrieve(asked(question))]

        async def aask(question: str) -> list[HostResult]:
            return [_result(node) for node in await thing.aretrieve(asked(question))]

        return HostRetriever(type(thing).__name__, ask, aask)
    # A retriever of LlamaIndex has a method of that name too, so it was looked at first.
    if not callable(getattr(thing, "retrieve", None)):
        raise InvalidArgument(f"{name} must be a strategy or a LlamaIndex retriever, got {thing!r}")
    strategy: Strategy = thing
    return strategy


def _result(scored: NodeWithScore) -> HostResult:
    return HostResult(scored.node.node_id, scored.node.get_content(), scored.score)

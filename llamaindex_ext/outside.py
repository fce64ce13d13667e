"""A LlamaIndex retriever as the base of a strategy."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from leafspan import InvalidArgument, Outside, Strategy
from leafspan.requests import OutsideResult


def as_strategy(base: Any, bundle: QueryBundle | None = None) -> Strategy:
    """The strategy as it is, or a LlamaIndex retriever as one; it is asked the whole ``bundle``.

    Raises:
        InvalidArgument: if it is neither.
    """
    if isinstance(base, BaseRetriever):

        def ask(question: str) -> list[OutsideResult]:
            return [_result(node) for node in base.retrieve(bundle or QueryBundle(question))]

        async def aask(question: str) -> list[OutsideResult]:
            return [_result(node) for node in await base.aretrieve(bundle or QueryBundle(question))]

        return Outside(type(base).__name__, ask, aask)
    # A retriever of LlamaIndex has a method of that name too, so it was looked at first.
    if not callable(getattr(base, "retrieve", None)):
        raise InvalidArgument(f"base must be a strategy or a LlamaIndex retriever, got {base!r}")
    strategy: Strategy = base
    return strategy


def _result(scored: NodeWithScore) -> OutsideResult:
    return OutsideResult(scored.node.node_id, scored.node.get_content(), scored.score)

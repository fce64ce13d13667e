"""A LlamaIndex retriever as the base of a strategy."""

from __future__ import annotations

from copy import copy
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import IndexNode, NodeWithScore, QueryBundle

from leafspan import HostRetriever, Strategy
from leafspan.hosting import HostResult, check_base_retriever


def as_strategy(thing: Any, bundle: QueryBundle | None = None, *, name: str = "base", elsewhere: bool = False) -> Strategy:
    """The strategy as it is, or a LlamaIndex retriever as one.

    Args:
        thing: The strategy or retriever.
        bundle: What the retriever is asked as a whole where the question is its own; other phrasings are asked as texts.
        name: What it is called in errors.
        elsewhere: Whether it is a retriever of ours over another index.

    Raises:
        InvalidArgument: if it is neither.
    """
    if not isinstance(thing, BaseRetriever):
        return check_base_retriever(name, thing, "LlamaIndex")

    def asked(question: str) -> QueryBundle:
        # A copy for each retriever: some write their vector of the question into what they are asked.
        return copy(bundle) if bundle is not None and bundle.query_str == question else QueryBundle(question)

    def ask(question: str) -> list[HostResult]:
        return [_result(node) for node in thing.retrieve(asked(question))]

    async def aask(question: str) -> list[HostResult]:
        return [_result(node) for node in await thing.aretrieve(asked(question))]

    return HostRetriever(type(thing).__name__, ask, aask, elsewhere)


def _result(scored: NodeWithScore) -> HostResult:
    node = scored.node
    # What an index node refers to counts as metadata, under the key by which references are followed by default.
    refers = {"reference": node.index_id} if isinstance(node, IndexNode) else {}
    metadata, hidden = {**refers, **node.metadata}, tuple(node.excluded_llm_metadata_keys)
    return HostResult(node.node_id, node.get_content(), scored.score, metadata, origin=node, hidden=hidden)

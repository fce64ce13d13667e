"""Converts LlamaIndex objects for the core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.base_selector import BaseSelector, SelectorResult
from llama_index.core.indices.query.query_transform.base import BaseQueryTransform
from llama_index.core.llms import LLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import IndexNode, NodeWithScore, QueryBundle
from llama_index.core.tools import ToolMetadata

from leafspan import HostRetriever, InvalidArgument, Passage, Query, Strategy
from leafspan.hosting import (
    GenerateOptions,
    HostObject,
    HostReranker,
    HostResult,
    Reranked,
    check_base_retriever,
    from_llamaindex,
    recognise,
    shown,
)
from llamaindex_ext.documents import to_scored_node


def as_strategy(thing: Any, bundle: QueryBundle | None = None, *, name: str = "base", elsewhere: bool = False) -> Strategy:
    """A strategy unchanged, or a LlamaIndex retriever as a strategy, called ``name`` in errors.

    The retriever gets the whole ``bundle`` for the bundle's own question, and other phrasings as texts. ``elsewhere`` says
    whether the retriever's results come from another index, whose ids do not exist in this one.
    """
    if not isinstance(thing, BaseRetriever):
        return check_base_retriever(name, thing, "LlamaIndex")

    def bundled(question: str) -> QueryBundle:
        # A copy for each retriever, since some write the question's vector into their bundle.
        return copy(bundle) if bundle is not None and bundle.query_str == question else QueryBundle(question)

    def ask(question: str) -> list[HostResult]:
        return [_result(node) for node in thing.retrieve(bundled(question))]

    async def aask(question: str) -> list[HostResult]:
        return [_result(node) for node in await thing.aretrieve(bundled(question))]

    return HostRetriever(type(thing).__name__, ask, aask, elsewhere)


def _result(scored: NodeWithScore) -> HostResult:
    node = scored.node
    # An index node's target becomes metadata, under the default key of FollowReferences.
    refers = {"reference": node.index_id} if isinstance(node, IndexNode) else {}
    metadata, hidden = {**refers, **node.metadata}, tuple(node.excluded_llm_metadata_keys)
    return HostResult(node.node_id, node.get_content(), scored.score, metadata, origin=node, hidden=hidden)


def as_reranker(thing: Any, bundle: QueryBundle | None = None) -> dict[str, Any]:
    """Options that ask a node postprocessor, which gets the whole ``bundle``, or another phrasing; empty for a function.

    The postprocessor gets nodes as the retriever would return them, with the base's scores.
    """
    if not isinstance(thing, BaseNodePostprocessor):
        if callable(thing):
            return {}
        raise InvalidArgument(f"rerank must be a function or a LlamaIndex node postprocessor, got {shown(thing)}")
    name = type(thing).__name__

    def bundled(question: str) -> QueryBundle:
        return bundle if bundle is not None and bundle.query_str == question else QueryBundle(question)

    def rerank(question: str, passages: Sequence[Passage]) -> list[Reranked]:
        nodes = [_copy(passage) for passage in passages]
        objects = [_host_object(node) for node in nodes]
        return _recognise(name, objects, thing.postprocess_nodes(nodes, bundled(question)))

    async def arerank(question: str, passages: Sequence[Passage]) -> list[Reranked]:
        nodes = [_copy(passage) for passage in passages]
        objects = [_host_object(node) for node in nodes]
        return _recognise(name, objects, await thing.apostprocess_nodes(nodes, bundled(question)))

    return {"rerank": HostReranker(name, rerank, arerank)}


def _copy(passage: Passage) -> NodeWithScore:
    """A new node for the passage, since postprocessors change nodes in place."""
    scored = to_scored_node(passage)
    return NodeWithScore(node=scored.node.model_copy(deep=True), score=scored.score)


def _recognise(name: str, objects: Sequence[HostObject], returned: Any) -> list[Reranked]:
    if not isinstance(returned, Sequence) or not all(isinstance(each, NodeWithScore) for each in returned):
        raise InvalidArgument(f"{name} must return a list of NodeWithScore, got {shown(returned)}")
    scored = [(_host_object(each), None if each.score is None else float(each.score)) for each in returned]
    return recognise(name, "nodes", objects, scored)


def _host_object(scored: NodeWithScore) -> HostObject:
    node = scored.node
    return HostObject(node, node.node_id, node.get_content(), dict(node.metadata))


def as_generate(llm: Any, bundle: QueryBundle | None = None) -> GenerateOptions:
    """Options that ask ``llm``, and never LlamaIndex's default LLM."""
    if not isinstance(llm, LLM):
        raise InvalidArgument(f"llm must be a LlamaIndex LLM, got {shown(llm)}")
    return from_llamaindex(llm).options


def as_choice(choose: Any, retrievers: object, descriptions: object) -> dict[str, Any]:
    """Options that ask a selector, which gets the names and descriptions of retrievers; empty for any other object."""
    if not isinstance(choose, BaseSelector) or not isinstance(retrievers, Mapping):
        return {}
    names = list(retrievers)
    about = descriptions if isinstance(descriptions, Mapping) else {}
    choices = [ToolMetadata(description=str(about.get(name, name)), name=str(name)) for name in names]

    def chosen(result: SelectorResult) -> list[str]:
        for each in result.selections:  # as a list index, -1 would be the last name
            if not 0 <= each.index < len(names):
                raise IndexError(f"the selector must choose a number in [1, {len(names)}], got {each.index + 1}")
        return [names[each.index] for each in result.selections]

    def ask(question: str) -> list[str]:
        return chosen(choose.select(choices, question))

    async def aask(question: str) -> list[str]:
        return chosen(await choose.aselect(choices, question))

    return {"choose": ask, "achoose": aask}


def as_transformation(how: Any, bundle: QueryBundle | None = None) -> dict[str, Any]:
    """Options that ask a query transform, such as a ``HyDEQueryTransform``; empty for any other object."""
    if not isinstance(how, BaseQueryTransform):
        return {}

    def ask(question: str) -> str | Query:
        return to_query(how.run(question))

    return {"how": ask}


CONVERSIONS = {"llm": as_generate, "how": as_transformation, "rerank": as_reranker}
"""The functions for objects of LlamaIndex, by the names of the options that take them."""


def to_query(bundle: QueryBundle) -> str | Query:
    """A QueryBundle as the core's query, with its vector or the texts to embed."""
    if bundle.embedding is None and not bundle.custom_embedding_strs:
        return bundle.query_str
    vector = None if bundle.embedding is None else tuple(bundle.embedding)
    return Query(text=bundle.query_str, vector=vector, embedding_texts=tuple(bundle.custom_embedding_strs or ()))

"""A LlamaIndex node postprocessor as what reorders results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle

from leafspan import InvalidArgument, Passage
from leafspan.hosting import Given, HostReranker, Reranked, place_among, shown
from llamaindex_ext.documents import to_scored_node


def as_reranker(thing: Any, bundle: QueryBundle | None = None) -> Any:
    """A function as it is, or a node postprocessor as a reranker, which is given the whole ``bundle``, or another phrasing.

    The postprocessor gets nodes as the retriever would return them, with the base's scores.

    Raises:
        InvalidArgument: if it is neither.
    """
    if thing is None or (callable(thing) and not isinstance(thing, BaseNodePostprocessor)):
        return thing
    if not isinstance(thing, BaseNodePostprocessor):
        raise InvalidArgument(f"rerank must be a function or a LlamaIndex node postprocessor, got {shown(thing)}")
    name = type(thing).__name__

    def asked(question: str) -> QueryBundle:
        return bundle if bundle is not None and bundle.query_str == question else QueryBundle(question)

    def rerank(question: str, passages: Sequence[Passage]) -> list[Reranked]:
        nodes = [_copy(passage) for passage in passages]
        given = [_given(node) for node in nodes]
        return _recognised(name, given, thing.postprocess_nodes(nodes, asked(question)))

    async def arerank(question: str, passages: Sequence[Passage]) -> list[Reranked]:
        nodes = [_copy(passage) for passage in passages]
        given = [_given(node) for node in nodes]
        return _recognised(name, given, await thing.apostprocess_nodes(nodes, asked(question)))

    return HostReranker(name, rerank, arerank)


def _copy(passage: Passage) -> NodeWithScore:
    """The passage as a node of its own, since postprocessors change nodes in place."""
    scored = to_scored_node(passage)
    return NodeWithScore(node=scored.node.model_copy(deep=True), score=scored.score)


def _recognised(name: str, given: Sequence[Given], returned: Any) -> list[Reranked]:
    if not isinstance(returned, Sequence) or not all(isinstance(each, NodeWithScore) for each in returned):
        raise InvalidArgument(f"{name} must return a list of NodeWithScore, got {shown(returned)}")
    results = []
    for scored in returned:
        node = _given(scored)
        place = place_among(given, node)
        if place is None:
            raise InvalidArgument(f"{name} must return nodes that it was given, got one of the text {shown(node.text)}")
        note = "" if node.text == given[place].text else "the text that it changed stays as it is"
        results.append(Reranked(place, None if scored.score is None else float(scored.score), note))
    return results


def _given(scored: NodeWithScore) -> Given:
    node = scored.node
    return Given(node, node.node_id, node.get_content(), dict(node.metadata))

"""Routers and references beside LlamaIndex's RouterRetriever and RecursiveRetriever, over the same retrievers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import BaseRetriever, RecursiveRetriever, RouterRetriever
from llama_index.core.schema import IndexNode, NodeWithScore, TextNode
from llama_index.core.selectors import EmbeddingSingleSelector
from llama_index.core.tools import RetrieverTool

import leafspan
from leafspan import FollowReferences, Router
from llamaindex_ext.host_objects import as_strategy
from tests.profiles import examples


class Finds(BaseRetriever):
    """Finds these nodes."""

    def __init__(self, nodes):
        super().__init__()
        self.nodes = nodes

    def _retrieve(self, query_bundle):
        return [NodeWithScore(node=node, score=1 / rank) for rank, node in enumerate(self.nodes, start=1)]


# Routers

TOPICS = ["the sea and its harbours", "honey bees", "tea and coffee"]
vectors = st.lists(st.integers(-9, 9).map(float), min_size=3, max_size=3).filter(any)


class Table(BaseEmbedding):
    """Vectors from a table."""

    table: dict[str, list[float]]

    def _get_text_embedding(self, text):
        return self.table[text]

    def _get_query_embedding(self, query):
        return self.table[query]

    async def _aget_query_embedding(self, query):
        return self.table[query]


@given(vectors, st.lists(vectors, min_size=3, max_size=3))
@examples(200)
def test_the_retriever_with_the_nearest_description_is_the_one_that_llamaindex_selects(question, about):
    def cosine(one, other):
        return sum(a * b for a, b in zip(one, other, strict=True)) / math.hypot(*one) / math.hypot(*other)

    best = sorted((cosine(question, each) for each in about), reverse=True)
    if best[0] - best[1] < 1e-6:
        return  # a tie, which the two break in their own ways
    table = {"q": question, **dict(zip(TOPICS, about, strict=True))}
    retrievers = [Finds([TextNode(id_=topic, text=topic)]) for topic in TOPICS]
    tools = [
        RetrieverTool.from_defaults(retriever=each, description=topic)
        for each, topic in zip(retrievers, TOPICS, strict=True)
    ]
    theirs = RouterRetriever(EmbeddingSingleSelector(Table(table=table)), tools, llm=MockLLM())
    ours = Router(
        retrievers={topic: as_strategy(each) for topic, each in zip(TOPICS, retrievers, strict=True)},
        descriptions={topic: topic for topic in TOPICS},
    )
    found = leafspan.retrieve("q", ours, embedder=lambda texts: [table[text] for text in texts])
    assert [each.id for each in found] == [each.node_id for each in theirs.retrieve("q")]


# References


@st.composite
def webs(draw):
    """Retrievers by name; one or more nodes of one other retriever refer to each of them, except to the root."""
    count = draw(st.integers(1, 6))
    parents = [draw(st.integers(0, number)) for number in range(count)]
    retrievers = {}
    for number in range(count + 1):
        referred = [name for name in range(1, count + 1) if parents[name - 1] == number]
        twice = [name for name in referred if draw(st.booleans())]
        texts = [("text", draw(st.sampled_from("abcdefghij"))) for _ in range(draw(st.integers(1, 3)))]
        mixed = draw(st.permutations([*texts, *(("to", name) for name in (*referred, *twice))]))
        nodes = [
            TextNode(id_=what, text=f"text {what}")
            if kind == "text"
            else IndexNode(id_=f"{number} to {what}, {place}", text="a reference", index_id=f"r{what}")
            for place, (kind, what) in enumerate(mixed)
        ]
        retrievers[f"r{number}"] = list({node.node_id: node for node in nodes}.values())
    return {name: Finds(nodes) for name, nodes in retrievers.items()}


@given(webs())
@examples(200)
def test_references_lead_to_what_they_lead_to_in_llamaindex_in_its_order(web):
    theirs = RecursiveRetriever("r0", web)
    targets = {name: as_strategy(each) for name, each in web.items()}
    ours = FollowReferences(base=targets["r0"], targets=targets, depth=20, per_reference=20)
    found = leafspan.retrieve("q", ours, k=100)
    assert [each.id for each in found] == [each.node_id for each in theirs.retrieve("q")]


def test_where_llamaindex_goes_round_in_circles_ours_ends():
    web = {"r0": Finds([IndexNode(id_="n", text="a reference", index_id="r0"), TextNode(id_="t", text="a text")])}
    with pytest.raises(RecursionError):
        RecursiveRetriever("r0", web).retrieve("q")
    targets = {"r0": as_strategy(web["r0"])}
    found = leafspan.retrieve("q", FollowReferences(base=targets["r0"], targets=targets))
    assert [each.id for each in found] == ["n", "t"]


def test_where_llamaindex_fails_for_an_unknown_reference_ours_keeps_it_and_says_so():
    web = {"r0": Finds([IndexNode(id_="n", text="a reference", index_id="nowhere")])}
    with pytest.raises(ValueError, match="Query id nowhere not found"):
        RecursiveRetriever("r0", web).retrieve("q")
    [found] = leafspan.retrieve("q", FollowReferences(base=as_strategy(web["r0"])))
    assert found.trace.notes == ("FollowReferences: the reference 'nowhere' led to nothing",)

"""Decay beside the time-weighted scores of LangChain and LlamaIndex. They add the decay, and leafspan multiplies by it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from langchain_classic.retrievers import TimeWeightedVectorStoreRetriever
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core.postprocessor import TimeWeightedPostprocessor
from llama_index.core.schema import NodeWithScore, TextNode

from leafspan import Decay, retrieve
from leafspan.strategies import HostResult, HostRetriever

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
HOURS = [0, 1, 7.5, 30, 400]


def factors(shape_options, dates):
    """The factor of each date, which is its score where the base's is 1."""
    results = [HostResult(f"{number}", f"text {number}", 1.0, {"date": each}) for number, each in enumerate(dates)]

    async def aask(question):
        return results

    base = HostRetriever("dated", lambda question: results, aask)
    found = retrieve("when?", Decay(base=base, now=NOW, **shape_options), k=len(dates))
    return [passage.score for passage in sorted(found, key=lambda passage: passage.id)]


@pytest.mark.parametrize("rate", [0.01, 0.2, 0.9])
def test_an_exponential_decay_by_the_hour_is_the_recency_of_langchain(rate):
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
    theirs = TimeWeightedVectorStoreRetriever(vectorstore=store, decay_rate=rate)
    naive = NOW.replace(tzinfo=None)
    accessed = [naive - timedelta(hours=hours) for hours in HOURS]
    expected = [
        theirs._get_combined_score(Document("", metadata={"last_accessed_at": each}), None, naive) for each in accessed
    ]
    ours = factors({"scale": timedelta(hours=1), "decay": 1 - rate}, [each.isoformat() for each in accessed])
    assert ours == pytest.approx(expected)


@pytest.mark.parametrize("rate", [0.01, 0.2, 0.9])
def test_an_exponential_decay_by_the_hour_is_the_recency_of_llamaindex(rate):
    seconds = [NOW.timestamp() - 3600 * hours for hours in HOURS]
    nodes = [
        NodeWithScore(node=TextNode(id_=f"{number}", text="", metadata={"__last_accessed__": each}), score=1)
        for number, each in enumerate(seconds)
    ]
    theirs = TimeWeightedPostprocessor(time_decay=rate, now=NOW.timestamp(), top_k=len(nodes), time_access_refresh=False)
    found = sorted(theirs.postprocess_nodes(nodes), key=lambda node: node.node_id)
    ours = factors({"scale": timedelta(hours=1), "decay": 1 - rate}, seconds)
    assert ours == pytest.approx([node.score - 1 for node in found])

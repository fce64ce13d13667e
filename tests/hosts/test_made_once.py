"""A retriever makes and checks its strategy once, and again only when an option has changed."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import langchain_ext
import llamaindex_ext
from leafspan import Hybrid, Index, InvalidArgument

ASKS: dict[Any, Callable[[Any], Any]] = {
    langchain_ext: lambda retriever: [each.id for each in retriever.invoke("Who decoded the dance?")],
    llamaindex_ext: lambda retriever: [each.node.node_id for each in retriever.retrieve("Who decoded the dance?")],
}
hosts = pytest.mark.parametrize("host", ASKS, ids=["langchain", "llamaindex"])


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Hybrid]:
    """Each ``Hybrid`` that was made and checked."""
    strategies: list[Hybrid] = []
    check = Hybrid.__post_init__

    def noted(strategy: Hybrid) -> None:
        check(strategy)
        strategies.append(strategy)

    monkeypatch.setattr(Hybrid, "__post_init__", noted)
    return strategies


@hosts
@pytest.mark.parametrize("kind", ["HybridRetriever", "RelevantSegmentsRetriever"])
def test_questions_make_no_strategy(host: Any, kind: str, shared_index: Index, made: list[Hybrid]):
    retriever = getattr(host, kind)(shared_index)
    ASKS[host](retriever)
    made.clear()
    assert ASKS[host](retriever) == ASKS[host](retriever) != []
    assert made == []


@hosts
def test_nor_do_they_for_retrievers_in_a_retriever(host: Any, shared_index: Index, made: list[Hybrid]):
    inner = host.HybridRetriever(shared_index)
    retriever = host.EnsembleRetriever(shared_index, retrievers=[inner, host.BM25Retriever(shared_index)])
    ASKS[host](retriever)
    made.clear()
    ASKS[host](retriever)
    assert made == []


@hosts
def test_an_option_that_is_assigned_counts_from_then_on(host: Any, shared_index: Index):
    retriever = host.VectorRetriever(shared_index, min_score=-1.0)
    assert len(ASKS[host](retriever)) > 0
    retriever.min_score = 0.999
    assert ASKS[host](retriever) == []


@hosts
def test_and_is_checked(host: Any, shared_index: Index):
    retriever = host.HybridRetriever(shared_index)
    ASKS[host](retriever)
    retriever.references = 2
    with pytest.raises(InvalidArgument, match="references must be"):
        ASKS[host](retriever)


def test_a_retriever_that_was_asked_equals_one_that_was_not(shared_index: Index):
    fresh, asked = (langchain_ext.HybridRetriever(index=shared_index) for _ in range(2))
    ASKS[langchain_ext](asked)
    assert asked == fresh == copy.copy(asked)


@hosts
def test_a_retriever_that_was_asked_can_be_pickled(host: Any, shared_index: Index):
    retriever = host.HybridRetriever(shared_index, references=0.1)
    found = ASKS[host](retriever)
    again = pickle.loads(pickle.dumps(retriever))
    assert again.references == 0.1
    assert ASKS[host](again) == found

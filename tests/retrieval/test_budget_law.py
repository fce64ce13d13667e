"""The law of budgets, for every strategy over every base, on random small corpora.

The words (or tokens) returned are within the budget, unless one leaf alone is over it. And no more than one leaf is missing to
it while more leaves match; one node of those that a strategy merges leaves to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import (
    BM25,
    AutoMerging,
    Browse,
    Budget,
    Decay,
    Document,
    Ensemble,
    F,
    FollowReferences,
    HierarchicalSplitter,
    Hybrid,
    Index,
    MultiQuery,
    ParentDocument,
    Passage,
    RelevantSegments,
    Rerank,
    RewriteQuery,
    Router,
    SentenceWindow,
    Strategy,
    Tree,
    Vector,
    View,
)
from leafspan.text import count_words
from tests.profiles import examples

QUERY = "fire and water"
EVERYTHING: dict[str, Any] = {"k": 10_000, "candidates": 10_000}


def by_length(question: str, texts: list[str]) -> list[float]:
    return [float(len(text)) for text in texts]


BASES: list[Strategy] = [
    Vector(),
    BM25(),
    Hybrid(),
    Hybrid(weights=(0.05, 0.95), references=0),
    Browse(),
    Vector(min_score=0.1),
    MultiQuery(phrasings=["a pier of iron"]),
    Ensemble(retrievers=[BM25(), Vector()]),
]
BY_LEAVES: list[Strategy] = [
    *(SentenceWindow(base=base) for base in BASES),
    SentenceWindow(before=3, after=3),
    SentenceWindow(before=2, after=2, max_words=None),
    *(RelevantSegments(base=base) for base in BASES),
    RelevantSegments(max_words=None, run_cost=100),
]
BY_NODES: list[Strategy] = [
    *(ParentDocument(base=base) for base in BASES),
    ParentDocument(level=2),
    ParentDocument(level=None),
    *(AutoMerging(base=base) for base in BASES),
    AutoMerging(threshold=0, max_words=None),
    Ensemble(retrievers=[SentenceWindow(before=2, after=2), AutoMerging(), BM25()]),
    MultiQuery(base=ParentDocument(), phrasings=["a pier of iron"]),
    MultiQuery(base=SentenceWindow(before=2, after=2), phrasings=["a pier of iron"]),
]
# Those whose retrievers are others.
OVER_OTHERS: list[Strategy] = [
    Rerank(rerank=by_length),
    Rerank(base=SentenceWindow(before=2, after=2), rerank=by_length),
    Rerank(diversity=0.5),
    RelevantSegments(base=Rerank(rerank=by_length)),
    Decay(),
    Decay(base=ParentDocument()),
    AutoMerging(base=Decay(base=BM25())),
    Router(retrievers={"words": BM25(), "segments": RelevantSegments()}, choose=lambda _: ["words", "segments"]),
    Router(retrievers={"words": BM25(), "windows": SentenceWindow()}, choose=lambda _: "windows"),
    FollowReferences(),
    FollowReferences(base=AutoMerging(), targets={"words": BM25()}),
    RewriteQuery(how=lambda _: "a pier of iron"),
    RewriteQuery(base=SentenceWindow(), how=lambda _: ["a pier of iron", "bees dance"]),
]
OF_TREES: list[Strategy] = [
    Tree(),
    Tree(base=Vector()),
    Tree(base=BM25(), expand=True),
    Tree(keep_covered_summaries=True),
    Hybrid(summaries=True),
    Vector(summaries=True),
]

one_word = st.sampled_from(["Fire.", "Water.", "Pier.", "火。", "水。"])
words = st.sampled_from(["fire", "water", "pier", "iron", "bees", "dance", "tea", "leaf", "sun", "sea"])
sentences = st.lists(words, min_size=3, max_size=25).map(lambda some: " ".join(some).capitalize() + ".")
chinese = st.lists(st.sampled_from("火水山人大小中国"), min_size=2, max_size=30).map(lambda some: "".join(some) + "。")
texts = st.one_of(
    st.lists(one_word, min_size=30, max_size=300),
    st.lists(st.one_of(one_word, sentences, chinese), min_size=1, max_size=40),
    st.lists(sentences, min_size=5, max_size=60),
).map(" ".join)
corpora = st.lists(st.tuples(texts, st.sampled_from("ab")), min_size=1, max_size=4)
splitters = st.sampled_from([HierarchicalSplitter(1, (4, 16)), HierarchicalSplitter(8, (24, 80)), HierarchicalSplitter()])
counters = st.sampled_from([count_words, len, lambda text: len(text) // 4 + 1, lambda text: 3 * count_words(text)])
budgets = st.builds(Budget, st.sampled_from([1, 4, 11, 40, 150, 600]), counters)
views = st.sampled_from(["the index", "a filter", "a view"])


@contextmanager
def opened(tmp_path_factory: pytest.TempPathFactory, corpus, splitter, *, trees: bool = False) -> Iterator[Index]:
    with Index.open(tmp_path_factory.mktemp("law") / "kb", splitter=splitter) as index:
        index.add([Document(f"d{n}", text, metadata={"topic": topic}) for n, (text, topic) in enumerate(corpus)])
        if trees:
            index.build_tree()
        yield index


def asked(index: Index, kind: str) -> tuple[View, dict[str, Any]]:
    """What is asked, and the filter of the call."""
    if kind == "a view":
        return index.scoped(F("topic") == "a"), {}
    return index, {"where": F("topic") == "a"} if kind == "a filter" else {}


def size(passages: list[Passage], budget: Budget) -> int:
    return sum(budget.count(passage.text) for passage in passages)


def leaves_in(passages: list[Passage]) -> set[str]:
    """The ids of all leaves and summaries in the passages."""
    ids: set[str] = set()
    for passage in passages:
        start, _, place = passage.id.rpartition("#")
        first, _, last = place.partition("-")
        ids.update(f"{start}#{ordinal}" for ordinal in range(int(first), int(last or first) + 1))
    return ids


def assert_within(passages: list[Passage], budget: Budget) -> None:
    if size(passages, budget) > budget.limit:
        [only] = passages
        assert (len(leaves_in([only])), only.summary) == (1, None)


def assert_full(passages: list[Passage], budget: Budget, there: list[Passage], longest: int) -> None:
    """That less than ``longest`` is missing to the budget, unless everything is here."""
    if not leaves_in(there) <= leaves_in(passages):
        assert budget.limit - size(passages, budget) < longest


def longest_of(passages: list[Passage], budget: Budget) -> int:
    return max((budget.count(passage.text) for passage in passages), default=0)


@examples(30, fast=2)
@given(corpora, splitters, budgets, st.sampled_from([None, 1, 3]), views)
def test_leaves_fill_the_budget(tmp_path_factory, corpus, splitter, budget, k, kind):
    with opened(tmp_path_factory, corpus, splitter) as index:
        view, where = asked(index, kind)
        for strategy in BASES:
            passages = view.retrieve(QUERY, strategy, budget=budget, k=k, **where)
            assert_within(passages, budget)
            if len(passages) != k:
                there = view.retrieve(QUERY, strategy, **EVERYTHING, **where)
                assert_full(passages, budget, there, longest_of(there, budget))


@examples(30, fast=2)
@given(corpora, splitters, st.sampled_from([1, 4, 11, 40, 150, 600]), views)
def test_windows_and_segments_fill_a_budget_of_words_but_for_a_leaf(tmp_path_factory, corpus, splitter, limit, kind):
    budget = Budget(limit)
    with opened(tmp_path_factory, corpus, splitter) as index:
        view, where = asked(index, kind)
        longest = longest_of(index.leaves(), budget)
        for strategy in BY_LEAVES:
            passages = view.retrieve(QUERY, strategy, budget=budget, **where)
            assert_within(passages, budget)
            there = view.retrieve(QUERY, strategy.base, **EVERYTHING, **where)
            assert_full(passages, budget, there, longest)


@examples(30, fast=2)
@given(corpora, splitters, budgets, st.sampled_from([None, 1, 3]), views)
def test_merged_leaves_fill_the_budget_but_for_a_node(tmp_path_factory, corpus, splitter, budget, k, kind):
    with opened(tmp_path_factory, corpus, splitter) as index:
        view, where = asked(index, kind)
        for strategy in BY_LEAVES + BY_NODES + OVER_OTHERS:
            passages = view.retrieve(QUERY, strategy, budget=budget, k=k, **where)
            assert_within(passages, budget)
            if k is None:
                there = view.retrieve(QUERY, strategy, **EVERYTHING, **where)
                assert_full(passages, budget, there, longest_of(there, budget))


def test_a_budget_is_filled_where_leaves_and_summaries_together_are_more_than_the_candidates(tmp_path):
    budget = Budget(150, lambda text: len(text) // 4 + 1)  # for which 27 candidates are looked at first
    with Index.open(tmp_path / "kb", splitter=HierarchicalSplitter(1, (4, 16))) as index:
        index.add(Document("d", f"Fire. Fire {'fire ' * 21}fire."))
        index.build_tree()
        assert (len(index.leaves()), len(index.summaries())) == (24, 4)
        for strategy in OF_TREES:
            leaves = [each for each in index.retrieve(QUERY, strategy, budget=budget) if each.summary is None]
            assert len(leaves) == 24


@examples(30, fast=2)
@given(corpora, splitters, budgets, st.sampled_from([None, 1, 3]), views)
def test_trees_fill_the_budget_and_no_summary_is_over_it(tmp_path_factory, corpus, splitter, budget, k, kind):
    with opened(tmp_path_factory, corpus, splitter, trees=True) as index:
        view, where = asked(index, kind)
        for strategy in OF_TREES:
            passages = view.retrieve(QUERY, strategy, budget=budget, k=k, **where)
            assert_within(passages, budget)
            if len(passages) != k and not getattr(strategy, "expand", False):
                there = [each for each in view.retrieve(QUERY, strategy, **EVERYTHING, **where) if not each.summary]
                assert_full(passages, budget, there, longest_of(there + passages, budget))
        traversed = view.retrieve(QUERY, Tree(mode="traversal"), budget=budget, k=k, **where)
        assert_within(traversed, budget)

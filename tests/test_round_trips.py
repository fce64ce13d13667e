"""One search and at most one fetch, whatever the depth of the tree."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from leafspan import AutoMerging, HierarchicalSplitter, Index, ParentDocument, SentenceWindow, Vector
from leafspan.store.collection import Collection
from tests.corpus import DOCUMENTS, QUESTIONS


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter:
    """Counts the calls that reach a Chroma collection, as (collection, method)."""
    counted: Counter = Counter()
    original = Collection._call

    def counting(self, method, options, *, finish=False):
        counted[self.name, method] += 1
        return original(self, method, options, finish=finish)

    monkeypatch.setattr(Collection, "_call", counting)
    return counted


@pytest.mark.parametrize("parent_words", [(40,), (25, 40, 80), (20, 30, 40, 60, 80, 120)])
@pytest.mark.parametrize(
    ("strategy", "fetches"),
    [
        (Vector(), 0),
        (SentenceWindow(), 1),
        (ParentDocument(), 1),
        (ParentDocument(level=None), 1),
        (AutoMerging(threshold=0.2), 1),
        (AutoMerging(threshold=0, max_words=None), 1),
    ],
    ids=str,
)
def test_one_search_and_at_most_one_fetch_at_any_depth(tmp_path: Path, calls, strategy, fetches, parent_words):
    with Index.open(tmp_path / "kb", splitter=HierarchicalSplitter(12, parent_words)) as index:
        index.add(DOCUMENTS)
        index.retrieve(QUESTIONS[0], strategy)
        calls.clear()
        index.retrieve(QUESTIONS[0], strategy, k=3, candidates=6)
    assert calls == Counter({("kb.leaves", "query"): 1, ("kb.leaves", "get"): fetches}) - Counter()


def test_many_queries_make_one_search_and_one_fetch(index: Index, calls):
    calls.clear()
    index.retrieve(QUESTIONS, SentenceWindow(), candidates=4)
    assert calls == Counter({("kb.leaves", "query"): 1, ("kb.leaves", "get"): 1})


def test_nothing_is_fetched_where_nothing_is_missing(index: Index, calls):
    calls.clear()
    index.retrieve(QUESTIONS[0], AutoMerging(threshold=1))
    assert calls == Counter({("kb.leaves", "query"): 1})

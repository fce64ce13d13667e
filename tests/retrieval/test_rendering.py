"""Every passage of every strategy equals its document's text at its place, over random trees and hits."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from leafspan import AutoMerging, Budget, ParentDocument, Query, SentenceWindow
from leafspan.flows import run
from leafspan.retrieval import Defaults, Limits, Sources, retrieve_from_index
from leafspan.store import Catalogue, Row, StoredLeaf
from leafspan.strategies import Strategy
from tests.profiles import examples
from tests.word_trees import trees_with_hits


@dataclass(frozen=True)
class Canned(Strategy):
    """A base that finds these leaves."""

    found: tuple

    def retrieve(self, queries, context):
        yield from ()
        return [list(self.found) for _ in queries]


class NoEmbedder:
    def identity(self):
        yield from ()


class OneDocument:
    """A store of one document, and its reader."""

    def __init__(self, leaves, text):
        self.leaves = {leaf.id: leaf for leaf in leaves}
        self.texts = {leaf.id: text[leaf.start : leaf.end] for leaf in leaves}
        self.version = leaves[0].version
        self.fetches = 0

    def reader(self, stale, *, scope=None, again=False):
        yield from ()
        return self

    def warn_of_left_out(self):
        return {}

    def catalogue(self):
        return Catalogue((yield from self.cached_rows(["d"])))

    def cached_rows(self, ids):
        yield from ()
        return {id_: Row(id_, "", self.version, len(self.texts)) for id_ in ids}

    def fetch(self, ids):
        yield from ()
        self.fetches += 1
        return {id_: self.texts[id_] for id_ in ids}

    def fetch_leaves(self, ids):
        yield from ()
        return {id_: StoredLeaf(id_, self.leaves[id_], self.texts[id_], {}, 0.0) for id_ in ids}


strategies = st.one_of(
    st.builds(
        lambda before, after, words: (SentenceWindow, {"before": before, "after": after, "max_words": words}),
        st.integers(0, 3),
        st.integers(0, 3),
        st.sampled_from([None, 2, 300]),
    ),
    st.builds(lambda level: (ParentDocument, {"level": level}), st.sampled_from([None, 1, 2, 3, 9])),
    st.builds(
        lambda threshold, gaps, level, words: (
            AutoMerging,
            {"threshold": threshold, "fill_gaps": gaps, "max_level": level, "max_words": words},
        ),
        st.sampled_from([0, 0.3, 0.5, 1]),
        st.integers(0, 2),
        st.sampled_from([None, 1, 2]),
        st.sampled_from([None, 3, 10]),
    ),
)
limits = st.builds(
    Limits,
    k=st.sampled_from([None, 1, 3]),
    candidates=st.sampled_from([None, 24]),
    budget=st.sampled_from([None, Budget(1), Budget(6), Budget(9, count=len)]),
    where=st.none(),
)


@examples(400)
@given(trees_with_hits(), strategies, limits)
def test_every_passage_is_its_documents_text_at_its_place(tree_and_hits, kind_and_options, chosen):
    leaves, found = tree_and_hits
    text = "".join(f"w{leaf.ordinal:02} " for leaf in leaves)
    store = OneDocument(leaves, text)
    kind, options = kind_and_options
    strategy = kind(base=Canned(tuple(found)), **options)
    sources = Sources(
        SimpleNamespace(store=store, vectors=None, words=SimpleNamespace(analyzer=None), refresh=lambda reader: iter(())),
        NoEmbedder(),
        trees=None,
        defaults=Defaults(),
    )
    [passages] = run(retrieve_from_index(sources, [Query("?")], strategy, chosen))
    assert bool(passages) == bool(found)
    assert store.fetches <= 1
    for passage in passages:
        assert text[passage.start : passage.end] == passage.text
        first, _, last = passage.id.rsplit("#", 1)[1].partition("-")
        last = last or first
        assert (passage.start, passage.end) == (4 * int(first), 4 * int(last) + 4)
    places = [place for passage in passages for place in range(passage.start, passage.end)]
    assert len(places) == len(set(places))
    assert chosen.k is None or len(passages) <= chosen.k
    leaves_of_first = (passages[0].end - passages[0].start) // 4 if passages else 0
    if chosen.budget and (len(passages) > 1 or leaves_of_first > 1):
        assert sum(chosen.budget.count(passage.text) for passage in passages) <= chosen.budget.limit

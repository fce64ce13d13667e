"""Growing several trees together, with a summarizer and a cache that count requests, owners, failures and waits."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.flows import Call, run
from leafspan.trees._growing import TreeDraft, TreeGrower, TreeNode
from leafspan.values import Covered
from tests.profiles import examples

V = "00000000"


class Cache:
    """Summaries that were made before, and who owns them."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.owners: dict[str, str] = {}

    def get(self, keys):
        return {key: self.texts[key] for key in keys if key in self.texts}
        yield

    def put_all(self, texts):
        for key, (text, owner) in texts.items():
            self.texts[key] = text
            self.owners[key] = owner
        return
        yield


@dataclass
class Summarizer:
    """Joins the first words of texts; fails where a text has the word "rotten"."""

    identity: str = "first words"
    max_input_words: int = 1000
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def summarizing(self, groups, embed, keep):
        errors = {}
        for place, group in enumerate(groups):
            self.asked.append(tuple(group))
            if any("rotten" in text for text in group):
                errors[place] = ConnectionError(f"no route for {group[0]}")
            else:
                yield from keep(place, f"{self.identity}: " + " ".join(text.split()[-1] for text in group))
        return errors


class Bar:
    """A progress bar that only adds up."""

    def __init__(self) -> None:
        self.done = 0

    def advance(self, number: int) -> None:
        self.done += number


def pairs(vectors, sizes, max_cluster_words):
    """Each two texts that follow each other."""
    return [list(range(first, min(first + 2, len(sizes)))) for first in range(0, len(sizes), 2)]


def draft(name: str, *texts: str) -> TreeDraft:
    """A tree to be built over a leaf of each text."""
    nodes = [
        TreeNode(f"{name}#{V}#{n}", text, 1, np.array([1.0, 0.0]), 0, (Covered(name, V, n, n, n, n + 1),))
        for n, text in enumerate(texts)
    ]
    return TreeDraft(name, name, nodes, lambda number, children, key: f"{name}#t{key[-7:]}#{number}")


def grow(*drafts: TreeDraft, summarizer=None, cache=None, clusterer=pairs, max_layers=9):
    """What came of it: the summarizer, the cache, the bar and the grower with its counts."""
    summarizer, cache, bar = summarizer or Summarizer(), cache or Cache(), Bar()

    def embed(texts):
        return (yield Call(lambda: np.array([[1.0, len(text)] for text in texts], np.float32)))

    grower = TreeGrower(clusterer, summarizer, max_layers, embed, 0.0, cache, "key-")
    run(grower.grow(drafts, bar))
    return summarizer, cache, bar, grower


def test_layers_are_added_until_one_root_is_left():
    tree = draft("d", "a", "b", "c", "d", "e")
    summarizer, _, bar, grower = grow(tree)
    assert [(node.layer, len(node.record.children)) for node in tree.summaries] == [(1, 2), (1, 2), (2, 2), (3, 2)]
    assert summarizer.asked[:2] == [("a", "b"), ("c", "d")]
    assert [tree.nodes[root].layer for root in tree.roots] == [3]
    assert [node.covers for node in tree.summaries][-1] == (Covered("d", V, 0, 4, 0, 5),)
    assert (grower.requests, grower.reused) == (4, 0)
    assert bar.done == 5  # each leaf once, when the first summary over it is there: the fifth was alone at first


def test_what_is_in_the_cache_is_not_asked_for_again_and_is_progress_too():
    cache = Cache()
    first, again = draft("d", "a", "b", "c", "d"), draft("d", "a", "b", "c", "d")
    grow(first, cache=cache)
    summarizer, _, bar, grower = grow(again, cache=cache)
    assert (summarizer.asked, grower.requests, grower.reused, bar.done) == ([], 0, 3, 4)
    assert [node.text for node in again.summaries] == [node.text for node in first.summaries]


@pytest.mark.parametrize("texts", [("a", "x"), ("b", "a")])
def test_other_texts_and_another_order_are_asked_for(texts):
    cache = Cache()
    grow(draft("d", "a", "b"), cache=cache)
    assert grow(draft("d", *texts), cache=cache)[0].asked == [texts]


def test_what_another_summarizer_has_answered_is_asked_for_again():
    cache = Cache()
    grow(draft("d", "a", "b"), cache=cache)
    tree = draft("d", "a", "b")
    summarizer, _, _, grower = grow(tree, cache=cache, summarizer=Summarizer("another one"))
    assert (summarizer.asked, grower.reused) == ([("a", "b")], 0)
    assert [node.text for node in tree.summaries] == ["another one: a b"]
    assert len(cache.texts) == 2


def test_what_two_trees_need_is_asked_for_once_and_belongs_to_the_first():
    one, other = draft("one", "a", "b", "c"), draft("other", "a", "b", "x")
    summarizer, cache, _, grower = grow(one, other)
    assert summarizer.asked[0] == ("a", "b")
    assert summarizer.asked.count(("a", "b")) == 1
    assert grower.requests == 3  # and one root each
    assert [cache.owners[tree.summaries[0].record.key] for tree in (one, other)] == ["one", "one"]
    assert [cache.owners[tree.summaries[1].record.key] for tree in (one, other)] == ["one", "other"]
    assert one.summaries[0].text == other.summaries[0].text
    assert [[tree.nodes[root].layer for root in tree.roots] for tree in (one, other)] == [[2], [2]]


def test_where_a_summary_that_two_trees_need_fails_both_say_so_and_neither_grows_on():
    one, other, sound = draft("one", "rotten", "b", "c", "d"), draft("other", "rotten", "b", "x"), draft("s", "y", "z", "v")
    summarizer, *_ = grow(one, other, sound)
    for tree in (one, other):
        assert [(layer, str(error)) for layer, error in tree.failures] == [(1, "no route for rotten")]
    assert [node.layer for node in one.summaries] == [1]  # the summary of c and d, which is kept; nothing above it
    assert other.summaries == []
    assert (sound.failures, [node.layer for node in sound.summaries]) == ([], [1, 2])
    assert summarizer.asked.count(("rotten", "b")) == 1


def test_a_layer_that_would_be_no_smaller_is_not_added():
    tree = draft("d", "a", "b", "c")
    summarizer, *_ = grow(tree, clusterer=lambda vectors, sizes, limit: [[0, 1], [1, 2], [0, 2]])  # three of three
    assert (tree.summaries, summarizer.asked) == ([], [])


def test_there_are_no_more_layers_than_were_asked_for():
    tree = draft("d", *"abcdefgh")
    grow(tree, max_layers=2)
    assert {node.layer for node in tree.summaries} == {1, 2}
    assert [tree.nodes[place].layer for place in tree.top] == [2, 2]


def test_one_leaf_needs_no_tree():
    tree = draft("d", "a")
    assert grow(tree)[0].asked == []
    assert tree.roots == [0]


@examples(60)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(1, 4))
def test_every_leaf_is_below_a_root_and_all_leaves_with_a_summary_are_progress(sizes, max_layers):
    words = count()
    trees = [draft(f"d{n}", *(f"w{next(words)}" for _ in range(size))) for n, size in enumerate(sizes)]
    _, cache, bar, grower = grow(*trees, max_layers=max_layers)
    for tree in trees:
        below = {
            run for root in tree.roots for cover in tree.nodes[root].covers for run in range(cover.first, cover.last + 1)
        }
        assert below == set(range(tree.base))
        assert all(cache.owners[node.record.key] == tree.owner for node in tree.summaries)
    assert grower.requests == sum(len(tree.summaries) for tree in trees) == len(cache.texts)
    summarised = [
        child
        for tree in trees
        for node in tree.summaries
        for child in node.record.children
        if not child.split("#")[1].startswith("t")
    ]
    assert bar.done == len(summarised) == len(set(summarised))

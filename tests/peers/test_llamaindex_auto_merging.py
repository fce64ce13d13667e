"""Auto-merging beside LlamaIndex's AutoMergingRetriever, over the same trees and the same hits."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from llama_index.core import Settings
from llama_index.core.retrievers import AutoMergingRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from leafspan import AutoMerging, InvalidArgument
from leafspan.spans import auto_merge
from tests.peers.llamaindex_trees import over, parsed, retriever_over, theirs
from tests.peers.trees import SCORES, Result, outermost, results, tree, trees_with_hits
from tests.profiles import examples
from tests.word_trees import hit

THRESHOLDS = st.sampled_from([0.3, 0.5, 0.75])


class Watched(AutoMergingRetriever):
    """Notes when a node that was merged already has one more child in the list: it was merged before that was there."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.merged, self.hasty = set(), False

    def _get_parents_and_merge(self, nodes):
        self.hasty |= any(item.node.parent_node and item.node.parent_node.node_id in self.merged for item in nodes)
        after, changed = super()._get_parents_and_merge(nodes)
        self.merged |= {item.node.node_id for item in after} - {item.node.node_id for item in nodes}
        return after, changed


def ours(hits, threshold, *, max_level=None):
    merged = auto_merge(hits, threshold=threshold, fill_gaps=0, max_level=max_level, max_words=None, score="mean")
    return results(merged)


def assert_same(mine, others):
    """The same spans in the same order, with the same scores."""
    assert [result.span for result in mine] == [result.span for result in others]
    assert [result.score for result in mine] == pytest.approx([result.score for result in others])


@examples(100)
@given(trees_with_hits(), THRESHOLDS)
def test_merges_scores_and_orders_like_llamaindex_where_all_leaves_are_at_one_depth(tree_with_hits, threshold):
    leaves, hits = tree_with_hits
    retriever = retriever_over(leaves, hits, threshold)
    assert_same(ours(hits, threshold), outermost(theirs(retriever.retrieve("question"))))


@examples(100)
@given(trees_with_hits(), THRESHOLDS, st.integers(1, 4))
def test_max_level_merges_like_llamaindex_over_a_tree_that_ends_there(tree_with_hits, threshold, level):
    leaves, hits = tree_with_hits
    retriever = retriever_over(leaves, hits, threshold, levels=level)
    mine = ours(hits, threshold, max_level=level)
    assert_same(mine, outermost(theirs(retriever.retrieve("question"))))


@examples(100)
@given(trees_with_hits(), THRESHOLDS)
def test_merges_scores_and_orders_like_llamaindex_over_uneven_depths_unless_it_merges_in_haste(tree_with_hits, threshold):
    leaves, hits = tree_with_hits
    retriever = retriever_over(leaves, hits, threshold, kind=Watched, only_children=False)
    nodes = retriever.retrieve("question")
    assume(not retriever.hasty)
    assert_same(ours(hits, threshold), outermost(theirs(nodes)))


@examples(100)
@given(trees_with_hits(), st.sampled_from([0.5, 0.75]))
def test_reaches_the_same_nodes_as_llamaindex_over_uneven_depths(tree_with_hits, threshold):
    leaves, hits = tree_with_hits
    retriever = retriever_over(leaves, hits, threshold, only_children=False)
    nodes = theirs(retriever.retrieve("question"))
    assert {result.span for result in ours(hits, threshold)} == {result.span for result in outermost(nodes)}


@examples(50)
@given(st.permutations(range(27)), st.integers(1, 27), THRESHOLDS)
def test_merges_like_llamaindex_over_the_tree_that_its_own_parser_makes(ordinals, count, threshold):
    tree = parsed(key="value")  # without metadata, it would fill gaps between the topmost nodes
    assert len(tree.leaves) == 27
    hits = [hit(tree.leaves[ordinal], score) for ordinal, score in zip(ordinals[:count], SCORES, strict=False)]
    nodes = [NodeWithScore(node=tree.levels[0][item.span.first], score=item.score) for item in hits]
    merged = over(tree.store, nodes, threshold).retrieve("question")
    others = [Result("a", *tree.spans[item.node.node_id], item.score) for item in merged]

    # Theirs has no node for the whole document.
    assert_same(ours(hits, threshold, max_level=2), outermost(others))


# Where they differ, and LlamaIndex is at fault.


def test_a_parent_cannot_be_missing_where_llamaindex_fails_with_doc_id_not_found():
    leaves = tree(0, 0, 1, 0, 0)
    hits = [hit(leaves[0], 0.9), hit(leaves[1], 0.7)]
    retriever = retriever_over(leaves, hits, 0.5)
    retriever._storage_context.docstore.delete_document("a:1:0-2")

    with pytest.raises(ValueError, match=r"doc_id a:1:0-2 not found"):
        retriever.retrieve("question")
    assert ours(hits, 0.5) == [("a", 0, 2, pytest.approx((0.9 + 0.7) / 2))]


def test_llamaindex_looks_parents_up_one_by_one_again_at_every_pass(monkeypatch):
    leaves = tree(0, 1, 0, 1, 0, 1)
    hits = [hit(leaves[i], 0.9 - i / 10) for i in (0, 1, 2, 4)]
    retriever = retriever_over(leaves, hits, 0.5)
    looked_up = []
    store = retriever._storage_context.docstore
    plain = store.get_document
    monkeypatch.setattr(store, "get_document", lambda id, *rest: looked_up.append(id) or plain(id, *rest))
    retriever.retrieve("question")

    # One of three parents merges; the two that did not are asked for again, and so is the root.
    assert looked_up == ["a:1:0-1", "a:1:2-3", "a:1:4-5", "a:1:2-3", "a:1:4-5", "a:2:0-5"]
    # Ours has all it needs in the hits.
    assert ours(hits, 0.5) == [("a", 0, 1, pytest.approx((0.9 + 0.8) / 2)), ("a", 2, 2, 0.7), ("a", 4, 4, 0.5)]


def test_a_parent_comes_once_where_llamaindex_gives_one_that_was_itself_a_hit_twice():
    leaves = tree(0, 0, 0)
    hits = [hit(leaves[0], 0.6), hit(leaves[1], 0.4)]
    retriever = retriever_over(leaves, hits)
    root = retriever._storage_context.docstore.get_document("a:1:0-2")
    retriever._vector_retriever.nodes.insert(0, NodeWithScore(node=root, score=0.95))

    assert theirs(retriever._retrieve(QueryBundle("question"))) == [("a", 0, 2, 0.95), ("a", 0, 2, pytest.approx(0.5))]
    # Parents are not in our index, so none can be a hit.
    assert ours(hits, 0.5) == [("a", 0, 2, pytest.approx((0.6 + 0.4) / 2))]


def test_a_merged_node_holds_all_hits_where_llamaindex_merges_uneven_depths_before_the_deep_ones_are_there():
    # Leaves 0 and 1 are children of the root, leaves 2 and 3 its grandchildren, by the node that is its third child.
    leaves = tree(1, 1, 0, 1)
    hits = [hit(leaf, score) for leaf, score in zip(leaves, (0.8, 0.6, 0.4, 0.2), strict=True)]
    retriever = retriever_over(leaves, hits, 0.5, only_children=False)

    early = ("a", 0, 3, pytest.approx((0.8 + 0.6) / 2))
    assert theirs(retriever.retrieve("question")) == [early, ("a", 2, 3, pytest.approx((0.4 + 0.2) / 2))]
    assert ours(hits, 0.5) == [("a", 0, 3, pytest.approx((0.8 + 0.6 + (0.4 + 0.2) / 2) / 3))]


def test_a_child_counts_once_where_llamaindex_counts_it_twice_and_merges_its_grandparent():
    # The root has four children, the first of them as the tree of the test above.
    leaves = tree(1, 1, 0, 2, 0, 2, 0, 2, 0, 2)
    hits = [hit(leaf, score) for leaf, score in zip(leaves, (0.8, 0.6, 0.4, 0.2), strict=False)]
    retriever = retriever_over(leaves, hits, 0.3, only_children=False)

    # One of four children is there, 1 / 4 <= 0.3, but twice, 2 / 4 > 0.3.
    assert [result.span for result in theirs(retriever.retrieve("question"))] == [("a", 0, 9)]
    assert [result.span for result in ours(hits, 0.3)] == [("a", 0, 3)]


def test_no_text_comes_twice_where_llamaindex_gives_a_leaf_and_the_root_that_holds_it():
    # Two of three nodes are found whole, and half of the third, which does not merge; the root then does.
    leaves = tree(0, 1, 0, 1, 0, 1)
    hits = [hit(leaf, score) for leaf, score in zip(leaves, (0.9, 0.8, 0.7, 0.6, 0.5), strict=False)]
    retriever = retriever_over(leaves, hits, 0.5)

    root = ("a", 0, 5, pytest.approx(((0.9 + 0.8) / 2 + (0.7 + 0.6) / 2) / 2))
    assert theirs(retriever.retrieve("question")) == [root, ("a", 4, 4, 0.5)]
    assert ours(hits, 0.5) == [root]


@pytest.mark.parametrize("threshold", [-1, 50])
def test_a_threshold_that_makes_no_sense_is_refused_where_llamaindex_takes_it(threshold):
    leaves = tree(0, 0, 0)
    hits = [hit(leaves[0], 0.6)]
    retriever = retriever_over(leaves, hits, threshold)

    assert len(retriever.retrieve("question")) == 1
    with pytest.raises(InvalidArgument, match=rf"threshold must be a number in \[0, 1\], got {threshold}"):
        AutoMerging(threshold=threshold)


def test_llamaindex_was_run_without_a_model(monkeypatch):
    monkeypatch.setattr(Settings, "_llm", None)
    monkeypatch.setattr(Settings, "_embed_model", None)
    leaves = tree(0, 0, 0)
    assert retriever_over(leaves, [hit(leaves[0], 0.6)]).retrieve("question")

    assert (Settings._llm, Settings._embed_model) == (None, None)

"""Gap filling beside the ``_fill_in_nodes`` of LlamaIndex's AutoMergingRetriever, on nodes made so that it fires."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core import Document
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import NodeWithScore
from llama_index.core.storage.docstore import SimpleDocumentStore

from leafspan.spans import auto_merge
from leafspan.spans._merging import _Node, fill
from tests.peers.llamaindex_trees import over, parsed, retriever_over, theirs
from tests.peers.trees import SCORES, outermost, results, tree, trees_with_hits
from tests.profiles import examples
from tests.word_trees import hit

siblings = st.integers(2, 12).flatmap(
    lambda count: st.tuples(
        st.just(tree(*[0] * count)),
        st.lists(st.sampled_from(range(count)), min_size=1, unique=True),
        st.permutations(SCORES),
    )
)


def filled_by_llamaindex(leaves, hits):
    """What it adds to a list of hits, given best first."""
    retriever = retriever_over(leaves, hits, neighbours=True)
    nodes, _ = retriever._fill_in_nodes(retriever._vector_retriever.retrieve("question"))
    added = theirs(nodes)
    for found in results(hits):
        added.remove(found)
    return added


def filled_by_us(hits, limit=1):
    nodes = fill([_Node(found, found.leaf) for found in hits], limit)
    return [result for result in results(node.candidate for node in nodes) if result not in results(hits)]


@examples(100)
@given(siblings)
def test_fills_what_llamaindex_fills_where_scores_fall_along_the_text(drawn):
    leaves, ordinals, scores = drawn
    falling = sorted(scores[: len(ordinals)], reverse=True)
    hits = [hit(leaves[ordinal], score) for ordinal, score in zip(sorted(ordinals), falling, strict=True)]

    assert filled_by_us(hits) == filled_by_llamaindex(leaves, hits)


@examples(100)
@given(siblings)
def test_with_any_scores_fills_all_that_llamaindex_fills_and_nothing_that_was_found(drawn):
    leaves, ordinals, scores = drawn
    hits = sorted(
        (hit(leaves[i], score) for i, score in zip(ordinals, scores, strict=False)), key=lambda found: found.order
    )

    theirs = [result for result in filled_by_llamaindex(leaves, hits) if result.first not in ordinals]
    assert {result.first: pytest.approx(result.score) for result in theirs}.items() <= by_leaf(filled_by_us(hits)).items()
    assert not {result.first for result in filled_by_us(hits)} & set(ordinals)


def by_leaf(filled):
    return {result.first: result.score for result in filled}


@examples(100)
@given(trees_with_hits(), st.sampled_from([0.3, 0.5, 0.75]))
def test_merges_what_llamaindex_merges_after_filling_where_scores_fall_along_the_text(tree_with_hits, threshold):
    leaves, found = tree_with_hits
    along = sorted((item.leaf for item in found), key=lambda leaf: (leaf.document_id, leaf.ordinal))
    hits = [hit(leaf, item.score) for leaf, item in zip(along, found, strict=True)]

    mine = auto_merge(hits, threshold=threshold, fill_gaps=1, max_level=None, max_words=None, score="mean")
    others = theirs(retriever_over(leaves, hits, threshold, neighbours=True).retrieve("question"))
    merged = [result for result in results(mine) if result.first < result.last]
    expected = [result for result in outermost(others) if result.first < result.last]
    assert [result.span for result in merged] == [result.span for result in expected]
    assert [result.score for result in merged] == pytest.approx([result.score for result in expected])


def test_what_was_filled_counts_towards_merging_as_in_llamaindex():
    leaves = tree(0, 0, 0, 0, 0)
    hits = [hit(leaves[0], 0.8), hit(leaves[2], 0.4)]
    # Two of five children were found, 2 / 5 <= 0.5; with the one between them, 3 / 5 > 0.5.
    whole = [("a", 0, 4, pytest.approx((0.8 + 0.6 + 0.4) / 3))]

    assert theirs(retriever_over(leaves, hits, neighbours=True).retrieve("question")) == whole
    merged = auto_merge(hits, threshold=0.5, fill_gaps=1, max_level=None, max_words=None, score="mean")
    assert results(merged) == whole


# Where they differ, and LlamaIndex is at fault.


def test_a_gap_is_filled_where_the_later_leaf_scores_better_and_llamaindex_does_not():
    leaves = tree(0, 0, 0, 0, 0)
    hits = [hit(leaves[2], 0.8), hit(leaves[0], 0.4)]

    assert filled_by_llamaindex(leaves, hits) == []
    assert filled_by_us(hits) == [("a", 1, 1, pytest.approx((0.8 + 0.4) / 2))]


def test_a_gap_is_filled_where_another_hit_scores_between_and_llamaindex_does_not():
    leaves = tree(0, 0, 0, 0, 0, 0, 0)
    hits = [hit(leaves[0], 0.8), hit(leaves[6], 0.6), hit(leaves[2], 0.4)]

    assert filled_by_llamaindex(leaves, hits) == []
    assert filled_by_us(hits) == [("a", 1, 1, pytest.approx((0.8 + 0.4) / 2))]


def test_a_gap_of_two_leaves_can_be_filled_which_llamaindex_cannot():
    leaves = tree(0, 0, 0, 0, 0)
    hits = [hit(leaves[0], 0.8), hit(leaves[3], 0.4)]

    assert filled_by_llamaindex(leaves, hits) == []
    assert filled_by_us(hits, limit=2) == [("a", 1, 2, pytest.approx((0.8 + 0.4) / 2))]


def test_a_leaf_that_was_found_is_not_filled_in_again_where_llamaindex_counts_it_twice_and_merges():
    leaves = tree(0, 0, 0, 0, 0, 0)
    hits = [hit(leaves[0], 0.9), hit(leaves[2], 0.7), hit(leaves[1], 0.1)]

    assert filled_by_llamaindex(leaves, hits) == [("a", 1, 1, pytest.approx((0.9 + 0.7) / 2))]
    assert filled_by_us(hits) == []
    # Three of six children are there, 3 / 6 <= 0.5; counted twice, they are four, 4 / 6 > 0.5.
    assert theirs(retriever_over(leaves, hits, neighbours=True).retrieve("question")) == [
        ("a", 0, 5, pytest.approx((0.9 + 0.8 + 0.7 + 0.1) / 4))
    ]
    merged = auto_merge(hits, threshold=0.5, fill_gaps=1, max_level=None, max_words=None, score="mean")
    assert results(merged) == [("a", 0, 0, 0.9), ("a", 2, 2, 0.7), ("a", 1, 1, 0.1)]


def test_gaps_are_filled_where_llamaindex_never_fills_any_between_the_leaves_of_its_own_parser():
    tree = parsed()
    pairs = [
        (before, after)
        for before, after in zip(tree.leaves, tree.leaves[2:], strict=False)
        if before.ancestors[0] == after.ancestors[0]
    ]
    assert pairs
    for before, after in pairs:
        hits = [hit(before, 0.8), hit(after, 0.4)]
        nodes = [NodeWithScore(node=tree.levels[0][found.span.first], score=found.score) for found in hits]

        assert over(tree.store, nodes)._fill_in_nodes(nodes) == (nodes, False)
        assert filled_by_us(hits) == [("a", before.ordinal + 1, before.ordinal + 1, pytest.approx((0.8 + 0.4) / 2))]


@pytest.mark.parametrize("level", [0, 1])
def test_llamaindex_never_says_which_leaf_comes_next_below_the_topmost_nodes_of_its_parser(level):
    nodes = parsed().levels[level]

    assert [node.next_node for node in nodes] == [None] * len(nodes)
    assert any(node.prev_node for node in nodes)


def test_llamaindex_fills_in_a_whole_topmost_node_of_which_nothing_was_found():
    tree = parsed()
    before, between, after = tree.levels[2][:3]
    nodes = [NodeWithScore(node=before, score=0.8), NodeWithScore(node=after, score=0.4)]
    filled, _ = over(tree.store, nodes)._fill_in_nodes(nodes)

    assert [item.node.node_id for item in filled] == [before.node_id, between.node_id, after.node_id]
    # Every leaf of the two is a hit, and no leaf between them: ours fills gaps of leaves, within a parent.
    outer = [tree.spans[before.node_id], tree.spans[after.node_id]]
    hits = [hit(tree.leaves[ordinal], 0.5) for first, last in outer for ordinal in range(first, last + 1)]
    merged = auto_merge(hits, threshold=0.5, fill_gaps=1, max_level=2, max_words=None, score="mean")
    assert [result.span for result in results(merged)] == [("a", *span) for span in outer]


@pytest.mark.parametrize(("metadata", "fires"), [({}, True), ({"key": "value"}, False)])
def test_llamaindex_fills_gaps_of_flat_chunks_only_where_the_document_has_no_metadata(metadata, fires):
    splitter = SentenceSplitter(
        chunk_size=60, chunk_overlap=0, tokenizer=str.split, chunking_tokenizer_fn=lambda text: text.split("\n")
    )
    text = "\n".join("word " * 50 for _ in range(4))
    chunks = splitter.get_nodes_from_documents([Document(text=text, metadata=metadata)])
    store = SimpleDocumentStore()
    store.add_documents(chunks)
    nodes = [NodeWithScore(node=chunks[0], score=0.8), NodeWithScore(node=chunks[2], score=0.4)]

    assert len(chunks) == 4
    assert over(store, nodes)._fill_in_nodes(nodes)[1] is fires

"""Auto-merging beside Haystack's AutoMergingRetriever, which returns no scores and defines no order."""

import pytest
from haystack import Document
from haystack.components.preprocessors import HierarchicalDocumentSplitter
from haystack.components.retrievers import AutoMergingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from hypothesis import given
from hypothesis import strategies as st

from leafspan.spans import auto_merge
from tests.peers.trees import Result, ancestry, families, outermost, results, tree, trees_with_hits
from tests.profiles import examples
from tests.word_trees import hit


def peer(leaves, **shape):
    """Haystack's documents by their id, in a store, for our leaves and their ancestors."""
    parents, children = families(ancestry(leaf, **shape) for leaf in leaves)
    documents = {
        node.id: Document(
            id=node.id,
            content=node.id,
            meta={
                "__parent_id": parent and parent.id,
                "__children_ids": [child.id for child in children[node]],
                "__level": 9 - node.level,
                "__block_size": 1,
                "result": [node.document_id, node.first, node.last],
            },
        )
        for node, parent in parents.items()
    }
    store = InMemoryDocumentStore()
    store.write_documents(list(documents.values()))
    return store, documents


def merged_by_haystack(leaves, hits, threshold=0.5, **shape):
    store, documents = peer(leaves, **shape)
    found = [documents[ancestry(item.leaf)[0].id] for item in hits]
    merged = AutoMergingRetriever(store, threshold).run(found)["documents"]
    return [Result(*document.meta["result"], document.score) for document in merged]


def merged_by_us(hits, threshold=0.5):
    return results(auto_merge(hits, threshold=threshold, fill_gaps=0, max_level=None, max_words=None, score="mean"))


@examples(100)
@given(trees_with_hits(), st.sampled_from([0.3, 0.5, 0.75]))
def test_returns_the_same_nodes_as_haystack_where_all_leaves_are_at_one_depth(tree_with_hits, threshold):
    leaves, hits = tree_with_hits
    mine, others = merged_by_us(hits, threshold), merged_by_haystack(leaves, hits, threshold)
    assert sorted(result.span for result in mine) == sorted(result.span for result in outermost(others))


# Where they differ, and Haystack is at fault.


def test_a_merged_node_has_a_score_where_haystack_gives_none():
    leaves = tree(0, 0, 1, 0, 0, 1)
    hits = [hit(leaves[0], 0.9), hit(leaves[2], 0.5)]

    assert merged_by_haystack(leaves, hits) == [("a", 0, 2, None)]
    assert merged_by_us(hits) == [("a", 0, 2, pytest.approx((0.9 + 0.5) / 2))]


def test_the_best_comes_first_where_haystack_orders_by_when_it_stopped_merging():
    leaves = tree(0, 0, 1, 0, 0, 1, 0, 0, 1)
    hits = [hit(leaves[0], 0.9), hit(leaves[1], 0.7), hit(leaves[3], 0.1)]

    assert [result.span for result in merged_by_haystack(leaves, hits)] == [("a", 3, 3), ("a", 0, 2)]
    assert merged_by_us(hits) == [("a", 0, 2, pytest.approx((0.9 + 0.7) / 2)), ("a", 3, 3, 0.1)]


def test_a_document_whose_leaves_are_all_found_is_merged_whole_where_haystack_leaves_uneven_depths_in_parts():
    splitter = HierarchicalDocumentSplitter(block_sizes={6, 3}, split_overlap=0, split_by="word")
    nodes = splitter.run([Document(content="a b c d e f g h")])["documents"]
    store = InMemoryDocumentStore()
    store.write_documents(nodes)
    found = [node for node in nodes if not node.meta["__children_ids"]]
    assert sorted(node.content for node in found) == ["a b c ", "d e f ", "g h"]

    # Its root has two children, and both are in the result.
    merged = AutoMergingRetriever(store, threshold=0.5).run(found)["documents"]
    assert [node.content for node in merged] == ["g h", "a b c d e f "]
    # Leaves 0 and 1 are grandchildren of the root, leaf 2 is its child.
    hits = [hit(leaf, score) for leaf, score in zip(tree(0, 1, 1), (0.8, 0.6, 0.4), strict=True)]
    assert merged_by_us(hits) == [("a", 0, 2, pytest.approx(((0.8 + 0.6) / 2 + 0.4) / 2))]


def test_a_document_of_a_single_leaf_is_a_hit_like_any_other_where_haystack_refuses_the_whole_list():
    splitter = HierarchicalDocumentSplitter(block_sizes={6, 3}, split_overlap=0, split_by="word")
    nodes = splitter.run([Document(content="a b")])["documents"]
    store = InMemoryDocumentStore()
    store.write_documents(nodes)
    assert len(nodes) == 1

    with pytest.raises(ValueError, match="do not have the required meta field '__parent_id'"):
        AutoMergingRetriever(store, threshold=0.5).run(nodes)
    assert merged_by_us([hit(tree(0)[0], 0.8)]) == [("a", 0, 0, 0.8)]


def test_a_parent_cannot_be_missing_where_haystack_fails_without_it():
    leaves = tree(0, 0, 0)
    hits = [hit(leaves[0], 0.9), hit(leaves[1], 0.7)]
    store, documents = peer(leaves)
    store.delete_documents(["a:1:0-2"])

    with pytest.raises(ValueError, match="Expected 1 parent document with id a:1:0-2, found 0"):
        AutoMergingRetriever(store, threshold=0.5).run([documents["a:0:0-0"], documents["a:0:1-1"]])
    assert merged_by_us(hits) == [("a", 0, 2, pytest.approx((0.9 + 0.7) / 2))]


def test_haystack_asks_its_store_once_for_each_parent(monkeypatch):
    leaves = tree(0, 1, 0, 1, 0, 1)
    hits = [hit(leaves[ordinal], 0.9 - ordinal / 10) for ordinal in (0, 2, 4)]
    store, documents = peer(leaves)
    asked = []
    plain = store.filter_documents
    monkeypatch.setattr(store, "filter_documents", lambda filters: asked.append(filters["value"]) or plain(filters))
    AutoMergingRetriever(store, threshold=0.5).run([documents[f"a:0:{i}-{i}"] for i in (0, 2, 4)])

    assert asked == ["a:1:0-1", "a:1:2-3", "a:1:4-5"]
    # Ours has all it needs in the hits.
    assert merged_by_us(hits) == [("a", 0, 0, 0.9), ("a", 2, 2, 0.7), ("a", 4, 4, 0.5)]

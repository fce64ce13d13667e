"""Building RAPTOR trees: their shape, what is rebuilt after a change, and the requests to the model."""

from __future__ import annotations

import asyncio
import functools
import itertools
import random
import threading
from collections import Counter
from pathlib import Path

import chromadb
import numpy as np
import pytest
from chromadb.config import Settings
from hypothesis import given
from hypothesis import strategies as st

from leafspan import DamagedIndex, Document, F, Index, InvalidArgument
from leafspan.engines.chroma._collection import Collection
from leafspan.errors import FunctionFailed, IndexMismatch
from leafspan.strategies import Tree
from leafspan.trees import Abstractive, Bisecting, Extractive
from leafspan.trees._building import DocumentTrees
from tests.event_loop import wait_for_the_loop
from tests.profiles import examples, quick
from tests.rows import collection as stored_collection
from tests.store.columns import columns
from tests.trees.building import (
    EMBEDDER,
    NAMES,
    SPLITTER,
    Asked,
    building,
    check_laws,
    document,
    fours,
    memory,
    name_of,
    opened,
    records,
    rows_of,
    same_records,
    trees,
    words_in_chroma,
)


@pytest.fixture
def index():
    return opened()


@pytest.fixture(autouse=True)
def _empty_memory():
    """The collections of one test make listing them slow for the next."""
    yield
    for collection in memory().list_collections():
        if collection.name.startswith("building-"):
            # Deleted with their collection, Chroma leaves their lists of metadata to records that come later.
            if ids := collection.get(include=[])["ids"]:
                collection.delete(ids=ids)
            memory().delete_collection(collection.name)


# --- what a tree is


@pytest.mark.parametrize("count", quick(6, [0, 1, 2, 3, 7, 15, *range(4, 7), *range(8, 15)]))
def test_of_any_number_of_leaves_one_root_is_left(index, count):
    index.add(document("a", count) if count else Document("a", ""))
    built = index.build_tree()
    assert built.built == ("a",)
    assert len(index.leaves()) == count
    assert check_laws(index) == min(count, 1)
    assert built.summaries == len(index.summaries()) == index.stats().summaries
    assert bool(built.summaries) == (count > 1)
    assert index.build_tree() == type(built)((), 1, 0, 0, 0, ())


TEXTS = st.lists(
    st.lists(
        st.sampled_from(["fire", "tea", "rain", "salt", "pier", "zinc", "---", "#", "…", "茶"]), min_size=1, max_size=9
    ).map(lambda words: "So " + " ".join(words) + ". "),
    max_size=30,
).map("".join)


def overlapping(vectors, sizes, max_cluster_words):
    """Clusters, where each one also takes the first text of the next one if there is room."""
    clusters = Bisecting(size=3)(vectors, sizes, max_cluster_words)
    for one, following in itertools.pairwise(clusters):
        if sum(sizes[place] for place in {*one, following[0]}) <= max_cluster_words:
            one.append(following[0])
    return clusters


@examples(25, fast=5)
@given(st.lists(TEXTS, max_size=4), st.integers(2, 5), st.booleans(), st.booleans(), st.integers(1, 5))
def test_trees_are_trees_and_equal_each_time(texts, size, overlaps, across, max_layers):
    documents = [Document(f"d{n}", text, f"Title {n}") for n, text in enumerate(texts)]
    made = []
    for order in (documents, documents[::-1]):
        index = opened()
        index.add(order)
        clusterer = overlapping if overlaps else Bisecting(size=size)
        options = {"clusterer": clusterer, "across_documents": across, "max_layers": max_layers}
        built = index.build_tree(**options)
        check_laws(index)
        assert built.built == tuple(sorted(document.id for document in documents))
        layers = [each.summary.layer for each in index.summaries()]
        assert max(layers, default=0) <= max_layers * (1 + across)
        made.append(records(index))
        again = index.build_tree(**options)
        assert (again.built, again.summaries, again.asked, again.unchanged) == ((), 0, 0, len(documents))
    same_records(*made)


@examples(15, fast=5)
@given(st.lists(st.integers(0, 20), min_size=2, max_size=5), st.booleans())
def test_a_document_added_and_deleted_again_leaves_no_trace(counts, across):
    index = opened()
    index.add([document(f"d{n}", count) for n, count in enumerate(counts[1:])])
    index.build_tree(across_documents=across)
    before = records(index)
    rows = rows_of(index)
    index.add(document("new", counts[0]))
    index.build_tree(across_documents=across)
    index.delete(["new"])
    index.build_tree(across_documents=across)
    same_records(records(index), before)
    assert rows_of(index) == rows


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\n ",
        "---\n\n***\n\n---\n\n" * 9,
        "# \n\n# \n\n# \n\n",
        "Same. " * 60,
        ("So fire and tea. " * 3 + "\n\n") * 20,
    ],
)
@pytest.mark.parametrize("asking", [False, True])
def test_texts_without_words_and_texts_that_are_all_alike_have_trees(index, text, asking):
    index.add([Document("odd", text), document("plain", 10)])
    built = index.build_tree(summarizer=Asked().summarizer() if asking else None, across_documents=True)
    assert built.failed == ()
    assert check_laws(index) == 1
    assert index.retrieve("fire", Tree()) != []


@pytest.mark.parametrize("strategy", [Tree(), Tree(mode="traversal"), Tree(expand=True)], ids=repr)
def test_where_no_tree_was_built_each_trace_says_so(index, strategy):
    index.add([document("fire", 30)])
    without = index.retrieve("fire", strategy)
    said = "no tree is built, so only leaves were searched: build_tree of the index builds them"
    assert {passage.trace.notes for passage in without} == {(said,)}
    index.build_tree()
    assert {passage.trace.notes for passage in index.retrieve("fire", strategy)} == {()}


def grouped(seed, overlap=0.0):
    """A clusterer that throws dice."""

    def cluster(vectors, sizes, max_words):
        dice = random.Random(f"{seed} {len(sizes)} {sum(sizes)}")
        clusters = []
        places = list(range(len(sizes)))
        dice.shuffle(places)
        for place in places:
            fitting = [each for each in clusters if sum(sizes[p] for p in each) + sizes[place] <= max_words]
            if fitting and dice.random() < 0.7:
                dice.choice(fitting).append(place)
            else:
                clusters.append([place])
            for each in fitting:
                if dice.random() < overlap and sum(sizes[p] for p in {*each, place}) <= max_words:
                    each.append(place)
        dice.shuffle(clusters)
        return clusters

    return cluster


@examples(25, fast=10)
@given(st.integers(0, 999), st.sampled_from([0.0, 0.2]), st.integers(0, 40), st.booleans())
def test_any_allowed_answer_of_a_clusterer_gives_a_tree(seed, overlap, count, across):
    index = opened()
    index.add([document("a", count), document("b", 7)])
    built = index.build_tree(clusterer=grouped(seed, overlap), across_documents=across)
    assert set(built.built) == {"a", "b"}
    check_laws(index)
    assert index.repair() == []


@pytest.mark.parametrize(
    "clusters",
    [
        None,
        3,
        [0, 1, 2],
        [],
        [[0, 1]],
        [[0, "1"]],
        [[True, False]],
        [[0.0, 1.0]],
        ["012"],
        [[-1, *range(20)]],
        [list(range(21))],
        np.zeros(20, dtype=int),
        [None],
    ],
    ids=str,
)
def test_clusters_that_are_none_are_refused_and_nothing_is_lost(index, clusters):
    index.add([document("a", 20), document("b", 20)])
    asked = Asked()
    index.build_tree(summarizer=asked.summarizer())
    before, texts, calls = records(index), records(index, "tree.texts"), len(asked.calls)
    with pytest.raises(InvalidArgument):
        index.build_tree(summarizer=asked.summarizer(), clusterer=lambda vectors, sizes, most: clusters)
    same_records(records(index), before)
    same_records(records(index, "tree.texts"), texts)
    check_laws(index)
    assert len(asked.calls) == calls


def test_a_cluster_that_is_too_long_is_refused(index):
    index.add(document("a", 20))
    with pytest.raises(InvalidArgument, match="must have at most 30 words"):
        index.build_tree(
            summarizer=Extractive(max_input_words=30), clusterer=lambda vectors, sizes, most: [range(len(sizes))]
        )


def test_a_clusterer_may_do_what_it_likes_with_what_it_is_given_and_its_errors_name_it(index):
    index.add(document("a", 20))

    def destructive(vectors, sizes, most):
        clusters = [list(range(len(sizes)))]
        vectors[:] = 0
        sizes.clear()
        return clusters

    index.build_tree(clusterer=destructive)
    assert check_laws(index) == 1
    (summary,) = index.summaries()
    assert np.linalg.norm(records(index)[summary.id][2]) == pytest.approx(1)

    def broken(vectors, sizes, most):
        raise TypeError("mine")

    with pytest.raises(FunctionFailed, match=r"broken failed with TypeError: mine; it was given 20 texts, the first"):
        index.build_tree(clusterer=broken)


def test_a_clusterer_that_does_not_shrink_ends_with_several_roots(index):
    index.add(document("a", 5))
    alone = index.build_tree(clusterer=lambda vectors, sizes, most: [[n] for n in range(len(sizes))])
    assert (alone.summaries, check_laws(index)) == (0, 5)
    assert len(index.retrieve("fire", Tree(mode="traversal"))) == 5
    # Every pair: 10 clusters of 5 leaves would be no fewer, so there is no layer.
    pairs = index.build_tree(clusterer=lambda vectors, sizes, most: list(itertools.combinations(range(len(sizes)), 2)))
    assert (pairs.summaries, check_laws(index)) == (0, 5)


def test_there_are_no_more_layers_than_were_asked_for(index):
    index.add(document("a", 32))
    options = {"clusterer": Bisecting(size=2)}
    full = index.build_tree(**options)
    assert check_laws(index) == 1
    height = index.stats().layers
    assert height > 3
    one = index.build_tree(**options, max_layers=1)
    assert (index.stats().layers, one.built) == (1, ("a",))
    assert check_laws(index) == one.summaries < full.summaries
    two = index.build_tree(**options, max_layers=2)
    assert check_laws(index) < one.summaries < two.summaries


def test_what_is_over_the_limit_alone_is_a_root(index):
    index.add(document("a", 6))
    built = index.build_tree(summarizer=Extractive(max_input_words=3, max_words=3))
    assert (built.summaries, check_laws(index)) == (0, 6)


# --- what is built again


def test_only_what_changed_in_a_document_is_asked_for(index):
    asked = Asked()
    index.add([document("a", 32), document("b", 16)])
    # 32 leaves in fours: 8 + 2 + 1 summaries; 16: 4 + 1
    first = building(index, asked)
    assert (first.built, first.summaries, first.asked, first.reused, first.share_asked) == (("a", "b"), 16, 16, 0, 1.0)
    index.add([document("a", 32, s13="In a the sentence 13 now tells of something else."), document("b", 16)])
    second = building(index, asked)
    # The cluster of sentence 13, and what is above it.
    assert (second.built, second.unchanged, second.summaries) == (("a",), 1, 11)
    assert (second.asked, second.reused, second.share_asked) == (3, 8, 3 / 11)
    assert check_laws(index) == 2


def test_a_changed_title_or_metadata_asks_nothing(index):
    asked = Asked()
    index.add([document("a", 32), document("b", 16)])
    building(index, asked)
    texts = trees(index)["a"]
    index.add(Document("a", document("a", 32).text, "A title", {"year": 1999}))
    again = building(index, asked)
    assert (again.built, again.summaries, again.asked, again.reused) == (("a",), 11, 0, 11)
    assert [text for text, *_ in trees(index)["a"]] == [text for text, *_ in texts]
    assert index.summaries("a")[0].metadata == {"year": 1999}


def test_layers_above_are_redone_where_something_below_has_changed(index):
    asked = Asked()
    index.add([document(f"d{n:02}", 4) for n in range(16)])
    # 16 trees of one summary; above them 4 + 1
    first = building(index, asked, across_documents=True)
    assert (first.summaries, first.asked) == (16 + 5, 16 + 5)
    assert check_laws(index) == 1
    index.add(document("d05", 4, s1="In d05 the sentence 1 now tells of something else."))
    second = building(index, asked, across_documents=True)
    assert (second.built, second.unchanged) == (("d05",), 15)
    # its own, the one of four documents, the top; the three others of four documents stay
    assert (second.summaries, second.asked, second.reused) == (3, 3, 3)
    assert check_laws(index) == 1
    index.delete(["d15"])
    assert check_laws(index) == 3 + 3  # three of four documents, and three documents
    third = building(index, asked, across_documents=True)
    # the last one of, now, three documents, and the top
    assert (third.built, third.summaries, third.asked, third.reused) == ((), 2, 2, 3)
    assert building(index, asked, across_documents=True).summaries == 0


def test_layers_above_single_leaves_are_made_by_the_new_summarizer(index):
    index.add([document(f"d{n}", 1) for n in range(6)])
    index.build_tree(across_documents=True)
    asked = Asked()
    building(index, asked, across_documents=True)
    assert [each.text.split()[0] for each in index.summaries()] == ["About"] * 3
    assert check_laws(index) == 1


def test_documents_that_change_their_order_of_roots_do_not_matter_to_the_next_build(index):
    # Roots of several kinds: summaries, and leaves that no cluster took.
    def half(vectors, sizes, most):
        return [range(len(sizes) // 2), *([n] for n in range(len(sizes) // 2, len(sizes)))]

    asked = Asked()
    options = {"clusterer": half, "max_layers": 1, "across_documents": True}
    index.add([document(f"d{n}", 8) for n in range(4)])
    building(index, asked, **options)
    again = building(index, asked, **options)
    assert (again.summaries, again.asked) == (0, 0)
    check_laws(index)


@pytest.mark.parametrize("changed", [{"name": "other"}, {"prompt": "In {max_words}: {texts}"}, {"max_words": 9}])
def test_what_one_summarizer_answered_is_not_the_answer_of_another(index, changed):
    asked = Asked()
    index.add(document("a", 16))
    assert building(index, asked).asked == 5
    again = building(index, asked, summarizer=asked.summarizer(**changed))
    assert (again.built, again.asked, again.reused) == (("a",), 5, 0)


def test_another_summarizer_must_be_given_on_purpose(index):
    index.add(document("a", 8))
    assert index.build_tree().built == ("a",)
    asked = Asked()
    assert building(index, asked).built == ("a",)
    with pytest.raises(IndexMismatch, match="built with the summarizer Abstractive"):
        index.build_tree()
    index.add(document("a", 9))
    with pytest.raises(IndexMismatch, match="built with the summarizer Abstractive"):
        index.build_tree()
    assert index.build_tree(summarizer=Extractive()).built == ("a",)
    assert index.build_tree().built == ()
    assert records(index, "tree.texts") == {}


def test_another_clusterer_builds_again_but_the_same_function_made_again_does_not(index):
    def make(size):
        def cluster(vectors, sizes, most):
            return fours(vectors, sizes, most)

        return [cluster, functools.partial(cluster), Callable(size)][size]

    class Callable:
        def __init__(self, size):
            self.size = size

        def __call__(self, vectors, sizes, most):
            return fours(vectors, sizes, most)

    index.add(document("a", 16))
    for number in range(3):
        assert index.build_tree(clusterer=make(number)).built == ("a",)
        assert index.build_tree(clusterer=make(number)).built == ()
    assert index.build_tree(clusterer=Bisecting(size=4)).built == ("a",)
    assert index.build_tree(clusterer=Bisecting(size=4)).built == ()
    assert index.build_tree(clusterer=Bisecting(size=5)).built == ("a",)
    assert index.build_tree(clusterer=Bisecting(size=5), max_layers=4).built == ("a",)


def test_texts_that_no_tree_uses_any_more_are_forgotten(index):
    asked = Asked()
    index.add([document("a", 16), document("b", 4)])
    building(index, asked, across_documents=True)
    assert len(records(index, "tree.texts")) == 5 + 1 + 1
    index.add(document("a", 16, s0="In a the sentence 0 now tells of something else."))
    building(index, asked)
    # The layer above a's old tree went with it.
    assert len(records(index, "tree.texts")) == 5 + 1
    index.delete(["a"])
    assert len(records(index, "tree.texts")) == 1


@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("how", ["delete", "change", "move"])
def test_nothing_of_a_document_stays_behind(index, how, across):
    word = f"zebra{next(NAMES)}"
    asked = Asked()
    secret = f"In a the sentence 2 tells of a {word} in the rain."
    index.add([document("a", 16, {"topic": word}, s2=secret), document("b", 16), document("c", 3)])
    options = {"across_documents": across}
    building(index, asked, across_documents=True)
    building(index, asked, **options)
    assert len(words_in_chroma(index, word)) >= 4  # leaves, manifest, summaries, their texts
    if how == "delete":
        index.delete(["a"])
    elif how == "change":
        index.add(document("a", 16))
        building(index, asked, **options)
    else:
        index.delete(["a"])
        index.add(document("c", 4))
        building(index, asked, **options)
    assert words_in_chroma(index, word) == []
    check_laws(index)
    assert index.repair() == []


def test_what_a_build_that_failed_has_kept_of_a_document_goes_with_it(index):
    word = f"zebra{next(NAMES)}"
    asked = Asked(rotten=["a15"])
    index.add([document("a", 16, s2=f"In a the sentence 2 tells of a {word} in the rain."), document("b", 16)])
    assert len(building(index, asked).failed) == 1
    assert any(word in name for name in [*words_in_chroma(index, word), word])
    assert f"{name_of(index)}.tree.texts" in words_in_chroma(index, word)
    index.delete(["a"])
    assert words_in_chroma(index, word) == []
    assert len(records(index, "tree.texts")) == 5


def test_the_layers_above_of_a_view_are_its_own(index):
    asked = Asked()
    index.add([document(name, 4, {"tenant": tenant}) for name, tenant in (("a", "x"), ("b", "x"), ("c", "y"), ("d", "y"))])
    one, two = (index.scoped(F("tenant") == tenant) for tenant in "xy")
    assert building(one, asked, across_documents=True).built == ("a", "b")
    assert building(two, asked, across_documents=True).built == ("c", "d")
    assert [view.stats().layers for view in (one, two)] == [2, 2]
    everything = building(index, asked, across_documents=True)
    assert (everything.built, everything.summaries) == ((), 1)
    assert [view.stats().layers for view in (one, two, index)] == [2, 2, 2]
    for view, asks in ((one, 0), (two, 0)):
        assert building(view, asked, across_documents=True).asked == asks
    two.add(document("d", 8))
    # What is above everything is out of date, and so is what is above y; x has its own still.
    assert [view.stats().layers for view in (one, two, index)] == [2, 1, 2]
    assert building(two, asked, across_documents=True).built == ("d",)
    assert [view.stats().layers for view in (one, two, index)] == [2, 3, 3]
    assert building(index, asked, across_documents=True).summaries == 1
    assert check_laws(index) == 3
    # one of each of a, b and c; three of d; above x, above y, above everything
    assert len(records(index)) == 3 + 3 + 3


def test_views_that_show_the_same_documents_have_layers_of_their_own(index):
    index.add([document(name, 4, {"tenant": "x"}) for name in "abc"])
    asked = Asked()
    view = index.scoped(F("tenant") == "x")
    assert building(view, asked, across_documents=True).summaries == 4
    assert building(index, asked, across_documents=True).summaries == 1
    assert building(view, asked, across_documents=True).summaries == 0
    assert [each.stats().layers for each in (view, index)] == [2, 2]
    view.delete(["a"])
    assert [each.stats().layers for each in (view, index)] == [1, 1]


def test_another_tenants_summarizer_is_nobodys_business(index):
    index.add([document("a", 8, {"tenant": "x"}), document("b", 8, {"tenant": "y"})])
    one, two = (index.scoped(F("tenant") == tenant) for tenant in "xy")
    building(one, Asked(), across_documents=True)
    assert two.build_tree(across_documents=True).built == ("b",)
    with pytest.raises(IndexMismatch, match="Abstractive"):
        one.build_tree()


# --- failures


def test_a_summary_that_fails_is_reported_and_the_next_build_asks_for_it_alone(index):
    asked = Asked(rotten=["b13"])
    index.add([document(name, 16) for name in "abc"])
    built = building(index, asked)
    assert (built.built, built.asked) == (("a", "c"), 5 + 4 + 5)
    [failed] = built.failed
    assert (failed.tree, failed.layer, repr(failed.error.__cause__)) == ("b", 1, "ConnectionError('no route')")
    assert str(failed.error).startswith("the summarizer asked failed with ConnectionError: no route; it was given 4 texts")
    assert [len(index.summaries(name)) for name in "abc"] == [5, 0, 5]
    assert index.repair() == []
    asked.rotten = ()
    again = building(index, asked)
    assert (again.built, again.unchanged, again.asked, again.reused, again.failed) == (("b",), 2, 2, 3, ())
    calm = opened()
    calm.add([document(name, 16) for name in "abc"])
    building(calm, Asked())
    same_records(records(index), records(calm))


def test_a_failure_in_the_layers_above_leaves_the_trees(index):
    asked = Asked()
    index.add([document(name, 4) for name in "abcdef"])
    building(index, asked)
    asked.rotten = {next(each.text for each in index.summaries("f"))}
    built = building(index, asked, across_documents=True)
    [failed] = built.failed
    assert (failed.tree, failed.layer, built.summaries) == ("all documents", 2, 0)
    assert (index.stats().trees, index.stats().layers) == (6, 1)
    asked.rotten = ()
    again = building(index, asked, across_documents=True)
    assert (again.built, again.summaries, again.asked, again.reused) == ((), 3, 2, 1)  # of a to d, of e and f, and of both
    assert check_laws(index) == 1


def test_where_a_document_fails_the_layers_above_wait(index):
    asked = Asked(rotten=["c2."])
    index.add([document(name, 4) for name in "abcd"])
    built = building(index, asked, across_documents=True)
    assert [each.tree for each in built.failed] == ["c"]
    assert index.stats().layers == 1
    asked.rotten = ()
    again = building(index, asked, across_documents=True)
    assert (again.built, again.asked) == (("c",), 2)
    assert check_laws(index) == 1


def test_a_build_that_an_error_interrupts_is_continued_by_the_next(index):
    asked = Asked()
    index.add([document("a", 16), document("b", 16)])

    class Failing(Asked):
        def __call__(self, texts):
            if len(asked.calls) == 6:
                raise KeyboardInterrupt
            return asked(texts)

    with pytest.raises(KeyboardInterrupt):
        index.build_tree(summarizer=Failing().summarizer(), clusterer=fours)
    assert len(records(index, "tree.texts")) == 6
    assert (building(index, asked).asked, len(asked.calls)) == (10 - 6, 10)


def test_a_document_that_has_lost_leaves_is_reported_and_the_others_have_their_trees(index):
    index.add([document("a", 8), document("b", 8)])
    index.client.get_collection(f"{name_of(index)}.leaves").delete(ids=[index.leaves("a")[3].id])
    with pytest.raises(DamagedIndex, match=r"^document 'a' is damaged: its leaf 3 is missing; call repair\(\)"):
        index.build_tree()
    assert [each.document_id for each in index.repair()] == ["a"]
    built = index.build_tree()
    assert built.built == ("b",)
    [failed] = built.failed
    assert (failed.tree, failed.layer) == ("a", 0)
    assert str(failed.error) == "the document is damaged; call repair(), then add it again"
    index.add(document("a", 8))
    assert index.build_tree().built == ("a",)


# --- others at work


class Meanwhile:
    """A language model that lets something else happen at its first call."""

    def __init__(self, happen):
        self.happen = happen
        self.asked = Asked()

    def __call__(self, texts):
        happen, self.happen = self.happen, lambda: None
        happen()
        return self.asked(texts)

    def summarizer(self):
        return Abstractive(generate=self, prompt=None, name="asked", retries=0, concurrency=1)


@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("store", ["memory", "folder"])
def test_a_document_that_is_changed_or_deleted_meanwhile_leaves_no_tree_of_what_it_was(tmp_path, store, across):
    word = f"zebra{next(NAMES)}"
    index = Index.open(tmp_path / "kb", embedder=EMBEDDER, splitter=SPLITTER) if store == "folder" else opened()
    secret = f"In a the sentence 2 tells of a {word} in the rain."
    index.add([document("a", 4, s2=secret), document("b", 4, s2=secret), document("c", 4)])

    def happen():
        index.add(document("a", 5))
        index.delete(["b"])

    options = {"clusterer": fours, "across_documents": across}
    index.build_tree(summarizer=Meanwhile(happen).summarizer(), **options)
    assert rows_of(index).keys() == {"c"}
    asked = Asked()
    assert building(index, asked, **options).built == ("a",)
    assert words_in_chroma(index, word) == []
    assert check_laws(index) == (1 if across else 2)
    assert index.repair() == []


@pytest.mark.parametrize("across", [False, True])
def test_another_build_of_the_same_trees_meanwhile_does_no_harm(index, across):
    index.add([document("a", 16), document("b", 4), document("c", 4)])
    options = {"clusterer": fours, "across_documents": across}
    other = Asked()

    def happen():
        building(index, other, across_documents=across)
        index.add(document("b", 5))
        building(index, other, across_documents=across)

    meanwhile = Meanwhile(happen)
    index.build_tree(summarizer=meanwhile.summarizer(), **options)
    building(index, other, across_documents=across)
    assert check_laws(index) == (1 if across else 3)
    assert index.repair() == []
    used = [key for row in rows_of(index).values() for key in row.extra["keys"]]
    assert set(records(index, "tree.texts")) == set(used)


@pytest.mark.parametrize("across", [False, True])
def test_a_tree_that_another_build_has_written_meanwhile_is_not_taken_away_to_be_written_again(index, across, monkeypatch):
    index.add(document("a", 16))
    deleted = []

    def happen():
        building(index, Asked(), across_documents=across)
        delete = Collection.delete
        monkeypatch.setattr(Collection, "delete", lambda self, ids: deleted.extend(ids) or delete(self, ids))

    index.build_tree(summarizer=Meanwhile(happen).summarizer(), clusterer=fours, across_documents=across)
    assert [id_ for id_ in deleted if "#" in id_] == []
    assert check_laws(index) == 1
    assert index.repair() == []


def test_a_tree_stays_if_its_document_changes_back_while_it_is_built(index, monkeypatch):
    index.add(document("a", 16))
    building(index, Asked())
    index.add(document("a", 17))
    deleted = []
    find_outdated, delete = DocumentTrees.outdated, Collection.delete

    def and_change_back(self):
        outdated = find_outdated(self)
        assert outdated == ["a"]
        index.add(document("a", 16))
        monkeypatch.setattr(Collection, "delete", lambda self, ids: deleted.extend(ids) or delete(self, ids))
        return outdated

    monkeypatch.setattr(DocumentTrees, "outdated", and_change_back)
    building(index, Asked())
    assert [id_ for id_ in deleted if "#t" in id_] == []
    assert check_laws(index)
    assert index.repair() == []


def test_a_tree_that_was_up_to_date_and_that_another_build_has_replaced_meanwhile_stays(index, monkeypatch):
    index.add(document("a", 16))
    building(index, Asked(), across_documents=True)
    deleted = []
    find_outdated, delete = DocumentTrees.outdated, Collection.delete

    def and_build_another(self):
        outdated = find_outdated(self)
        assert outdated == []
        monkeypatch.undo()
        index.add(document("a", 17))
        building(index, Asked(), across_documents=True)
        monkeypatch.setattr(Collection, "delete", lambda self, ids: deleted.extend(ids) or delete(self, ids))
        return outdated

    monkeypatch.setattr(DocumentTrees, "outdated", and_build_another)
    building(index, Asked(), across_documents=True)
    assert [id_ for id_ in deleted if "#t" in id_] == []
    assert check_laws(index)
    assert index.repair() == []


def test_a_build_does_not_forget_what_another_one_has_just_kept(index):
    index.add([document("a", 16), document("b", 16)])
    other = Asked(rotten=["b15"])

    def happen():
        # Keeps texts of trees that it then does not write, with other clusters than this build's.
        index.build_tree(summarizer=other.summarizer(), clusterer=Bisecting(size=3))

    index.build_tree(summarizer=Meanwhile(happen).summarizer(), clusterer=fours)
    calls = Counter(other.calls)
    other.rotten = ()
    index.build_tree(summarizer=other.summarizer(), clusterer=Bisecting(size=3))
    repeated = Counter(other.calls) - calls
    assert all(not calls[texts] or any("b15" in text for text in texts) for texts in repeated)


# --- in an event loop


async def test_building_does_not_block_the_event_loop(tmp_path: Path):
    loop = asyncio.get_running_loop()

    def slow(texts):
        wait_for_the_loop(loop)
        return "Slow."

    def sluggish(vectors, sizes, most):
        wait_for_the_loop(loop)
        return fours(vectors, sizes, most)

    index = await Index.aopen(tmp_path / "kb", embedder=EMBEDDER, splitter=SPLITTER)
    await index.aadd([document("a", 16)])
    built = await index.abuild_tree(summarizer=slow, clusterer=sluggish, across_documents=True)
    assert (built.built, built.summaries) == (("a",), 5)
    assert len(await index.asummaries()) == 5


async def test_coroutine_functions_are_awaited_as_many_at_a_time_as_concurrency_allows(index):
    now = most = 0
    three = asyncio.Event()

    async def model(texts):
        nonlocal now, most
        now += 1
        most = max(most, now)
        if most == 3:
            three.set()
        await asyncio.wait_for(three.wait(), 60)
        await asyncio.sleep(0.01)
        now -= 1
        return Asked()(texts)

    index.add([document("a", 64)])
    summarizer = Abstractive(agenerate=model, prompt=None, name="asked", concurrency=3)
    built = await index.abuild_tree(summarizer=summarizer, clusterer=fours)
    assert (built.asked, most) == (16 + 4 + 1, 3)
    # The same texts, whoever is asked, and however many at the same time.
    calm = opened()
    calm.add([document("a", 64)])
    building(calm, Asked())
    assert trees(index) == trees(calm)


async def test_trees_are_built_and_forgotten_through_an_asynchronous_client(chroma_server, tmp_path):
    host, port = chroma_server
    settings = Settings(anonymized_telemetry=False)
    client = await chromadb.AsyncHttpClient(host, port, settings=settings)
    index = await Index.aopen(client=client, name=tmp_path.name, embedder=EMBEDDER, splitter=SPLITTER)
    await index.aadd([document("a", 16), document("b", 16)])
    asked = Asked()
    options = {"summarizer": asked.summarizer(concurrency=4), "clusterer": fours, "across_documents": True}
    built = await index.abuild_tree(**options)
    assert (built.asked, built.failed) == (11, ())
    blocking = opened(name=tmp_path.name, client=chromadb.HttpClient(host, port, settings=settings))
    assert check_laws(blocking) == 1
    assert building(blocking, asked, across_documents=True).asked == 0
    await index.adelete(["a"])
    assert {each.document_id for each in await index.asummaries()} == {"b"}
    assert len(records(blocking, "tree.texts")) == 5
    assert await index.arepair() == []


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_build_that_is_cancelled_is_continued_by_the_next(tmp_path: Path, asynchronous):
    loop, six, cancelled = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    asked = Asked()

    async def slow(texts):
        if len(asked.calls) > 5 and not cancelled.is_set():
            six.set()
            await asyncio.sleep(60)
        return asked(texts)

    def blocking(texts):
        if len(asked.calls) > 5 and not cancelled.is_set():
            loop.call_soon_threadsafe(six.set)
            assert cancelled.wait(60)
        return asked(texts)

    index = await Index.aopen(tmp_path / "kb", embedder=EMBEDDER, splitter=SPLITTER, timeout=20)
    await index.aadd([document("a", 64)])
    model = {"agenerate": slow} if asynchronous else {"generate": blocking}
    summarizer = Abstractive(**model, prompt=None, name="asked", concurrency=2)
    task = asyncio.create_task(index.abuild_tree(summarizer=summarizer, clusterer=fours))
    await six.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    cancelled.set()
    await asyncio.sleep(0.1)
    kept = len(records(index, "tree.texts"))
    assert 4 <= kept < 16
    built = await index.abuild_tree(summarizer=summarizer, clusterer=fours)
    assert (built.asked, built.reused) == (21 - kept, kept)
    assert check_laws(index) == 1
    assert await index.arepair() == []


# --- what the doctor finds


@pytest.mark.parametrize("across", [False, True])
def test_a_summary_that_is_lost_is_named_and_the_next_build_restores_it_without_asking(index, across):
    asked = Asked()
    index.add([document("a", 16), document("b", 16)])
    building(index, asked, across_documents=across)
    before = {id_: each[0] for id_, each in records(index).items()}
    name = name_of(index)
    stored = index.client.get_collection(f"{name}.tree.leaves")
    lost = [id_ for id_ in before if id_.startswith("a#") and id_.endswith("#2")]
    lost += [id_ for id_ in before if id_.startswith("leafspan:")]
    stored.delete(ids=lost)
    findings = index.repair()
    assert {(each.document_id, each.repaired) for each in findings} == {(id_.rsplit("#", 2)[0], False) for id_ in lost}
    assert all("build_tree() makes its tree again" in each.problem for each in findings)
    built = building(index, asked, across_documents=across)
    assert (built.built, built.asked) == (("a",), 0)
    assert Counter(each[0] for each in records(index).values()) == Counter(before.values())
    assert check_laws(index) == (1 if across else 2)
    assert index.repair() == []
    assert building(index, asked, across_documents=across).summaries == 0


def test_a_root_that_is_lost_is_made_again_where_layers_are_built_on_it(index):
    asked = Asked()
    index.add([document("a", 16), document("b", 16)])
    building(index, asked)
    name = name_of(index)
    root = index.summaries("a")[0].id
    index.client.get_collection(f"{name}.tree.leaves").delete(ids=[root])
    built = building(index, asked, across_documents=True)
    assert (built.built, built.unchanged, built.asked, built.reused) == (("a",), 1, 1, 5)
    assert check_laws(index) == 1
    assert index.repair() == []


def test_a_lost_layer_that_is_not_built_again_is_cleared_away(index):
    asked = Asked()
    index.add([document(f"d{n:02}", 4) for n in range(16)])
    building(index, asked, across_documents=True)
    name = name_of(index)
    lost = next(each.id for each in index.summaries() if each.summary.layer == 2)
    index.client.get_collection(f"{name}.tree.leaves").delete(ids=[lost])
    assert [each.document_id for each in index.repair()] == [lost.rsplit("#", 2)[0]]
    building(index, asked)
    assert index.repair() == []
    assert check_laws(index) == 4 + 3  # the top went with it
    assert building(index, asked, across_documents=True).asked <= 2
    assert check_laws(index) == 1


def test_records_that_belong_to_no_tree_and_half_written_trees_are_removed(index):
    asked = Asked()
    index.add([document("a", 16), document("b", 16)])
    building(index, asked)
    before = records(index)
    name = name_of(index)
    leaves, manifest = (stored_collection(index, f"{name}.tree.{each}") for each in ("leaves", "manifest"))
    some = next(iter(before.values()))
    leaves.add(
        ids=["a#t0000000#0", "gone#t0000000#0", "half#t1111111#0"],
        documents=["x"] * 3,
        metadatas=[some[1]] * 3,
        embeddings=[some[2]] * 3,
    )
    row = next(iter(rows_of(index).values()))
    half = type(row)("half", "", None, 0, leftovers=(("t1111111", 1),), extra=row.extra)
    manifest.upsert(ids=["half"], **columns([half]))
    check_laws(index)
    # Nobody is writing it, since it was so before; the orphans are the doctor's.
    building(index, asked)
    assert "half#t1111111#0" not in records(index)
    assert {each.document_id for each in index.repair()} == {"a", "gone"}
    same_records(records(index), before)
    assert index.repair() == []


def test_the_flag_must_be_true_or_false(index):
    with pytest.raises(InvalidArgument, match="across_documents must be True or False, got 'no'"):
        index.build_tree(across_documents="no")


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_model_that_always_fails_is_not_asked_for_everything(index, concurrency):
    asked = []

    def dead(texts):
        asked.append(texts)
        raise ConnectionError("no model")

    index.add([document(f"d{number:02}", 16) for number in range(10)])  # four groups of four leaves each
    summarizer = Abstractive(generate=dead, prompt=None, retries=2, wait=0, concurrency=concurrency)
    built = index.build_tree(summarizer=summarizer, clusterer=fours)
    assert 10 <= built.asked <= 10 + concurrency - 1
    assert len(asked) == 3 * built.asked  # with two retries each
    assert (built.built, len(built.failed)) == ((), 40)
    assert sum("not asked, since it failed on 1" in str(each.error) for each in built.failed) == 40 - built.asked
    assert "ConnectionError: no model; fix it, and build again" in str(built.failed[-1].error)
    again = index.build_tree(summarizer=lambda texts: "It burns.", clusterer=fours)
    assert (len(again.built), again.failed) == (10, ())


def test_a_model_that_fails_on_some_is_asked_for_everything(index):
    def picky(texts):
        if len(succeeded) == 1:
            raise ValueError("I will not")
        succeeded.append(texts)
        return "It burns."

    succeeded: list[list[str]] = []
    index.add([document(f"d{number:02}", 16) for number in range(10)])
    built = index.build_tree(summarizer=Abstractive(generate=picky, prompt=None, retries=0, concurrency=1), clusterer=fours)
    assert (built.asked, len(built.failed)) == (40, 39)
    assert {str(each.error.__cause__) for each in built.failed} == {"I will not"}

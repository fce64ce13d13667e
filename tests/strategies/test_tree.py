"""Retrieval from trees with a simple shape and simple similarities.

A leaf is a word like ``a90``, whose cosine with the query ``?`` is 0.90. Neighbours are paired, layer by layer: the summary
of ``a90`` and ``b10`` is called ``ab``, and how similar it is stands with each test.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest

from leafspan import (
    BM25,
    AutoMerging,
    Budget,
    Document,
    Ensemble,
    F,
    Hybrid,
    Index,
    InvalidArgument,
    Query,
    Tree,
    Vector,
    joined,
)
from leafspan.splitting import Cut
from leafspan.strategies import RetrievalContext
from leafspan.values import Covered, Hit, LeafId


def cosine(text: str) -> float:
    """The similarity of the text to the query ``?``, in hundredths after its letters."""
    found = re.search(r"\d+", text)
    return int(found[0]) / 100 if found else 0.0


def embed(texts: list[str]) -> list[list[float]]:
    """``?`` is (1, 0) and ``!`` is (0, 1)."""
    known = {"?": (1.0, 0.0), "!": (0.0, 1.0)}
    return [list(known.get(text) or (cosine(text), math.sqrt(1 - cosine(text) ** 2))) for text in texts]


def words_apart(text: str) -> list[Cut]:
    return [Cut(match.end()) for match in re.finditer(r"\S+\s*", text)]


def twos(vectors, sizes, max_words) -> list[list[int]]:
    """The first and the second, the third and the fourth, ..., and the last alone where there is one."""
    places = list(range(len(sizes)))
    return [places[i : i + 2] for i in places[::2]]


def letters(texts: list[str]) -> str:
    return "".join(re.match(r"[a-z]+", text)[0] for text in texts)


def grove(
    path,
    documents: Mapping[str, str | Document],
    similar: Mapping[str, int | str],
    *,
    clusterer=twos,
    build: bool = True,
    **options,
) -> Index:
    """An index with trees; ``similar``: how similar each summary is, by its name, or its text."""
    index = Index.open(path / "kb", embedder=embed, splitter=words_apart)
    index.add([each if isinstance(each, Document) else Document(id_, each) for id_, each in documents.items()])
    if build:
        index.build_tree(summarizer=naming(similar), clusterer=clusterer, **options)
    return index


def naming(similar: Mapping[str, int | str]):
    def summarize(texts: list[str]) -> str:
        name = letters(texts)
        return f"{name}{similar[name]}" if isinstance(similar[name], int) else str(similar[name])

    return summarize


def names(passages) -> list[str]:
    return [passage.text.strip() for passage in passages]


FOUR = "a90 b10 c50 d40"
#       ab30    cd70
#          abcd60
SUMMARIES = {"ab": 30, "cd": 70, "abcd": 60}
COLLAPSED = Tree(base=Vector(), keep_covered_summaries=True)
TRAVERSAL = Tree(mode="traversal", keep_covered_summaries=True)


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    """One document of four leaves, two summaries of two leaves, and one of both."""
    with grove(tmp_path_factory.mktemp("four"), {"d": FOUR}, SUMMARIES) as index:
        yield index


@pytest.fixture(scope="module")
def two_trees(tmp_path_factory):
    """Two documents that differ in height and kind, and what is above both.

    abcd60 and ef80 below abcdef45.
    """
    documents = {
        "d": Document("d", FOUR, metadata={"kind": "old"}),
        "e": Document("e", "e20 f95", metadata={"kind": "new"}),
    }
    similar = {**SUMMARIES, "ef": 80, "abcdef": 45}
    with grove(tmp_path_factory.mktemp("two"), documents, similar, across_documents=True) as index:
        yield index


@pytest.fixture(scope="module")
def five(tmp_path_factory):
    """The fifth leaf waits, and is a child of the top: abcde20 of abcd60, which is in layer 2, and e85."""
    with grove(tmp_path_factory.mktemp("five"), {"d": f"{FOUR} e85"}, {**SUMMARIES, "abcde": 20}) as index:
        yield index


# --- collapsed


def test_collapsed_ranks_leaves_and_summaries_of_all_layers_together(four):
    found = four.retrieve("?", COLLAPSED, k=10)
    assert names(found) == ["a90", "cd70", "abcd60", "c50", "d40", "ab30", "b10"]
    assert [passage.score for passage in found] == pytest.approx([0.9, 0.7, 0.6, 0.5, 0.4, 0.3, 0.1])
    assert [passage.layer for passage in found] == [0, 1, 2, 0, 0, 1, 0]


def test_leaves_carry_their_span_and_summaries_what_they_cover(four):
    leaf, summary, *_ = four.retrieve("?", COLLAPSED)
    assert FOUR[leaf.start : leaf.end] == leaf.text == "a90 "
    assert leaf.summary is None
    assert summary.document_id == "d"
    assert FOUR[summary.start : summary.end] == "c50 d40"
    version = leaf.id.split("#")[1]
    assert summary.summary.covers == (Covered("d", version, 2, 3, 8, 15),)
    assert summary.summary.children == (f"d#{version}#2", f"d#{version}#3")


@pytest.mark.parametrize("mode", ["collapsed", "traversal"])
def test_a_summary_does_not_stand_beside_all_of_its_leaves(four, mode):
    found = four.retrieve("?", Tree(mode=mode, base=Vector()), k=10)
    assert names(found) == ["a90", "c50", "d40", "b10"]


def test_a_leaf_that_is_cut_off_takes_no_summary_s_place(four):
    every = ["a90", "cd70", "abcd60", "c50", "d40", "ab30", "b10"]
    assert names(four.retrieve("?", COLLAPSED, k=5)) == every[:5]
    # d40 is the other leaf of cd70, b10 of ab30, and also the last one of abcd60.
    strategy = Tree(base=Vector())
    assert names(four.retrieve("?", strategy, k=4)) == ["a90", "cd70", "abcd60", "c50"]
    assert names(four.retrieve("?", strategy, k=5)) == ["a90", "abcd60", "c50", "d40", "ab30"]


@pytest.mark.parametrize("top_k", range(1, 8))
def test_all_of_the_top_k_of_a_collapsed_tree_come_back(four, top_k):
    every = ["a90", "cd70", "abcd60", "c50", "d40", "ab30", "b10"]
    assert names(four.retrieve("?", Tree(base=Vector(), top_k=top_k, keep_covered_summaries=True))) == every[:top_k]


def test_top_k_may_be_more_than_the_candidates(four):
    assert len(four.retrieve("?", Tree(base=Vector(), top_k=7, keep_covered_summaries=True), candidates=1)) == 7


def test_collapsed_keeps_what_is_at_least_as_similar_as_min_score(four):
    assert names(four.retrieve("?", Tree(base=Vector(), min_score=0.55))) == ["a90", "cd70", "abcd60"]
    assert four.retrieve("?", Tree(base=Vector(), min_score=0.95)) == []


@pytest.mark.parametrize("mode", ["collapsed", "traversal"])
def test_what_scores_exactly_min_score_is_kept(four, mode):
    strategy = Tree(mode=mode, base=Vector(), keep_covered_summaries=True)
    (score,) = (each.score for each in four.retrieve("?", strategy, k=10) if each.text == "cd70")
    exact = four.retrieve("?", replace(strategy, min_score=score))
    above = four.retrieve("?", replace(strategy, min_score=math.nextafter(score, 1)))
    assert ("cd70" in names(exact)) == (mode == "collapsed")  # in a traversal abcd60 above it was not chosen
    assert "cd70" not in names(above)


def test_words_are_looked_for_in_summaries_too(tmp_path):
    similar = {**SUMMARIES, "cd": "cd70 about zebras"}
    with grove(tmp_path, {"d": FOUR}, similar) as index:
        assert names(index.retrieve("zebra", Tree(base=BM25()))) == ["cd70 about zebras"]
        (found,) = (
            each
            for each in index.retrieve("zebra", Tree(keep_covered_summaries=True), k=10)
            if each.text == "cd70 about zebras"
        )
        assert [part.source for part in found.trace.fused[0].contributions] == ["bm25", "vector"]
        assert index.retrieve("zebra", BM25()) == []
        with pytest.raises(InvalidArgument, match="BM25 needs the query as text, got a vector only"):
            index.retrieve([1.0, 0.0], Tree(base=BM25()))


# --- traversal


def test_traversal_goes_from_the_top_layer_down(four):
    found = four.retrieve("?", Tree(mode="traversal", top_k=1))
    # of abcd60: cd70, not ab30; of cd70: c50, though a90 is more similar
    assert names(found) == ["abcd60", "cd70", "c50"]
    assert [passage.score for passage in found] == pytest.approx([0.6, 0.7, 0.5])
    assert [passage.layer for passage in found] == [2, 1, 0]


def test_traversal_chooses_top_k_of_each_layer(four):
    assert names(four.retrieve("?", Tree(mode="traversal", top_k=2))) == ["abcd60", "cd70", "ab30", "a90", "c50"]


def test_traversal_chooses_five_of_each_layer_by_default(tmp_path):
    text = " ".join(f"{letter}{number}" for letter, number in zip("abcdefghijkl", range(10, 70, 5), strict=True))
    pairs = {"ab": 11, "cd": 12, "ef": 13, "gh": 14, "ij": 15, "kl": 16}
    with grove(tmp_path, {"d": text}, pairs, max_layers=1) as index:
        found = names(index.retrieve("?", TRAVERSAL))
    # of six summaries five, of their ten leaves five
    assert found == ["kl16", "ij15", "gh14", "ef13", "cd12", "l65", "k60", "j55", "i50", "h45"]


def test_traversal_with_min_score_takes_all_that_are_as_similar(four):
    assert names(four.retrieve("?", Tree(mode="traversal", min_score=0.35, keep_covered_summaries=True))) == [
        "abcd60",
        "cd70",
        "c50",
        "d40",
    ]
    # cd70 beside c50 and d40 would say the same twice
    assert names(four.retrieve("?", Tree(mode="traversal", min_score=0.35))) == ["abcd60", "c50", "d40"]
    assert names(four.retrieve("?", Tree(mode="traversal", min_score=0.35, top_k=1))) == ["abcd60", "cd70", "c50"]
    assert four.retrieve("?", Tree(mode="traversal", min_score=0.65)) == []


def test_a_traversal_goes_from_the_start_layer_to_the_end_layer(four):
    def traversed(**options):
        return names(four.retrieve("?", Tree(mode="traversal", keep_covered_summaries=True, **options)))

    assert traversed() == ["abcd60", "cd70", "ab30", "a90", "c50", "d40", "b10"]
    assert traversed(start_layer=2) == traversed(start_layer=9) == traversed()
    assert traversed(start_layer=1) == ["cd70", "ab30", "a90", "c50", "d40", "b10"]
    assert traversed(start_layer=0) == ["a90", "c50", "d40", "b10"]
    assert traversed(end_layer=1) == ["abcd60", "cd70", "ab30"]
    assert traversed(start_layer=1, end_layer=1) == ["cd70", "ab30"]
    assert traversed(end_layer=2) == ["abcd60"]
    assert traversed(end_layer=3) == []


def test_a_child_further_below_is_chosen_among_its_siblings(five):
    found = five.retrieve("?", Tree(mode="traversal", top_k=1))
    # of abcde20: e85 in layer 0, not abcd60 in layer 2; nothing is below it
    assert names(found) == ["abcde20", "e85"]
    assert names(five.retrieve("?", Tree(mode="traversal", top_k=2))) == [
        "abcde20",
        "e85",
        "abcd60",
        "cd70",
        "ab30",
        "a90",
        "c50",
    ]


def test_nothing_is_lost_below_a_start_layer(five):
    # abcde20 is above it, and e85 hangs from that
    assert names(five.retrieve("?", Tree(mode="traversal", start_layer=1, top_k=9, keep_covered_summaries=True))) == [
        "cd70",
        "ab30",
        "a90",
        "e85",
        "c50",
        "d40",
        "b10",
    ]


@pytest.mark.parametrize("end_layer", [0, 1, 2, 3])
def test_nothing_below_the_end_layer_comes_back(five, end_layer):
    found = five.retrieve("?", Tree(mode="traversal", end_layer=end_layer, top_k=9, keep_covered_summaries=True))
    assert {passage.layer for passage in found} == set(range(end_layer, 4))


def test_documents_without_a_tree_begin_with_their_leaves(tmp_path):
    with grove(tmp_path, {"d": FOUR, "e": "e95"}, SUMMARIES) as index:
        index.add(Document("f", "f80 g20"))
        found = names(index.retrieve("?", Tree(mode="traversal", top_k=2)))
        assert found == ["abcd60", "cd70", "ab30", "e95", "a90"]
        found = names(index.retrieve("?", Tree(mode="traversal", top_k=9, keep_covered_summaries=True)))
        assert found[3:] == ["e95", "a90", "f80", "c50", "d40", "g20", "b10"]
        assert names(index.retrieve("?", COLLAPSED, k=4)) == ["e95", "a90", "f80", "cd70"]


def test_trees_of_several_heights_begin_each_at_its_own(two_trees):
    where = F("kind").exists()
    # abcd60 is in layer 2, ef80 in layer 1: its leaves are chosen beside cd70 and ab30
    expected = ["abcdef45", "ef80", "abcd60", "f95", "cd70", "ab30", "e20", "a90", "c50", "d40", "b10"]
    assert names(two_trees.retrieve("?", TRAVERSAL)) == expected
    assert names(two_trees.retrieve("?", TRAVERSAL, where=where)) == expected


def test_ties_go_by_document_then_position(tmp_path):
    documents = {"e": "x50 y50", "d": "v50 w50"}
    with grove(tmp_path, documents, {"xy": 50, "vw": 50}) as index:
        assert names(index.retrieve("?", TRAVERSAL)) == ["vw50", "xy50", "v50", "w50", "x50", "y50"]
        assert names(index.retrieve("?", Tree(mode="traversal", top_k=1))) == ["vw50", "v50"]
        assert names(index.retrieve("?", COLLAPSED, k=9)) == ["v50", "vw50", "w50", "x50", "xy50", "y50"]


# --- how much comes back


def test_k_keeps_the_first_so_that_upper_layers_win(four):
    assert names(four.retrieve("?", TRAVERSAL, k=2)) == ["abcd60", "cd70"]
    assert names(four.retrieve("?", COLLAPSED, k=2)) == ["a90", "cd70"]


def test_without_k_a_collapsed_tree_gives_five_and_a_traversal_all(four):
    assert len(four.retrieve("?", COLLAPSED)) == 5
    assert len(four.retrieve("?", TRAVERSAL)) == 7


SPOKEN = {"ab": "ab30 one two", "cd": "cd70 one two three", "abcd": "abcd60 one"}
#          3 words               4 words                     2 words


@pytest.mark.parametrize(
    ("mode", "budget", "expected"),
    [
        ("collapsed", 1, ["a90"]),
        ("collapsed", 4, ["a90", "abcd60", "c50"]),  # 1 + 4 > 4, 1 + 2 + 1 = 4
        ("collapsed", 5, ["a90", "cd70"]),  # 1 + 4 = 5
        ("collapsed", 8, ["a90", "cd70", "abcd60", "c50"]),  # 1 + 4 + 2 + 1 = 8
        ("traversal", 1, ["a90"]),  # 2 > 1, 4 > 1 and 3 > 1
        ("traversal", 2, ["abcd60"]),
        ("traversal", 5, ["abcd60", "ab30"]),  # 2 + 4 > 5, 2 + 3 = 5
        ("traversal", 6, ["abcd60", "cd70"]),  # 2 + 4 = 6
        ("traversal", 10, ["abcd60", "cd70", "ab30", "a90"]),  # 2 + 4 + 3 + 1 = 10
    ],
)
def test_the_budget_is_inclusive_and_summaries_that_do_not_fit_are_passed_over(tmp_path, mode, budget, expected):
    with grove(tmp_path, {"d": FOUR}, SPOKEN) as index:
        found = index.retrieve("?", Tree(mode=mode, base=Vector()), budget=budget)
        assert [name.split()[0] for name in names(found)] == expected
        # and in tokens, two a word
        tokens = Budget(2 * budget, count=lambda text: 2 * len(text.split()))
        found = index.retrieve("?", Tree(mode=mode, base=Vector(), keep_covered_summaries=True), budget=tokens)
        assert [name.split()[0] for name in names(found)] == expected


def test_what_a_removed_summary_frees_is_there_for_others(four):
    # one word each: a90 cd70 abcd60 c50, then d40 instead of cd70, then b10 instead of abcd60
    assert names(four.retrieve("?", Tree(base=Vector()), budget=5)) == ["a90", "abcd60", "c50", "d40", "ab30"]


@pytest.mark.parametrize(("k", "words", "loaded"), [(2, None, 2 * 2), (2, 50, 10), (None, None, 10)])
def test_twice_as_many_as_are_wanted_are_loaded_unless_a_budget_may_pass_over_any_number(k, words, loaded):
    asking = Tree(base=Vector()).retrieve([Query(vector=(1.0, 0.0))], RetrievalContext(24, k=k, words=words))
    asking.send(None)
    hits = [Hit(LeafId("a", "00000000", ordinal), 0.9) for ordinal in range(10)]
    load = asking.send(([hits], [[]]))
    assert len(load.ids) == loaded


def test_the_joined_text_has_a_blank_line_between_passages(four):
    assert joined(four.retrieve("?", Tree(mode="traversal", top_k=1))) == "abcd60\n\ncd70\n\nc50"
    assert joined([]) == ""


# --- expanding


@pytest.mark.parametrize("mode", ["collapsed", "traversal"])
def test_a_summary_expands_into_the_leaves_that_match_best(four, mode):
    strategy = Tree(mode=mode, base=Vector(), expand=1, top_k=2)
    found = four.retrieve("?", strategy)
    # collapsed: a90, and of cd70 c50. traversal: of abcd60 a90, of cd70 c50, of ab30 what is left, b10; and no leaf twice
    assert names(found) == (["a90", "c50"] if mode == "collapsed" else ["a90", "c50", "b10"])
    assert [passage.score for passage in found] == pytest.approx([cosine(name) for name in names(found)])
    assert all(passage.layer == 0 for passage in found)
    assert FOUR[found[1].start : found[1].end] == found[1].text


def test_expanding_gives_three_leaves_by_default(four):
    strategy = Tree(mode="traversal", expand=True, end_layer=2)
    assert names(four.retrieve("?", strategy)) == ["a90", "c50", "d40"]
    assert names(four.retrieve("?", Tree(mode="traversal", expand=9, end_layer=2))) == ["a90", "c50", "d40", "b10"]
    assert names(four.retrieve("?", strategy, k=2)) == ["a90", "c50"]


def test_a_leaf_that_is_cut_off_is_still_there_to_expand_into(four):
    # c50 comes after cd70, as the fourth; two are wanted
    assert names(four.retrieve("?", Tree(base=Vector(), expand=1), k=2)) == ["a90", "c50"]


def test_the_question_is_embedded_once(tmp_path):
    asked = []

    class Counting:
        def __call__(self, texts):
            return embed(texts)

        def embed_query(self, texts):
            asked.extend(texts)
            return embed([text.removeprefix("query: ") for text in texts])

    with Index.open(tmp_path / "kb", embedder=Counting(), splitter=words_apart) as index:
        index.add(Document("d", FOUR))
        index.build_tree(summarizer=naming(SUMMARIES), clusterer=twos)
        base = Vector(instruction="query: ")
        for strategy in [Tree(base=base), Tree(base=base, expand=True), Tree(base=base, mode="traversal", expand=True)]:
            asked.clear()
            index.retrieve("?", strategy)
            assert asked == ["query: ?"]


# --- what is asked, and of what


@pytest.mark.parametrize(
    "strategy", [COLLAPSED, TRAVERSAL, Tree(expand=2), Tree(mode="traversal", top_k=1), Tree()], ids=repr
)
def test_several_queries_in_one_call_are_those_one_by_one(two_trees, strategy):
    assert two_trees.retrieve_many(["?", "!"], strategy) == [
        two_trees.retrieve("?", strategy),
        two_trees.retrieve("!", strategy),
    ]
    assert two_trees.retrieve_many([], strategy) == []


@pytest.mark.parametrize("mode", ["collapsed", "traversal"])
def test_a_vector_is_a_query(four, mode):
    strategy = Tree(mode=mode, base=Vector())
    assert four.retrieve([2.0, 0.0], strategy) == four.retrieve("?", strategy)
    assert four.retrieve(Query("?", vector=(0.0, 1.0)), strategy) == four.retrieve("!", strategy)


@pytest.mark.parametrize("strategy", [COLLAPSED, TRAVERSAL, Tree(expand=2)], ids=repr)
async def test_asynchronous_retrieval_is_the_same(two_trees, strategy):
    assert await two_trees.aretrieve("?", strategy) == two_trees.retrieve("?", strategy)


def test_a_summary_is_seen_where_all_that_it_covers_is(two_trees):
    old = F("kind") == "old"
    assert names(two_trees.retrieve("?", COLLAPSED, k=20)) == [
        "f95", "a90", "ef80", "cd70", "abcd60", "c50", "abcdef45", "d40", "ab30", "e20", "b10",
    ]  # fmt: skip
    assert names(two_trees.retrieve("?", COLLAPSED, k=20, where=old)) == [
        "a90",
        "cd70",
        "abcd60",
        "c50",
        "d40",
        "ab30",
        "b10",
    ]
    (above,) = (each for each in two_trees.retrieve("?", COLLAPSED, k=20) if each.text == "abcdef45")
    assert [(run.document_id, run.first, run.last) for run in above.summary.covers] == [("d", 0, 3), ("e", 0, 1)]
    assert (above.document_id, above.start, above.end) == ("", None, None)


@pytest.mark.parametrize("scoped", [False, True])
def test_with_a_filter_a_traversal_begins_at_the_highest_that_is_seen(two_trees, scoped):
    def traversed(where, **options):
        strategy = Tree(mode="traversal", top_k=1, **options)
        if scoped:
            return names(two_trees.scoped(where).retrieve("?", strategy))
        return names(two_trees.retrieve("?", strategy, where=where))

    assert names(two_trees.retrieve("?", Tree(mode="traversal", top_k=1))) == ["abcdef45", "ef80", "f95"]
    assert traversed(F("kind") == "old") == ["abcd60", "cd70", "c50"]
    assert traversed(F("kind") == "new") == ["ef80", "f95"]
    assert traversed(F("kind") == "none") == []
    assert traversed(F("kind") == "old", start_layer=1) == ["cd70", "c50"]


def test_all_that_are_above_a_start_layer_lead_to_what_is_below(two_trees):
    # ef80 is in layer 1, and abcdef45 above it in layer 3
    found = names(two_trees.retrieve("?", Tree(mode="traversal", start_layer=2, top_k=1)))
    assert found == ["abcd60", "ef80", "f95"]
    assert names(two_trees.retrieve("?", Tree(mode="traversal", start_layer=2, top_k=9, keep_covered_summaries=True))) == [
        "abcd60", "ef80", "cd70", "ab30", "f95", "a90", "c50", "d40", "e20", "b10",
    ]  # fmt: skip


def test_nothing_of_a_changed_document_s_tree_is_found(tmp_path):
    similar = {**SUMMARIES, "ef": 80, "abcdef": 45, "xb": 45, "xbcd": 55}
    with grove(tmp_path, {"d": FOUR, "e": "e20 f95"}, similar, across_documents=True) as index:
        index.add(Document("d", "x85 b10 c50 d40"))
        assert names(index.retrieve("?", COLLAPSED, k=20)) == ["f95", "x85", "ef80", "c50", "d40", "e20", "b10"]
        assert names(index.retrieve("?", TRAVERSAL)) == ["ef80", "f95", "x85", "c50", "d40", "e20"]
        index.build_tree(summarizer=naming({**similar, "xbcdef": 52}), clusterer=twos, across_documents=True)
        assert names(index.retrieve("?", Tree(mode="traversal", top_k=1))) == ["xbcdef52", "ef80", "f95"]
        index.delete(["e"])
        assert names(index.retrieve("?", Tree(mode="traversal", top_k=1))) == ["xbcd55", "cd70", "c50"]


@pytest.mark.parametrize(
    "strategy", [COLLAPSED, TRAVERSAL, Tree(), Tree(expand=True), Tree(mode="traversal", start_layer=2)]
)
def test_without_any_tree_every_document_is_its_leaves(tmp_path, strategy):
    with Index.open(tmp_path / "kb", embedder=embed, splitter=words_apart) as index:
        assert index.retrieve("?", strategy) == []
        assert index.build_tree(summarizer=naming({})).summaries == 0
        assert index.retrieve("?", strategy) == []
        index.add(Document("d", FOUR))
        assert names(index.retrieve("?", strategy)) == ["a90", "c50", "d40", "b10"]
        index.add(Document("e", ""))
        assert names(index.retrieve("?", strategy)) == ["a90", "c50", "d40", "b10"]


def test_it_can_be_a_retriever_of_an_ensemble_but_no_base_of_what_merges_leaves(four):
    found = four.retrieve("?", Ensemble(retrievers=[Vector(), COLLAPSED]), k=9)
    assert "cd70" in names(found)
    with pytest.raises(InvalidArgument, match=r"base must be a strategy that finds single leaves, such as .*, got Tree\("):
        AutoMerging(base=COLLAPSED)


# --- explaining, and what it costs


def test_traces_say_what_was_found_where(four):
    top, middle, leaf = four.retrieve("?", Tree(mode="traversal", top_k=1))
    assert top.trace.explain() == ["tree found layer 2, summary 2 (rank 1, score 0.600)"]
    assert middle.trace.explain() == ["tree found layer 1, summary 1 (rank 1, score 0.700)"]
    assert leaf.trace.explain() == ["tree found leaf 2 (rank 1, score 0.500)"]
    first, second, *_ = four.retrieve("?", COLLAPSED)
    assert first.trace.explain() == ["vector found leaf 0 (rank 1, score 0.900)"]
    assert second.trace.explain() == ["vector found layer 1, summary 1 (rank 2, score 0.700)"]
    _, below = four.retrieve("?", Tree(base=Vector(), expand=1, top_k=2))
    assert below.trace.explain() == ["tree found leaf 2 (score 0.500)"]


LEAVES, TREES = "kb.leaves", "kb.tree.leaves"
READ = {(LEAVES, "get"): 1, (TREES, "get"): 1}  # words and vectors are compared beside Chroma


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (COLLAPSED, READ),
        (Tree(), READ),
        (Tree(base=BM25()), {(LEAVES, "get"): 1}),  # no summary has the words
        (Tree(base=Vector(), expand=1), READ | {(LEAVES, "get"): 2}),
        (TRAVERSAL, {(TREES, "get"): 2, (LEAVES, "get"): 1}),  # a layer each
        (Tree(mode="traversal", start_layer=1), {(TREES, "get"): 1, (LEAVES, "get"): 1}),
        (Tree(mode="traversal", end_layer=1), {(TREES, "get"): 2}),
    ],
    ids=repr,
)
@pytest.mark.usefixtures("leaves_from_chroma")
@pytest.mark.parametrize("query", ["a90", ["a90", "c50"]], ids=["a query", "several"])
def test_round_trips(four, calls, strategy, expected, query):
    retrieve = four.retrieve if isinstance(query, str) else four.retrieve_many
    for each in ("collapsed", "traversal"):
        retrieve(query, Tree(mode=each, expand=True))  # words and vectors are read, and what is above a layer
    retrieve(query, strategy)
    calls.clear()
    retrieve(query, strategy)
    assert +calls == Counter(expected)


# --- options


def test_wrong_options_are_refused():
    cases = [
        ({"mode": "flat"}, "mode must be one of 'collapsed', 'traversal', got 'flat'"),
        ({"base": "vector"}, r"base must be a strategy such as Vector\(\), got 'vector'"),
        (
            {"base": AutoMerging()},
            r"base must be a strategy that can search summaries, such as Hybrid\(\), got AutoMerging",
        ),
        ({"top_k": 0}, "top_k must be a whole number >= 1, got 0"),
        ({"min_score": float("nan")}, "min_score must be a number, got nan"),
        ({"min_score": "0.5"}, "min_score must be a number, got '0.5'"),
        ({"mode": "traversal", "start_layer": -1}, "start_layer must be a whole number >= 0, got -1"),
        ({"mode": "traversal", "end_layer": 0.5}, "end_layer must be a whole number >= 0, got 0.5"),
        ({"mode": "traversal", "start_layer": 1, "end_layer": 2}, "start_layer must be >= end_layer, got 1 and 2"),
        ({"start_layer": 1}, "start_layer and end_layer are for mode='traversal': a collapsed tree has no layers"),
        ({"end_layer": 1}, "start_layer and end_layer are for mode='traversal': a collapsed tree has no layers"),
        ({"expand": 0}, "expand must be a whole number >= 1, got 0"),
        ({"keep_covered_summaries": None}, "keep_covered_summaries must be True or False, got None"),
    ]
    for options, message in cases:
        with pytest.raises(InvalidArgument, match=message):
            Tree(**options)


@pytest.mark.parametrize("base", [Vector, BM25, Hybrid])
def test_summaries_must_be_a_flag(base):
    with pytest.raises(InvalidArgument, match="summaries must be True or False, got 1"):
        base(summaries=1)


@pytest.mark.parametrize("strategy", [Vector(summaries=True), BM25(summaries=True), Hybrid(summaries=True)], ids=repr)
def test_other_strategies_search_summaries_where_an_option_says_so(four, strategy):
    assert {passage.layer for passage in four.retrieve("cd70 a90", strategy, k=10)} >= {0, 1}
    with pytest.raises(InvalidArgument, match="base must be a strategy that finds single leaves"):
        AutoMerging(base=strategy)

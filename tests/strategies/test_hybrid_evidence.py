"""What larger nodes and similar words add in Hybrid: expected evidence as visible arithmetic, and on a real index."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from leafspan import Analyzer, Document, F, HierarchicalSplitter, Hybrid, Index
from leafspan.lexical import NodeScores, Scores
from leafspan.search._words import best_nodes, leaves_with_most_evidence, share_of_words
from leafspan.strategies import MatchingNodes, NodeHit, ScaleWeights
from leafspan.strategies._hybrid_pool import EVIDENCE, Pool
from leafspan.trace import Contribution
from tests.profiles import examples
from tests.strategies.answers import NO_NODES, hits, leaf, matches, node_hits, row

MORE = Hybrid()
PARENT, SECTION, DOCUMENT = "bm25 of the parent", "bm25 of the section", "bm25 of the document"


def node(first: str, last: str, rank: int, score: float, share: float) -> NodeHit:
    return NodeHit(row(first), row(last), rank, score, share)


LARGER = (
    node_hits(node("a0", "a1", 2, 3.0, 0.5), node("b0", "b1", 1, 4.0, 1.0)),
    node_hits(node("b0", "b1", 1, 4.0, 1.0)),
    node_hits(node("a0", "a3", 1, 5.0, 1.0)),
)


def steps(pool: Pool) -> dict[str, object]:
    """The step of each leaf's trace, by name, best first."""
    row = [weighed for weighed, _ in pool.best(50, with_summaries=False)]
    return {f"{each.leaf.document_id}{each.leaf.ordinal}": pool.fused(each) for each in row}


def test_larger_nodes_add_to_what_was_found_and_bring_in_what_was_not():
    found = matches({"a0": 9.0, "a3": 6.0}, among=["b1"], larger=LARGER)
    fused = steps(Pool(found, hits({"a3": 0.8, "c0": 0.5}), EVIDENCE._replace(neighbours=0.0)))
    most = EVIDENCE
    assert {name: fused[name].score for name in ("a0", "a1", "a3", "b1", "c0")} == {
        "a0": pytest.approx(most.words + most.parent * 0.5 + most.document),
        "a1": pytest.approx(most.parent * 0.5 + most.document),  # a neighbour has its own evidence
        "a3": pytest.approx(most.words * 6 / 9 + most.vectors + most.document),
        "b1": pytest.approx(most.parent + most.section),
        "c0": 0.0,
    }
    assert fused["a0"].contributions == (
        Contribution("bm25", 1, 9.0, most.words, most.words),
        Contribution(PARENT, 2, 3.0, most.parent * 0.5, most.parent),
        Contribution(DOCUMENT, 1, 5.0, most.document, most.document),
    )


def test_similar_words_add_by_how_much_a_leaf_exceeds_the_least_similar_one():
    pool = Pool(matches({"a0": 9.0, "a2": 6.0}, soft={"bee": 2.0}), (), EVIDENCE._replace(neighbours=0.0))
    pool.add_soft_matches([leaf("a0"), leaf("a2"), leaf("a1")], [0.5, 0.75, 0.25])
    fused = steps(pool)
    assert fused["a2"].contributions[-1] == Contribution("soft matches", 1, 0.75, 2.5, 5.0)
    assert [fused[name].score for name in ("a0", "a1")] == [pytest.approx(EVIDENCE.words + 1.25), 0.0]


def scales(*scores: float) -> list[NodeScores]:
    """Three scales: the first has these nodes of two leaves each, the others have no matching node."""
    firsts = np.arange(0, 2 * len(scores), 2)
    return [NodeScores(np.array(scores), firsts, firsts + 1), *[NodeScores(np.zeros(1), firsts[:1], firsts[:1])] * 2]


def test_a_larger_node_counts_by_how_far_it_and_the_best_one_stand_out():
    parents = best_nodes(scales(4.0, 3.0, 0.0), None)[0]
    assert parents.shares.tolist() == [1.0, 0.75]  # the last of the best is a node without a word
    nearly_equal = best_nodes(scales(4.0, 3.5, 3.0), None)[0]
    assert nearly_equal.shares.tolist() == [0.25 * 0.25, 0.125 * 0.25]
    assert not len(best_nodes(scales(4.0, 4.0), None)[0].firsts)
    others = best_nodes(scales(4.0, 3.0, 3.0), np.array([True, True, True, True, False, False]))[0]
    assert (others.firsts.tolist(), others.shares.tolist()) == ([0], [0.25 * 0.25])


def test_the_words_found_are_those_of_the_best_parent_beyond_the_mean_of_the_others():
    def found(*parents: float, wanted: list[bool] | None = None, ideal: float = 10.0, leaves: int | None = None) -> float:
        of_leaves = Scores(np.zeros(2 * len(parents)), None, ideal, leaves or 2 * len(parents))
        return share_of_words(scales(*parents)[0], None if wanted is None else np.repeat(wanted, 2), of_leaves)

    assert found(4.0, 2.0, 0.0) == pytest.approx((4.0 - 1.0) / 10)
    assert found(4.0) == 0.4  # no other parent
    assert found(4.0, 4.0) == 0.0  # all have the same words
    assert found(2.0, 4.0, wanted=[True, False]) == 0.0  # a better one is filtered out
    assert found(4.0, 2.0, wanted=[True, False]) == pytest.approx((4.0 - 2.0) / 10)
    assert found(4.0, 0.0, leaves=2) == 0.4  # the other one is not counted
    assert found(0.0, 0.0) == found(4.0, ideal=0.0) == found() == 0.0
    twice = scales(4.0, 2.0)[0]._replace(lasts=np.array([1, 5]))  # the second parent has four leaves, so it counts twice
    assert share_of_words(twice, None, Scores(np.zeros(6), None, 10.0, 6)) == pytest.approx((4.0 - 2.0) / 10)


def test_the_words_found_are_the_same_on_any_number_of_processors():
    some = np.random.default_rng(1)
    for _ in range(10):
        parents, of_leaves = scales(*some.random(20_000))[0], Scores(np.zeros(40_000), None, 1.0, 40_000)
        found = set()
        for threads in (1, 2):
            with threadpool_limits(threads):
                found.add(share_of_words(parents, None, of_leaves))
        assert len(found) == 1


@examples(150)
@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=12), st.integers(1, 30), st.integers(1, 3))
def test_the_leaves_with_most_evidence_are_those_of_a_full_sort(shares, count, size):
    """Each node has two leaves, each document ``size`` nodes; documents are ordered backwards."""
    found = [NodeHit(2 * n, 2 * n + 1, 1, 1.0, share) for n, share in enumerate(shares) if share]
    single = [NodeHit(2 * n, 2 * n, 1, 1.0, share) for n, share in enumerate(shares[::-1]) if share]
    nodes = MatchingNodes({}.get, (node_hits(*single), node_hits(*found), NO_NODES, NO_NODES))
    weights = ScaleWeights(1.0, 2.0, 0.0, 0.0)
    rows = leaves_with_most_evidence(nodes, weights, count, lambda rows: -(rows // (2 * size)))
    evidence = nodes.evidence(np.arange(2 * len(shares)), weights).tolist()
    best = sorted((r for r, value in enumerate(evidence) if value > 0), key=lambda r: (-evidence[r], -(r // (2 * size)), r))
    assert sorted(rows.tolist()) == sorted(best[:count])


@pytest.fixture
def index(tmp_path: Path):
    text = "\n\n".join(
        f"{first} The keeper wrote it down in the evening, and nobody read it again for many years after."
        for first in ("Honey is made of nectar.", "The bees dance.", "A hive has one queen.", "Wax is built into combs.")
    )
    with Index.open(tmp_path / "kb", splitter=HierarchicalSplitter(leaf_words=20, parent_words=(60, 120))) as opened:
        opened.add([Document("bees", text, "Bees", {"topic": "animals"}), Document("sea", "Ships sail the sea.", "Sea")])
        yield opened


def test_a_leaf_of_the_right_section_is_found_without_a_word_of_the_question(index: Index):
    found = index.retrieve("honey nectar", MORE, k=3, candidates=3)
    assert [int(passage.id.rpartition("#")[2]) for passage in found] == [0, 1, 2]  # the first parent
    assert "honey" not in found[2].text.lower()


def test_the_parts_of_a_score_add_up_to_it(index: Index):
    for passage in index.retrieve("Which insects dance in the hive?", MORE, k=10):
        (fused,) = passage.trace.fused
        parts = [*(each.share for each in fused.contributions), fused.neighbour_bonus]
        assert fused.score == pytest.approx(sum(parts))


def test_the_trace_names_the_larger_nodes_and_the_soft_matches(index: Index):
    found = index.retrieve("Which insects dance in the hive?", MORE, k=20)
    sources = {each.source for passage in found for fused in passage.trace.fused for each in fused.contributions}
    assert sources == {"bm25", "vector", PARENT, SECTION, DOCUMENT, "soft matches"}


def test_a_filter_holds_at_every_scale(index: Index):
    found = index.retrieve("ships and bees", MORE, where=F("topic") == "animals", k=50)
    assert {passage.document_id for passage in found} == {"bees"}


def test_a_view_scores_as_an_index_of_its_documents_alone(tmp_path: Path):
    """At every scale: what another tenant has changes no digit."""
    own = [Document(f"d{number}", f"Bees dance number {number}. " * 9, "Bees", {"tenant": "a"}) for number in range(3)]
    other = [Document("x", "Bees and ships. " * 30, "Other", {"tenant": "b"})]
    with Index.open(tmp_path / "both") as both, Index.open(tmp_path / "alone") as alone:
        both.scoped(F("tenant") == "a").add(own)
        both.scoped(F("tenant") == "b").add(other)
        alone.scoped(F("tenant") == "a").add(own)
        rows = [
            [
                (passage.text, passage.score)
                for passage in each.scoped(F("tenant") == "a").retrieve("dance of bees", MORE, k=9)
            ]
            for each in (both, alone)
        ]
    assert rows[0] == rows[1]


def test_words_are_compared_only_where_the_index_takes_them_as_english(tmp_path: Path):
    def sources(analyzer: Analyzer) -> set[str]:
        with Index.open(tmp_path / analyzer.language, analyzer=analyzer) as index:
            index.add([Document("a", "Die Bienen tanzen."), Document("b", "Die Schiffe segeln.")])
            found = index.retrieve("Bienen", MORE)
        return {each.source for passage in found for fused in passage.trace.fused for each in fused.contributions}

    assert "soft matches" in sources(Analyzer("english"))
    assert "soft matches" not in sources(Analyzer("german"))


@pytest.mark.parametrize("question", ["the", "zzzz", "?"])
def test_questions_without_a_known_word_are_answered_by_vectors(index: Index, question: str):
    assert index.retrieve(question, MORE)

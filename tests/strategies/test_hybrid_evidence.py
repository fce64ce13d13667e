"""What larger nodes and soft matches add in Hybrid: expected scores as visible arithmetic, and on a real index."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from leafspan import Analyzer, Document, F, HierarchicalSplitter, Hybrid, Index, InvalidArgument, Query
from leafspan.strategies import LexicalMatches, Load, MatchingNodes, NodeHit, NodeHits, RetrievalContext, SoftMatches
from leafspan.trace import Contribution, Trace
from leafspan.values import Candidate, Hit, LeafId, Span

V = "00000000"
MORE = Hybrid(scales=(0.2, 0.2, 0.2), soft_matches=0.5)
PARENT, SECTION, DOCUMENT = "bm25 of the parent", "bm25 of the section", "bm25 of the document"


def leaf(name: str) -> LeafId:
    """``"a0"`` is the leaf 0 of document a."""
    return LeafId(name[0], V, int(name[1:]))


def asked(hybrid: Hybrid, matches: LexicalMatches, near: dict[str, float], soft: dict[str, float] | None = None):
    """The results of one query, by name, for these answers. ``soft`` has the score of each leaf that is compared."""
    asking = hybrid.retrieve([Query("?")], RetrievalContext(24))
    asking.send(None)
    asking.send([[1.0, 0.0]])
    request = asking.send(([[Hit(leaf(name), score) for name, score in near.items()]], [matches]))
    if isinstance(request, SoftMatches):
        assert soft is not None
        assert request.words == [matches.words]
        request = asking.send([[soft[f"{id_.document_id}{id_.ordinal}"] for id_ in request.ids[0]]])
    assert isinstance(request, Load)
    stored = {}
    for found in (*request.ids, *request.optional):
        span = Span(found.document_id, V, found.ordinal, found.ordinal, (found.ordinal, 0))
        stored[found] = Candidate(span, 0.0, Trace(), {}, words=1)
    with pytest.raises(StopIteration) as stopped:
        asking.send(stored)
    (row,) = stopped.value.value
    return {f"{each.span.document_id}{each.span.first}": each for each in row}


# Document a has the leaves 0 to 3 in two parents, b has two leaves in one; a's leaves are numbered from 0, b's from 4.
NODES = MatchingNodes(
    {"a": 0, "b": 4}.get,
    (
        NodeHits.of([NodeHit(0, 1, 2, 3.0, 0.5), NodeHit(4, 5, 1, 4.0, 1.0)]),
        NodeHits.of([NodeHit(4, 5, 1, 4.0, 1.0)]),
        NodeHits.of([NodeHit(0, 3, 1, 5.0, 1.0)]),
    ),
)
PLAIN = Hybrid(weights=(0.7, 0.3), scales=(0.2, 0.1, 0.4), soft_matches=0, neighbour_bonus=0, references=0, calibrate=False)


def test_larger_nodes_add_to_what_was_found_and_bring_in_what_was_not():
    matches = LexicalMatches([Hit(leaf("a0"), 9.0), Hit(leaf("a3"), 6.0)], 10.0, NODES, [Hit(leaf("b1"), 0.2 + 0.1)])
    found = asked(PLAIN, matches, {"a3": 0.8, "c0": 0.5})
    whole = 1 + 0.2 + 0.1 + 0.4  # all weights
    assert {name: each.score for name, each in found.items()} == {
        "a0": pytest.approx((0.7 + 0.2 * 0.5 + 0.4) / whole),
        "a3": pytest.approx((0.3 + 0.4) / whole),
        "b1": pytest.approx((0.2 + 0.1) / whole),
        "c0": 0.0,
    }
    (fused,) = found["a0"].trace.fused
    assert fused.contributions == (
        Contribution("bm25", 1, 9.0, pytest.approx(0.7 / whole), pytest.approx(0.7 / whole)),
        Contribution(PARENT, 2, 3.0, pytest.approx(0.1 / whole), pytest.approx(0.2 / whole)),
        Contribution(DOCUMENT, 1, 5.0, pytest.approx(0.4 / whole), pytest.approx(0.4 / whole)),
    )
    assert [hit.source for hit in found["a0"].trace.hits] == ["bm25"]
    assert found["b1"].trace.hits == ()


def test_soft_matches_are_scaled_among_the_leaves_that_are_compared():
    hybrid = replace(PLAIN, scales=(0, 0, 1.0), soft_matches=0.5)
    matches = LexicalMatches(
        [Hit(leaf("a0"), 9.0), Hit(leaf("a1"), 5.0)], 10.0, MatchingNodes({}.get, (NodeHits.of([]),) * 3), (), {"bee": 2.0}
    )
    found = asked(hybrid, matches, {"b0": 0.8, "b1": 0.4}, {"a0": 0.1, "a1": 0.2, "b0": 0.5, "b1": 0.1})
    whole = 1 + 1.0 + 0.5
    assert {name: each.score for name, each in found.items()} == {
        "a0": pytest.approx(0.7 / whole),
        "b0": pytest.approx((0.3 + 0.5) / whole),
        "a1": pytest.approx(0.5 * 0.25 / whole),
        "b1": 0.0,
    }
    (fused,) = found["a1"].trace.fused
    assert fused.contributions[-1] == Contribution("soft matches", 2, 0.2, pytest.approx(0.125 / whole), 0.5 / whole)


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
    def leaves(*scales: float) -> list[int]:
        hybrid = Hybrid(scales=scales, neighbour_bonus=0, depth=1)
        found = index.retrieve("honey nectar", hybrid, k=3, candidates=3)
        return [int(passage.id.rpartition("#")[2]) for passage in found]

    assert leaves(0.2, 0.2, 0.2) == [0, 1, 2]  # the first parent
    assert leaves(0, 0, 0) == [0, 3, 5]  # what vectors find


def test_the_parts_of_a_score_add_up_to_it(index: Index):
    for passage in index.retrieve("Which insects dance in the hive?", MORE, k=10):
        (fused,) = passage.trace.fused
        parts = [*(each.share for each in fused.contributions), fused.neighbour_bonus, fused.summary_bonus]
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scales": 0.2}, "scales must be three numbers >= 0, of the parent, the section and the document, got 0.2"),
        ({"scales": (0.2, 0.2)}, "scales must be three numbers >= 0"),
        ({"scales": (0.2, 0.2, -1)}, "scales must be a number >= 0, got -1"),
        ({"soft_matches": -0.1}, "soft_matches must be a number >= 0, got -0.1"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InvalidArgument, match=message):
        Hybrid(**options)


@pytest.mark.parametrize("fusion", ["rrf", "maximum"])
def test_other_fusions_are_of_bm25_and_vectors_alone(index: Index, fusion: str):
    found = index.retrieve("bees", replace(MORE, fusion=fusion), k=9)
    assert found == index.retrieve("bees", Hybrid(fusion=fusion), k=9)


@pytest.mark.parametrize("question", ["the", "zzzz", "?"])
def test_questions_without_a_known_word_are_answered_by_vectors(index: Index, question: str):
    assert index.retrieve(question, MORE)

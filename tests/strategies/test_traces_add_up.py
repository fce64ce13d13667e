"""For every strategy, the parts in a trace add up to its score, and no part exceeds its weight."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import (
    BM25,
    AutoMerging,
    Browse,
    Decay,
    Document,
    Ensemble,
    F,
    FollowReferences,
    HierarchicalSplitter,
    HostRetriever,
    Hybrid,
    Index,
    MultiQuery,
    ParentDocument,
    Passage,
    RelevantSegments,
    Rerank,
    RewriteQuery,
    Router,
    SentenceWindow,
    Strategy,
    Tree,
    Vector,
)
from leafspan.strategies import Filtered, HostResult
from tests.corpus import DOCUMENTS, QUESTIONS
from tests.profiles import examples

# They mention other documents by title, alias and path, and repeat their words.
MENTIONING = [
    Document(
        "notes.md",
        "The keeper of Skarvik wrote of the pier, which burned down. See [the bees](bees) and The harbour of Skarvik.\n\n"
        "Honey bees were kept beside the lighthouse. Nobody knows who decoded the dance of the bees there.",
        "The keeper's notes",
        {"year": 1901},
    ),
    Document("letter", "A letter about Camellia. The water was hot. The salt, timber and herring were sold.", "A letter"),
    Document("camellia", "It is grown in the hills. Its leaves are picked in spring.", "Plants", {"aliases": ["Camellia"]}),
]
ASKED = [*QUESTIONS, "Camellia water harbour", "who wrote of the pier that burned down", "xylophone", "the"]

PART = re.compile(r"(?:^|(?<= \+ ))(-?\d+\.\d{3}) from ")
DECAYED = re.compile(r"gave the factor (\S+), and the score (\S+) became (\S+)$")


def pairs(vectors: Any, sizes: Sequence[int], most: int) -> list[list[int]]:
    return [[n for n in (number, number + 1) if n < len(sizes)] for number in range(0, len(sizes), 2)]


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    splitter = HierarchicalSplitter(12, (40, 80))
    with Index.open(tmp_path_factory.mktemp("traced") / "kb", splitter=splitter) as index:
        index.add([*DOCUMENTS, *MENTIONING])
        index.build_tree(clusterer=pairs, across_documents=True)
        index.warm()
        yield index


def host(question: str) -> list[HostResult]:
    return [
        HostResult("one", f"about {question}", 0.9, {"reference": ["tea"], "year": 1999}),
        HostResult("two", "b", 0.2, {}),
    ]


async def ahost(question: str) -> list[HostResult]:
    return host(question)


def below_zero(question: str, texts: list[str]) -> list[float]:
    return [math.cos(len(text)) - 0.5 for text in texts]


FUSIONS = ["rrf", "relative_score", "distribution_based", "maximum"]
shares = st.sampled_from([0.0, 0.2, 0.6, 1.0])


@st.composite
def hybrids(draw: st.DrawFn, spans: bool = False) -> Hybrid:
    summaries = spans and draw(st.booleans())
    return Hybrid(
        weights=draw(st.sampled_from([(0.7, 0.3), (1, 9), (99, 1)])),
        summaries=summaries,
        references=draw(shares),
    )


def of_leaves() -> st.SearchStrategy[Strategy]:
    """Strategies that find single leaves."""
    found = st.one_of(hybrids(), st.sampled_from([BM25(), Vector(), Browse()]))
    return st.recursive(found, over_leaves, max_leaves=3)


def over_leaves(inner: st.SearchStrategy[Strategy]) -> st.SearchStrategy[Strategy]:
    fusions, of_phrasings = st.sampled_from(FUSIONS), st.sampled_from(["rrf", "maximum"])
    weights = st.sampled_from([(1.0, 1.0), (0.3, 2.0)])
    return st.one_of(
        st.builds(
            lambda base, fusion: MultiQuery(base=base, phrasings=[QUESTIONS[0], "bees"], fusion=fusion), inner, of_phrasings
        ),
        st.builds(
            lambda a, b, fusion, w: Ensemble(retrievers=[a, b], fusion=fusion, weights=w), inner, inner, fusions, weights
        ),
        st.builds(lambda base: Decay(base=base, key="year", now="2026-01-01", scale=9000), inner),
        st.builds(
            lambda base, diversity: Rerank(base=base, rerank=below_zero, diversity=diversity),
            inner,
            st.sampled_from([0, 0.5]),
        ),
        st.builds(lambda base: Rerank(base=base, diversity=0.4), inner),
        st.builds(lambda a, b: Router(retrievers={"a": a, "b": b}, choose=lambda query: ["a", "b"]), inner, inner),
        st.builds(lambda base: RewriteQuery(base=base, how=lambda question: [question, "the harbour"]), inner),
        st.builds(lambda base: Filtered(base, F("year") > 0), inner),
    )


def strategies() -> st.SearchStrategy[Strategy]:
    """Strategies of any kind, nested."""
    leaves = of_leaves()
    spans = st.one_of(
        st.builds(lambda base: RelevantSegments(base=base), leaves),
        st.builds(lambda base: SentenceWindow(base=base), leaves),
        st.builds(lambda base: ParentDocument(base=base), leaves),
        st.builds(
            lambda base, score: AutoMerging(base=base, threshold=0.2, score=score), leaves, st.sampled_from(["max", "mean"])
        ),
        st.builds(lambda base, expand: Tree(base=base, expand=expand), hybrids(), st.booleans()),
        st.just(Tree(mode="traversal")),
        hybrids(spans=True),
        st.just(HostRetriever("host", host, ahost)),
        st.builds(lambda base: FollowReferences(base=HostRetriever("host", host, ahost), targets={"tea": base}), leaves),
    )
    return st.one_of(leaves, st.recursive(spans, over_leaves, max_leaves=2))


def check(passage: Passage) -> None:
    """Each number that the trace adds up is the sum of what it names, as a number and as it is shown."""
    trace = passage.trace
    for fused in trace.fused:
        parts = [part.share for part in fused.contributions]
        bonuses = [fused.neighbour_bonus, fused.reference_bonus]
        assert math.isclose(sum(parts) + sum(bonuses), fused.score, abs_tol=1e-9), fused
        assert min(bonuses) >= 0, fused
        if fused.method in ("rrf", "relative_score", "evidence"):
            most = 2 if trace.layer and fused.method == "evidence" else 1  # a summary can match better than any leaf
            assert all(-1e-12 <= part.share <= most * part.weight + 1e-6 for part in fused.contributions), fused
        if fused.method in ("rrf", "relative_score"):
            assert trace.layer or sum(part.weight for part in fused.contributions) <= 1 + 1e-9, fused
    shown = [line for line in trace.explain() if " gave " in line and " = " in line]
    assert len(shown) == len(trace.fused)
    for line in shown:
        total, _, parts_shown = line.partition(" gave ")[2].partition(" = ")
        numbers = [float(number) for number in PART.findall(parts_shown)]
        assert abs(float(total) - sum(numbers)) <= 0.0005 * (len(numbers) + 1) + 1e-9, line
    for factor, before, after in (map(float, found.groups()) for note in trace.notes if (found := DECAYED.search(note))):
        # Each of the three numbers is rounded to three decimals.
        assert abs(before * factor - after) <= 0.0006 * (abs(before) + factor + 1), trace.notes
    assert any(math.isclose(passage.score, named, abs_tol=6e-4) for named in scores_named(passage)), (passage.score, trace)


def scores_named(passage: Passage) -> list[float]:
    trace = passage.trace
    steps = (trace.hits, trace.fused, trace.filled, trace.merges)
    named = [step.score for row in steps for step in row] + [each.probability for each in trace.calibrated]
    return named + [
        float(number)
        for note in trace.notes
        for number in re.findall(r"(?<=score )-?\d+\.\d{3}|(?<=became )-?\d+\.\d{3}", note)
    ]


@examples(400, fast=40)
@given(strategies(), st.sampled_from(ASKED), st.sampled_from([{"k": 3}, {"k": 20}, {"budget": 60}, {"budget": 400}]))
def test_the_parts_of_every_trace_add_up_to_its_score(kb: Index, strategy: Strategy, question: str, limits: dict[str, int]):
    for passage in kb.retrieve(question, strategy, **limits):
        check(passage)


@pytest.mark.parametrize(
    "strategy",
    [
        Tree(),
        MultiQuery(base=Tree(), phrasings=ASKED[:2]),
        Ensemble(retrievers=[Tree(), RelevantSegments(), BM25()]),
        Rerank(base=Tree(), diversity=0.5),
        Decay(base=Tree(), key="year"),
        AutoMerging(base=Hybrid(weights=(1, 9)), threshold=0.2),
        SentenceWindow(base=MultiQuery(base=Hybrid(references=0), phrasings=ASKED[:2])),
    ],
    ids=repr,
)
def test_they_add_up_for_every_question_and_through_another_index(kb: Index, strategy: Strategy):
    for row in kb.retrieve_many(ASKED, strategy, k=20):
        for passage in row:
            check(passage)
    elsewhere = Ensemble(retrievers=[kb.as_strategy(strategy), Vector()], fusion="relative_score")
    for passage in kb.retrieve(ASKED[0], elsewhere, k=20):
        check(passage)

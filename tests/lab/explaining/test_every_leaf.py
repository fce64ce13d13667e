"""For every strategy and leaf: each named obstacle keeps the leaf out, and without the obstacles it is returned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import (
    BM25,
    AutoMerging,
    Browse,
    Budget,
    Decay,
    Document,
    Ensemble,
    F,
    FollowReferences,
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
    View,
)
from leafspan.lab import Explanation, Obstacle, explain
from leafspan.strategies import AtLeast, Filtered, HostResult
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER
from tests.profiles import THOROUGH, examples

QUESTION = QUESTIONS[0]
PLACES = F("topic") == "places"
NOTES = Document("notes", "The dance is decoded in the book of bees. Ask there.", "Notes", {"reference": "bees"})


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """The small corpus with trees, and a document that refers to another one."""
    with Index.open(tmp_path_factory.mktemp("explained") / "kb", splitter=SPLITTER) as made:
        made.add([*DOCUMENTS, NOTES])
        made.build_tree()
        yield made


def host(index: Index) -> HostRetriever:
    """A host's retriever that has every third leaf."""
    results = [HostResult(leaf.id, leaf.text, None) for leaf in index.leaves()[::3]]

    async def aask(_question: str) -> Sequence[HostResult]:
        return results

    return HostRetriever("theirs", lambda _question: results, aask)


def lengths(_question: str, texts: list[str]) -> list[float]:
    return [float(len(text)) for text in texts]


CASES: list[tuple[Strategy, dict[str, Any]]] = [
    (Vector(), {"k": 3}),
    (Vector(k=2), {"where": PLACES}),
    (Vector(min_score=0.3), {"budget": 60}),
    (BM25(), {"k": 2}),
    (BM25(min_score=1.0), {}),
    (Hybrid(), {"k": 2, "candidates": 4}),
    (Hybrid(), {"budget": 60, "where": ~PLACES}),
    (Hybrid(), {"min_score": 0.4}),
    (Hybrid(min_answer_probability=0.99), {}),
    (Hybrid(references=1.0), {"k": 2}),
    (Hybrid(references=1.0, min_score=0.2), {"where": ~PLACES}),
    (Hybrid(weights=(0.95, 0.05)), {"budget": 60}),
    (AutoMerging(base=Hybrid(references=1.0)), {"k": 1}),
    (ParentDocument(), {"k": 1}),
    (ParentDocument(max_parents=1), {"budget": 50}),
    (SentenceWindow(), {"k": 2}),
    (SentenceWindow(base=BM25()), {"where": F("doc_id") == "bees"}),
    (AutoMerging(), {"k": 1, "candidates": 6}),
    (AutoMerging(base=BM25()), {}),
    (RelevantSegments(), {"budget": Budget(300, count=len)}),
    (RelevantSegments(), {"k": 2, "candidates": 4}),
    (RelevantSegments(base=BM25(), words=40), {"budget": 80}),
    (Ensemble(retrievers=[BM25(), Vector(k=4)]), {}),
    (Ensemble(retrievers=[Filtered(BM25(), PLACES), SentenceWindow()], fusion="maximum"), {"k": 2}),
    (MultiQuery(phrasings=["salt"]), {"k": 4}),
    (Router(retrievers={"a": BM25(), "b": Vector()}, descriptions={"a": "bees", "b": "harbour"}), {}),
    (FollowReferences(base=Vector()), {"k": 3}),
    (RewriteQuery(how=lambda _question: "herring", base=BM25()), {"k": 3}),
    (Rerank(rerank=lengths, depth=6), {"k": 2}),
    (Rerank(diversity=0.3), {"budget": 60}),
    (Decay(key="year", now="1990-01-01"), {"min_score": 0.05}),
    (Browse(), {"k": 3}),
    (Browse(offset=5), {"budget": 90}),
    (Tree(), {"k": 3}),
    (Tree(base=BM25(), expand=1), {"budget": 40}),
    (Tree(mode="traversal", top_k=1), {"k": 4}),
    (AtLeast(Vector(), 0.4), {"where": PLACES}),
]


def name(case: tuple[Strategy, dict[str, Any]]) -> str:
    strategy, options = case
    return f"{type(strategy).__name__} {' '.join(options)}".strip()


def holds(found: Sequence[Passage], leaf: Passage) -> bool:
    """Whether a piece of the document's own text in the results has the leaf."""
    assert leaf.start is not None
    assert leaf.end is not None
    return any(
        each.document_id == leaf.document_id
        and each.summary is None
        and each.start is not None
        and each.end is not None
        and each.start < leaf.end
        and leaf.start < each.end
        for each in found
    )


def retrieved_without(
    view: View,
    question: str,
    strategy: Strategy,
    options: dict[str, Any],
    explanation: Explanation,
    obstacles: Sequence[Obstacle],
) -> Sequence[Passage]:
    """What is returned once these obstacles are removed as the explanation says."""
    partly = replace(explanation, obstacles=tuple(obstacles))
    changed = {**options, **partly.changes}
    budget = options.get("budget")
    if isinstance(budget, Budget) and isinstance(changed["budget"], int):
        changed["budget"] = replace(budget, limit=changed["budget"])
    return view.retrieve(question, strategy, **changed)


def check(view: View, question: str, strategy: Strategy, options: dict[str, Any], leaf: Passage) -> Explanation:
    """What is explained of a leaf is true."""
    explanation = explain(view, question, strategy, document_id=leaf.document_id, start=leaf.start, end=leaf.end, **options)
    found = view.retrieve(question, strategy, **options)
    obstacles = explanation.obstacles
    assert explanation.returned == holds(found, leaf)
    assert [each.id for each in explanation.passages] == [each.id for each in found]
    if explanation.returned:
        assert holds(explanation.holding, leaf)
        assert obstacles == ()
    elif obstacles[-1].kind == "strategy":
        most = {**options, **explanation.changes, "candidates": 10_000, "min_score": None}
        most |= {"budget": 10_000_000} if "budget" in options else {"k": 10_000}
        assert not holds(view.retrieve(question, strategy, **most), leaf)
        assert explanation.passage is None
    else:
        without_all = retrieved_without(view, question, strategy, options, explanation, obstacles)
        assert holds(without_all, leaf)
        assert explanation.passage in [replace(each, origin=None) for each in without_all]
        for kept in obstacles:
            others = [each for each in obstacles if each is not kept]
            assert not holds(retrieved_without(view, question, strategy, options, explanation, others), leaf), kept
    return explanation


@pytest.mark.parametrize("number", range(len(CASES)), ids=map(name, CASES))
def test_what_keeps_each_leaf_out_is_named_and_it_is_returned_without_that(index: Index, number: int):
    strategy, options = CASES[number]
    leaves = index.leaves() if THOROUGH else index.leaves()[number % 6 :: 6]
    explained = [check(index, QUESTION, strategy, options, leaf) for leaf in leaves]
    assert any(not each.returned for each in explained)


def test_so_it_is_for_a_retriever_of_a_host(index: Index):
    strategy = SentenceWindow(base=host(index), after=0)
    explained = [check(index, QUESTION, strategy, {"k": 2}, leaf) for leaf in index.leaves()]
    obstacles = [[(each.option, each.needed) for each in one.obstacles] for one in explained]
    # The retriever has leaves 0, 3, 6 and so on, and the first two of them are returned. No limit reaches those in between.
    by_strategy = [("", None)]
    assert obstacles[:7] == [[], by_strategy, by_strategy, [], by_strategy, by_strategy, [("k", 3)]]


def test_so_it_is_for_the_best_of_a_retriever_of_a_host(index: Index):
    strategy = SentenceWindow(base=host(index), after=0)
    explained = [check(index, QUESTION, strategy, {"k": 1}, leaf) for leaf in index.leaves()[:4]]
    obstacles = [[(each.option, each.needed) for each in one.obstacles] for one in explained]
    assert obstacles == [[], [("", None)], [("", None)], [("k", 2)]]


@examples(60)
@given(
    question=st.sampled_from([*QUESTIONS, "zzz", "the"]),
    strategy=st.sampled_from([Vector(), BM25(), Hybrid(), SentenceWindow(), AutoMerging(), RelevantSegments(), Tree()]),
    options=st.fixed_dictionaries(
        {},
        optional={
            "k": st.integers(1, 6),
            "candidates": st.integers(1, 30),
            "budget": st.integers(1, 150),
            "min_score": st.floats(-0.2, 0.9),
            "where": st.sampled_from([PLACES, F("year") > 1900, F("doc_id") == "nothing"]),
        },
    ),
    number=st.integers(0, 10_000),
)
def test_so_it_is_for_any_question_and_any_limits(
    index: Index, question: str, strategy: Strategy, options: dict[str, Any], number: int
):
    leaves = index.leaves()
    check(index, question, strategy, options, leaves[number % len(leaves)])


def test_a_scoped_view_explains_as_an_index_of_its_own_documents_would(index: Index, tmp_path: Path):
    """What is outside of a scope neither is in a rank nor in a number of results."""
    view = index.scoped(F("topic") == "animals")
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as alone:
        alone.add([each for each in DOCUMENTS if each.id == "bees"])
        for leaf in view.leaves("bees"):
            ours, theirs = (
                explain(each, QUESTION, Hybrid(), document_id="bees", start=leaf.start, end=leaf.end, k=2)
                for each in (view, alone)
            )
            assert ours.lines == theirs.lines
            for one, other in zip(ours.standings, theirs.standings, strict=True):
                assert replace(one, score=None) == replace(other, score=None)
                assert one.score == pytest.approx(other.score, abs=1e-6)

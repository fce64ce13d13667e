from __future__ import annotations

import asyncio
import re
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import (
    BM25,
    Ensemble,
    F,
    Hybrid,
    Index,
    InvalidArgument,
    Query,
    RelevantSegments,
    Rerank,
    SentenceWindow,
    Strategy,
    Vector,
    aretrieve,
    retrieve,
)
from leafspan.embedding import default_embedder
from leafspan.errors import FunctionFailed
from leafspan.strategies import (
    CallFunction,
    Embed,
    Filtered,
    HostReranker,
    HostResult,
    HostRetriever,
    LoadTexts,
    LoadVectors,
    Reranked,
    RetrievalContext,
)
from tests.corpus import QUESTIONS
from tests.profiles import examples
from tests.word_trees import hits, spans, tree

LEAVES = tree(4, 4, 4)
CONTEXT = RetrievalContext(10)


class Found(Strategy):
    """A base that finds a list for each query."""

    def __init__(self, *rows):
        self.rows = rows

    def retrieve(self, queries, context):
        self.context = context
        yield from ()
        return [list(row) for row in self.rows]


def answered(strategy, queries, context=CONTEXT, vectors=None):
    """What it finds, with texts ``text of <id>``, vectors by ordinals, and functions that are called."""
    flow = strategy.retrieve([Query(query) for query in queries], context)
    answer = None
    while True:
        try:
            request = flow.send(answer)
        except StopIteration as stop:
            return stop.value
        match request:
            case LoadTexts():
                answer = {id_: f"text of {id_}" for id_ in request.ids}
            case LoadVectors():
                answer = np.array([vectors[id_.ordinal] for id_ in request.ids])
            case Embed():
                answer = np.array([vectors[text] for text in request.texts])
            case tuple():
                assert all(isinstance(each, CallFunction) for each in request)
                answer = [each.function(*each.arguments) for each in request]
            case _:
                raise AssertionError(request)


def by(**scores):
    """A function that gives the leaves of these ordinals these scores, and others 0."""

    def rerank(question, texts):
        return [scores.get(f"leaf{text.rsplit('#', 1)[1]}", 0) for text in texts]

    return rerank


THREE = hits(LEAVES, {0: 0.9, 5: 0.8, 7: 0.1})


# A function


def test_results_are_ordered_by_the_scores_of_the_function():
    [row] = answered(Rerank(base=Found(THREE), rerank=by(leaf7=2.5, leaf0=-1)), ["fire?"])
    assert spans(row) == [(7, 7, 2.5), (5, 5, 0), (0, 0, -1)]


def test_the_function_gets_the_question_and_the_texts_in_the_order_of_the_base():
    asked = []

    def rerank(question, texts):
        asked.append((question, texts))
        return [0] * len(texts)

    answered(Rerank(base=Found(THREE, [], THREE[:1]), rerank=rerank), ["fire?", "tea?", "oak?"])
    texts = [f"text of d#00000000#{ordinal}" for ordinal in (0, 5, 7)]
    assert asked == [("fire?", texts), ("oak?", texts[:1])]


def test_the_trace_has_the_old_and_the_new_rank_and_score():
    [row] = answered(Rerank(base=Found(THREE), rerank=by(leaf7=2.5)), ["fire?"])
    assert row[0].trace.explain() == [
        "vector found leaf 7 (score 0.100)",
        "Rerank: rank 3 with score 0.100 became rank 1 with score 2.500",
    ]


def test_equal_scores_go_by_document_and_position():
    [row] = answered(Rerank(base=Found(THREE[::-1]), rerank=by()), ["fire?"])
    assert [each.span.first for each in row] == [0, 5, 7]


def test_only_the_best_of_the_base_are_reordered_with_a_depth_and_the_others_are_left_out():
    base = Found(THREE)
    [row] = answered(Rerank(base=base, rerank=by(leaf5=1, leaf7=2), depth=2), ["fire?"], RetrievalContext(1, k=1))
    assert spans(row) == [(5, 5, 1), (0, 0, 0)]
    assert base.context == RetrievalContext(2)


@pytest.mark.parametrize("scores", [(1, 2, 3), np.array([1, 2, 3]), np.float32([1, 2, 3]), [np.float64(1), 2, 3.0]])
def test_scores_may_be_any_numbers(scores):
    [row] = answered(Rerank(base=Found(THREE), rerank=lambda question, texts: scores), ["fire?"])
    assert spans(row) == [(7, 7, 3), (5, 5, 2), (0, 0, 1)]


@pytest.mark.parametrize(
    ("scores", "shown"),
    [
        (None, "None"),
        (0.5, "0.5"),
        ([1, 2], r"\[1, 2\]"),
        ([1, 2, 3, 4], r"\[1, 2, 3, 4\]"),
        ([1, float("nan"), 3], "nan"),
        ([1, float("inf"), 3], "inf"),
        ([1, None, 3], "None"),
        ([1, "0.5", 3], "'0.5'"),
        ([1, True, 3], "True"),
        ([1, 10**400, 3], "1000"),
        ("abc", "'abc'"),
        ({0: 1, 1: 2, 2: 3}, "{0: 1"),
        (np.ones((3, 1)), r"\[1.0\]"),
        (iter([1, 2, 3]), "iterator"),
    ],
)
@pytest.mark.parametrize("on_failure", ["raise", "keep"])
def test_a_function_that_does_not_return_a_number_for_each_text_is_refused(scores, shown, on_failure):
    strategy = Rerank(base=Found(THREE), rerank=lambda question, texts: scores, on_failure=on_failure)
    with pytest.raises(InvalidArgument, match=f"rerank must return a finite number for each of the 3 texts, got .*{shown}"):
        answered(strategy, ["fire?"])


def fail(question, texts):
    raise ConnectionError("no route")


def test_an_error_of_the_function_is_raised_with_a_note():
    with pytest.raises(
        FunctionFailed, match=r"rerank failed with ConnectionError: no route; it was given 'fire\?'"
    ) as caught:
        answered(Rerank(base=Found(THREE), rerank=fail), ["fire?"])
    assert caught.value.__notes__ == [
        "rerank of Rerank failed; with on_failure='keep' the results stay in the order of the base"
    ]


def test_or_the_results_stay_as_they_are_and_say_so():
    [row] = answered(Rerank(base=Found(THREE), rerank=fail, on_failure="keep"), ["fire?"])
    assert spans(row) == spans(THREE)
    assert row[0].trace.notes == ("Rerank: not reordered, since rerank failed: ConnectionError: no route",)


def test_a_vector_cannot_be_read_by_a_function():
    with pytest.raises(InvalidArgument, match="Rerank needs the query as text, got a vector only"):
        next(Rerank(rerank=by()).retrieve([Query(vector=(1.0, 0.0))], CONTEXT))


# Diversity

VECTORS = {0: (1.0, 0.0), 5: (0.8, 0.6), 7: (0.0, 1.0), "fire?": (1.0, 0.0)}


def test_diverse_results_are_those_most_like_the_query_and_least_like_each_other():
    [row] = answered(Rerank(base=Found(THREE), diversity=0.25), ["fire?"], vectors=VECTORS)
    assert spans(row) == [
        (0, 0, pytest.approx(0.75 * 1)),
        (5, 5, pytest.approx(0.75 * 0.8 - 0.25 * 0.8)),
        (7, 7, pytest.approx(0.75 * 0 - 0.25 * 0.6)),
    ]
    [row] = answered(Rerank(base=Found(THREE), diversity=0.6), ["fire?"], vectors=VECTORS)
    assert [each.span.first for each in row] == [0, 7, 5]  # 0.4 * 0 - 0.6 * 0 before 0.4 * 0.8 - 0.6 * 0.8


def test_with_a_diversity_of_1_only_likeness_counts_behind_the_first():
    for options in ({}, {"rerank": by(leaf0=10, leaf5=6, leaf7=2)}):
        [row] = answered(Rerank(base=Found(THREE), diversity=1, **options), ["fire?"], vectors=VECTORS)
        assert spans(row) == [(0, 0, 0), (7, 7, 0), (5, 5, pytest.approx(-0.8))]


@pytest.mark.parametrize("name", ["mmr_threshold", "lambda_mult"])
def test_the_names_of_hosts_for_the_opposite_of_diversity_are_understood(name):
    with pytest.raises(
        InvalidArgument, match=f"Rerank has no option '{name}'; here it is 'diversity', which is 1 - {name}"
    ):
        Rerank(**{name: 0.3})


def test_with_a_function_the_relevance_is_its_score_scaled():
    strategy = Rerank(base=Found(THREE), rerank=by(leaf0=10, leaf5=6, leaf7=2), diversity=0.4)
    [row] = answered(strategy, ["fire?"], vectors=VECTORS)
    assert spans(row) == [
        (0, 0, pytest.approx(0.6 * 1)),
        (7, 7, pytest.approx(0.6 * 0 - 0.4 * 0)),
        (5, 5, pytest.approx(0.6 * 0.5 - 0.4 * 0.8)),
    ]


def test_the_trace_has_the_similarity():
    [row] = answered(Rerank(base=Found(THREE), diversity=0.6), ["fire?"], vectors=VECTORS)
    assert row[0].trace.notes == ("Rerank: rank 1 with score 0.900 became rank 1 with score 0.400",)
    note = "Rerank: rank 2 with score 0.800 became rank 3 with score -0.160, with a similarity of 0.800 to one before it"
    assert row[2].trace.notes == (note,)


def test_no_more_than_k_are_chosen():
    [row] = answered(Rerank(base=Found(THREE), diversity=0.6), ["fire?"], RetrievalContext(10, k=2), vectors=VECTORS)
    assert [each.span.first for each in row] == [0, 7]


def test_the_vector_of_a_span_is_the_mean_of_its_leaves(shared_index: Index):
    base = RelevantSegments(base=BM25(scale=True))
    [query] = default_embedder().documents([QUESTIONS[1]])
    found = shared_index.retrieve(QUESTIONS[1], base, k=50)
    stored = shared_index.client.get_collection("kb.leaves", embedding_function=None)

    def vector(passage):
        first, _, last = passage.id.rsplit("#", 1)[1].partition("-")
        ids = [f"{passage.id.rsplit('#', 1)[0]}#{number}" for number in range(int(first), int(last or first) + 1)]
        mean = np.mean(stored.get(ids=ids, include=["embeddings"])["embeddings"], axis=0)
        return mean / np.linalg.norm(mean)

    best = max(found, key=lambda passage: float(vector(passage) @ query))
    [first, *_] = shared_index.retrieve(QUESTIONS[1], Rerank(base=base, diversity=0.1))
    assert first.id == best.id
    assert first.score == pytest.approx(0.9 * float(vector(best) @ query), abs=1e-6)


def test_a_vector_of_the_wrong_length_is_refused():
    asking = Rerank(base=Found(THREE), diversity=0.5).retrieve([Query(vector=(1.0, 0.0, 0.0))], CONTEXT)
    assert isinstance(next(asking), LoadVectors)
    with pytest.raises(InvalidArgument, match="a query's vector must have 2 dimensions, got 3"):
        asking.send(np.array([VECTORS[ordinal] for ordinal in (0, 5, 7)]))


@given(st.dictionaries(st.integers(0, 11), st.floats(-1, 1), min_size=1), st.floats(0, 0.99), st.randoms())
@examples(100)
def test_nothing_is_lost_and_scores_fall(scores, diversity, random):
    base = Found(hits(LEAVES, scores))
    places = {ordinal: (random.random(), random.random()) for ordinal in range(12)}
    strategy = Rerank(base=base, rerank=lambda question, texts: [random.random() for _ in texts], diversity=diversity)
    [row] = answered(strategy, ["fire?"], vectors=places)
    assert sorted(each.span.first for each in row) == sorted(scores)
    assert [each.score for each in row] == sorted((each.score for each in row), reverse=True)


# Rerankers of hosts


def reranker(*kept):
    def rerank(question, passages):
        return list(kept)

    async def arerank(question, passages):
        return list(kept)

    return HostReranker("Judge", rerank, arerank)


def test_a_reranker_keeps_what_it_returns_in_its_order_with_its_scores(shared_index: Index):
    base = Vector(k=3)
    before = [passage.id for passage in shared_index.retrieve(QUESTIONS[1], base)]
    judge = reranker(Reranked(2, 7.5), Reranked(0, 7.5, "well put"), Reranked(2, 1))
    found = shared_index.retrieve(QUESTIONS[1], Rerank(base=base, rerank=judge))
    assert [(passage.id, passage.score) for passage in found] == [(before[2], 7.5), (before[0], 7.5)]
    assert found[1].trace.explain()[-1].endswith("became rank 2 with score 7.500 by Judge: well put")


@pytest.mark.parametrize("scores", [(1, 2), (None, 2), (float("nan"), 1)])
def test_if_its_scores_do_not_fall_they_go_by_rank(shared_index: Index, scores):
    judge = reranker(Reranked(1, scores[0]), Reranked(0, scores[1]))
    found = shared_index.retrieve(QUESTIONS[1], Rerank(rerank=judge))
    assert [passage.score for passage in found] == [1, 1 / 2]


@pytest.mark.parametrize("wrong", [[Reranked(24)], [Reranked(-1)], [0, 1], None, "no"])
def test_a_reranker_that_returns_anything_else_is_refused(shared_index: Index, wrong):
    async def arerank(question, passages):
        return wrong

    judge = HostReranker("Judge", lambda question, passages: wrong, arerank)
    message = f"the reranker Judge must return a list of Reranked of 24 results, got {wrong!r}"
    with pytest.raises(InvalidArgument, match=f"^{re.escape(message)}"):
        shared_index.retrieve(QUESTIONS[1], Rerank(rerank=judge))


def test_a_reranker_that_fails_leaves_the_results_as_they_are_on_request(shared_index: Index):
    judge = HostReranker("Judge", fail, fail)
    found = shared_index.retrieve(QUESTIONS[1], Rerank(base=Vector(), rerank=judge, on_failure="keep"))
    assert [each.id for each in found] == [each.id for each in shared_index.retrieve(QUESTIONS[1], Vector())]
    assert "Rerank: not reordered, since Judge failed: ConnectionError: no route" in found[0].trace.notes


def test_the_error_for_a_function_that_returns_a_coroutine_says_where_to_give_it():
    async def arerank(texts):
        return [1.0 for _ in texts]

    wrapped = Rerank(base=Found(THREE), rerank=lambda question, texts: arerank(texts))
    message = "rerank must not return a coroutine: give the coroutine function as arerank, and rerank beside it"
    with pytest.raises(InvalidArgument, match=f"^{message}$"):
        answered(wrapped, ["fire?"])


def test_a_reranker_gets_passages_as_the_call_would_return_them(shared_index: Index):
    seen = []

    def rerank(question, passages):
        seen.extend(passages)
        return []

    base = SentenceWindow(base=Vector(k=4))
    shared_index.retrieve(QUESTIONS[1], Rerank(base=base, rerank=HostReranker("Judge", rerank, rerank)))
    assert seen == shared_index.retrieve(QUESTIONS[1], base)
    assert all(passage.title and passage.lines for passage in seen)


# Over an index, without one, and in an event loop


def lengths(question, texts):
    return [len(text) for text in texts]


def test_texts_of_leaves_spans_and_summaries_are_read(index: Index):
    index.build_tree()
    for base in (BM25(), SentenceWindow(), RelevantSegments(), Hybrid(summaries=True)):
        found = index.retrieve(QUESTIONS[1], Rerank(base=base, rerank=lengths), k=50)
        assert found
        assert all(passage.score == len(passage.text) for passage in found)
        diverse = index.retrieve(QUESTIONS[1], Rerank(base=base, diversity=0.2), k=50)
        assert {passage.id for passage in diverse} == {passage.id for passage in found}


def test_it_is_of_the_kind_of_its_base():
    leaves, longer = (Rerank(base=base, rerank=lengths) for base in (Vector(), RelevantSegments()))
    assert (leaves.finds_spans, longer.finds_spans) == (False, True)
    assert Rerank(base=Vector(min_score=0.3), rerank=lengths).returns_all


def test_it_can_be_a_base_and_one_of_several_and_keeps_filters(shared_index: Index):
    longest = Rerank(base=Filtered(Vector(), F("topic") == "places"), rerank=lengths)
    windows = shared_index.retrieve(QUESTIONS[1], SentenceWindow(base=longest, before=0, after=0))
    assert {passage.document_id for passage in windows} == {"harbour"}
    both = shared_index.retrieve(QUESTIONS[1], Ensemble(retrievers=[longest, Rerank(rerank=lengths, base=BM25())]))
    assert all(passage.trace.fused for passage in both)


def test_the_function_is_called_once_if_a_wider_search_finds_nothing_new(shared_index: Index):
    calls = []

    def rerank(question, texts):
        calls.append(len(texts))
        return lengths(question, texts)

    shared_index.retrieve(QUESTIONS[1], Rerank(rerank=rerank, base=RelevantSegments(base=Vector()), depth=2), budget=3000)
    assert len(calls) == len(set(calls))


async def test_in_an_event_loop_the_function_runs_in_threads_and_its_coroutine_function_does_not(shared_index: Index):
    threads = []

    def rerank(question, texts):
        threads.append(threading.current_thread())
        return lengths(question, texts)

    async def arerank(question, texts):
        return rerank(question, texts)

    blocking = shared_index.retrieve_many(QUESTIONS, Rerank(rerank=rerank))
    assert set(threads) == {threading.main_thread()}
    threads.clear()
    assert await shared_index.aretrieve_many(QUESTIONS, Rerank(rerank=rerank)) == blocking
    assert threading.main_thread() not in threads
    threads.clear()
    assert await shared_index.aretrieve_many(QUESTIONS, Rerank(rerank=rerank, arerank=arerank)) == blocking
    assert set(threads) == {threading.main_thread()}


async def test_questions_of_one_call_are_reranked_at_the_same_time(shared_index: Index):
    waiting = 0
    all_there = asyncio.Event()

    async def arerank(question, texts):
        nonlocal waiting
        waiting += 1
        if waiting == len(QUESTIONS):
            all_there.set()
        await asyncio.wait_for(all_there.wait(), 60)
        return lengths(question, texts)

    found = await shared_index.aretrieve_many(QUESTIONS, Rerank(rerank=lengths, arerank=arerank))
    assert len(found) == len(QUESTIONS)


RESULTS = [HostResult("a", "one two three", 0.9), HostResult(None, "four", 0.5), HostResult("c", " ", 0.1)]


async def aask(question):
    return RESULTS


OTHER = HostRetriever("other", lambda question: RESULTS, aask)


async def test_without_an_index_passages_of_other_sources_are_reordered():
    strategy = Rerank(base=OTHER, rerank=lambda question, texts: [-len(text) for text in texts])
    expected = [(" ", -1), ("four", -4), ("one two three", -13)]
    assert [(passage.text, passage.score) for passage in retrieve("?", strategy)] == expected
    assert [(passage.text, passage.score) for passage in await aretrieve("?", strategy)] == expected


def test_without_an_index_diversity_embeds_the_texts():
    embedded = []

    def embed(texts):
        embedded.extend(texts)
        return [[1.0, 0.0] if "?" in text or "one" in text else [0.6, 0.8] for text in texts]

    found = retrieve("which?", Rerank(base=OTHER, diversity=0.5), embedder=embed)
    assert embedded == ["which?", "one two three", "four"]  # the blank one is like nothing
    assert [(passage.text, passage.score) for passage in found] == [
        ("one two three", pytest.approx(0.5)),
        ("four", pytest.approx(0.5 * 0.6 - 0.5 * 0.6)),
        (" ", pytest.approx(0.0)),
    ]


def test_nothing_found_is_nothing_to_reorder(shared_index: Index):
    nothing = Filtered(Vector(), F("topic") == "no such")
    assert shared_index.retrieve(QUESTIONS[0], Rerank(base=nothing, rerank=fail)) == []
    assert shared_index.retrieve_many(QUESTIONS, Rerank(base=nothing, diversity=0.5)) == [[], [], [], []]
    assert shared_index.retrieve(QUESTIONS[0], Rerank(base=nothing, rerank=reranker())) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "Rerank must have a function rerank, or a diversity > 0, got neither"),
        ({"rerank": "cross-encoder"}, "rerank must be a function, got 'cross-encoder'"),
        ({"rerank": asyncio.sleep}, "rerank must be a function that is not awaited, got .*: that is for arerank"),
        ({"rerank": lengths, "arerank": 3}, "arerank must be a coroutine function like rerank, got 3"),
        ({"arerank": lengths, "diversity": 0.5}, "arerank must have a function rerank beside it, got arerank alone"),
        ({"rerank": reranker(), "arerank": lengths}, "arerank must have a function rerank beside it, got arerank alone"),
        ({"diversity": 1.1}, r"diversity must be a number in \[0, 1\], got 1.1"),
        ({"diversity": -0.1}, r"diversity must be a number in \[0, 1\], got -0.1"),
        ({"rerank": lengths, "depth": 0}, "depth must be a whole number >= 1, got 0"),
        ({"rerank": lengths, "on_failure": "keep it"}, "on_failure must be one of 'raise', 'keep', got 'keep it'"),
        ({"rerank": lengths, "base": Vector}, r"base must be a strategy .*; did you forget the parentheses\?"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(InvalidArgument, match=message):
        Rerank(**options)


def test_functions_of_strategies_that_are_gone_are_not_mistaken_for_others(shared_index: Index):
    class InTurn(Strategy):
        """Reranks with one function after the other, each of which is freed before the next one is made."""

        def retrieve(self, queries, context):
            for factor in range(1, 20):
                strategy = Rerank(rerank=lambda _, texts, factor=factor: [factor] * len(texts), depth=3)
                found = yield from strategy.retrieve(queries, context)
                scores.append(found[0][0].score)
            return found

    scores: list[float] = []
    shared_index.retrieve(QUESTIONS[0], InTurn())
    assert scores == list(range(1, 20))

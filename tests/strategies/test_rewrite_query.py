from __future__ import annotations

import asyncio

import numpy as np
import pytest

from leafspan import (
    BM25,
    Ensemble,
    Index,
    InvalidArgument,
    Query,
    RelevantSegments,
    RewriteQuery,
    SentenceWindow,
    Strategy,
    Vector,
    aretrieve,
    retrieve,
)
from leafspan.embedding import default_embedder
from leafspan.language_model import PROMPTS
from leafspan.strategies import Generate, HostResult, HostRetriever, RetrievalContext
from tests.corpus import QUESTIONS
from tests.word_trees import hits, spans, tree

LEAVES = tree(4, 4, 4)
CONTEXT = RetrievalContext(10)


class Scripted(Strategy):
    """A base that answers each question from a table, and remembers what it was asked."""

    def __init__(self, table):
        self.table = table
        self.asked = []

    def retrieve(self, queries, context):
        self.asked.append((list(queries), context))
        yield from ()
        return [self.table.get(query.text or query.vector, []) for query in queries]


TABLE = {
    "fire?": hits(LEAVES, {0: 0.9, 1: 0.8}),
    "blaze?": hits(LEAVES, {1: 0.7, 2: 0.6}),
    "burnt?": hits(LEAVES, {1: 0.95}),
    "tea?": hits(LEAVES, {9: 0.4}),
    (1.0, 0.0): hits(LEAVES, {7: 0.3}),
}


def never(prompt):
    raise AssertionError("the engine asks the model")


def found(queries, strategy, *answers):
    """The results, and the prompts of the one request, if there is one, where its answers are these."""
    asking = strategy.retrieve([query if isinstance(query, Query) else Query(query) for query in queries], CONTEXT)
    prompts = []
    try:
        request = next(asking)
        assert isinstance(request, Generate)
        prompts = list(request.prompts)
        asking.send(list(answers))
    except StopIteration as stop:
        return stop.value, prompts
    raise AssertionError("only one request is expected")


def by_model(how="rewrite", **options):
    return RewriteQuery(base=Scripted(TABLE), how=how, generate=never, prompt="Of: {question}", **options)


# The four ways


def test_a_rewritten_question_is_searched_in_place_of_the_question_with_the_bases_scores():
    strategy = by_model()
    results, prompts = found(["fire?", "tea?"], strategy, '1. "blaze?"\nburnt?', "tea?")
    assert prompts == ["Of: fire?", "Of: tea?"]
    assert strategy.base.asked == [([Query("blaze?"), Query("tea?")], CONTEXT)]
    assert [spans(row) for row in results] == [[(1, 1, 0.7), (2, 2, 0.6)], [(9, 9, 0.4)]]
    assert results[0][0].trace.explain() == ['vector found leaf 1 for "blaze?" (score 0.700)']


def test_several_rewritten_questions_are_fused():
    strategy = by_model(count=2)
    results, _ = found(["fire?"], strategy, "blaze?\nburnt?\nfire?")
    assert strategy.base.asked == [([Query("blaze?"), Query("burnt?")], CONTEXT)]
    assert spans(results[0]) == [(1, 1, 1 / 61), (2, 2, 1 / 2 / 62)]


def test_a_rewritten_question_can_be_searched_beside_the_question():
    results, _ = found(["fire?"], by_model(keep_question=True), "blaze?")
    assert spans(results[0]) == [
        (1, 1, pytest.approx(1 / 2 / 62 + 1 / 2 / 61)),
        (0, 0, 1 / 2 / 61),
        (2, 2, 1 / 2 / 62),
    ]


def test_an_imagined_answer_is_embedded_and_the_words_stay_the_questions():
    strategy = by_model("hyde")
    results, _ = found(["fire?"], strategy, "It burned down.\n\nIn 1902. ")
    assert strategy.base.asked == [([Query("fire?", embedding_texts=("It burned down.\n\nIn 1902.", "fire?"))], CONTEXT)]
    assert spans(results[0]) == [(0, 0, 0.9), (1, 1, 0.8)]
    note = "RewriteQuery: searched with the vector of the imagined answer 'It burned down.\\n\\nIn 1902.'"
    assert results[0][0].trace.notes == (note,)


def test_what_a_model_thinks_before_it_answers_is_not_imagined():
    strategy = by_model("hyde")
    found(["fire?"], strategy, "<think>\nThe pier, or the barn?\n</think>\n\nIt burned down.")
    assert strategy.base.asked[0][0] == [Query("fire?", embedding_texts=("It burned down.", "fire?"))]


def test_several_imagined_answers_without_the_question():
    strategy = by_model("hyde", count=2, keep_question=False)
    found(["fire?"], strategy, "- It burned down.\n- It was oak.\n- It was iron.")
    assert strategy.base.asked[0][0] == [Query("fire?", embedding_texts=("It burned down.", "It was oak."))]


def test_texts_that_stand_for_the_question_are_part_of_the_mean_and_its_vector_is_not():
    strategy = by_model("hyde")
    found([Query("fire?", (1.0, 0.0), ("a fire",))], strategy, "It burned down.")
    assert strategy.base.asked[0][0] == [Query("fire?", embedding_texts=("It burned down.", "a fire"))]


def test_the_vector_of_a_search_is_the_mean_of_question_and_answers(index: Index):
    answer = "The old pier burned down in 1902."
    asked = RewriteQuery(base=Vector(), how="hyde", generate=lambda prompt: answer)
    mean = np.mean(default_embedder().documents([answer, QUESTIONS[1]]), axis=0)
    expected = index.retrieve(Query(vector=tuple(mean.tolist())), Vector())
    assert [(p.id, pytest.approx(p.score, abs=1e-6)) for p in index.retrieve(QUESTIONS[1], asked)] == [
        (p.id, p.score) for p in expected
    ]


def test_a_step_back_searches_the_question_and_a_more_general_one():
    strategy = by_model("step-back")
    results, _ = found(["fire?"], strategy, "blaze?\nburnt?")
    assert strategy.base.asked[0][0] == [Query("fire?"), Query("blaze?")]
    assert spans(results[0])[0] == (1, 1, pytest.approx(1 / 2 / 62 + 1 / 2 / 61))
    assert [part.source for part in results[0][0].trace.fused[0].contributions] == ["the query", '"blaze?"']


def test_parts_of_a_question_are_searched_in_one_call_beside_it_and_fused():
    strategy = by_model("decompose")
    results, _ = found(["fire?", "tea?"], strategy, "1) blaze?\n2) burnt?\n3) Fire?\n4) oak?\n5) iron?", "blaze?")
    asked = [Query(text) for text in ("fire?", "blaze?", "burnt?", "oak?", "tea?", "blaze?")]
    assert strategy.base.asked == [(asked, CONTEXT)]
    assert spans(results[0])[0] == (1, 1, pytest.approx((1 / 62 + 1 / 61 + 1 / 61) / 4))
    assert spans(results[1])[:2] == [(1, 1, 1 / 2 / 61), (9, 9, 1 / 2 / 61)]


def test_parts_alone_by_the_best_of_the_bases_scores():
    results, _ = found(["fire?"], by_model("decompose", keep_question=False, fusion="maximum"), "blaze?\nburnt?")
    assert spans(results[0]) == [(1, 1, 0.95), (2, 2, 0.6)]


# A function


def test_a_question_that_has_no_parts_is_searched_as_its_only_part():
    strategy = by_model("decompose", keep_question=False)
    results, _ = found(["fire?"], strategy, "fire?")
    assert strategy.base.asked[0][0] == [Query("fire?")]
    assert results[0][0].trace.notes == ()


def test_a_function_is_called_with_the_question_and_its_text_is_searched():
    strategy = RewriteQuery(base=Scripted(TABLE), how=never)
    results, prompts = found(["fire?"], strategy, "blaze?")
    assert prompts == ["fire?"]
    assert spans(results[0]) == [(1, 1, 0.7), (2, 2, 0.6)]


@pytest.mark.parametrize("several", [["blaze?", Query("burnt?")], ("blaze?", " ", Query("burnt?"), None, "blaze?")])
def test_several_that_a_function_returns_are_fused(several):
    strategy = RewriteQuery(base=Scripted(TABLE), how=never)
    results, _ = found(["fire?"], strategy, several)
    assert strategy.base.asked[0][0] == [Query("blaze?"), Query("burnt?")]
    assert spans(results[0]) == [(1, 1, 1 / 61), (2, 2, 1 / 2 / 62)]


def test_a_function_may_return_a_vector_as_a_query():
    results, _ = found(
        ["fire?"], RewriteQuery(base=Scripted(TABLE), how=never, keep_question=True), Query(vector=(1.0, 0.0))
    )
    assert {each.span.first for each in results[0]} == {0, 1, 7}
    assert results[0][-1].trace.hits[0].query in ("the query", "phrasing 1")


@pytest.mark.parametrize("nonsense", [42, {"question": "blaze?"}, ["blaze?", 3], b"blaze?"])
def test_a_function_that_returns_anything_else_is_refused(nonsense):
    with pytest.raises(InvalidArgument, match=r"how must return a text, a Query, a list of these, or None .*, got"):
        found(["fire?"], RewriteQuery(base=Scripted(TABLE), how=never), nonsense)


# Failures


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (ConnectionError("no route"), "ConnectionError: no route"),
        ("", "nothing usable in the answer ''"),
        ("---\n", "nothing usable in the answer '---\\n'"),
        (None, "TypeError: the answer must be a text, got None"),
        (["blaze?"], "TypeError: the answer must be a text, got ['blaze?']"),
    ],
)
@pytest.mark.parametrize("how", list(PROMPTS))
def test_if_a_model_writes_nothing_of_use_the_question_is_searched_and_the_trace_says_so(how, answer, reason):
    strategy = by_model(how)
    results, _ = found(["fire?"], strategy, answer)
    assert strategy.base.asked[0][0] == [Query("fire?")]
    assert [each.span.first for each in results[0]] == [0, 1]
    assert all(each.trace.notes == (f"RewriteQuery: {how} wrote nothing to search: {reason}",) for each in results[0])


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (ConnectionError("no route"), "ConnectionError: no route"),
        (None, "it returned None"),
        ("  ", "it returned '  '"),
        ([], "it returned []"),
    ],
)
def test_if_a_function_returns_nothing_the_question_is_searched_and_the_trace_says_so(answer, reason):
    strategy = RewriteQuery(base=Scripted(TABLE), how=never)
    results, _ = found(["fire?"], strategy, answer)
    assert spans(results[0]) == spans(TABLE["fire?"])
    assert results[0][0].trace.notes == (f"RewriteQuery: the function gave nothing to search: {reason}",)


def test_scores_mean_the_same_whether_or_not_the_model_fails():
    results, _ = found(["fire?", "tea?"], by_model("step-back"), "blaze?", ConnectionError("no route"))
    assert spans(results[1]) == [(9, 9, 1 / 61)]


def test_a_vector_is_searched_as_it_is_and_nothing_is_asked():
    strategy = by_model()
    results, prompts = found([Query(vector=(1.0, 0.0))], strategy)
    assert prompts == []
    assert spans(results[0]) == [(7, 7, 0.3)]
    assert results[0][0].trace.notes == ("RewriteQuery: rewrite wrote nothing to search: the query is a vector",)


# Options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "how='rewrite' must have a language model, got none: give llm="),
        ({"how": "hyde"}, "how='hyde' must have a language model, got none: give llm="),
        (
            {"how": "stepback", "generate": never},
            "how must be one of .*, or a function, got 'stepback'; did you mean 'step-back'",
        ),
        ({"how": 3, "generate": never}, "how must be one of .*, or a function, got 3"),
        ({"how": never, "generate": never}, "generate must be left out where how is a function, got"),
        ({"how": never, "prompt": "{question}"}, "prompt must be left out where how is a function, got"),
        ({"how": never, "count": 2}, "count must be left out where how is a function, got 2"),
        ({"generate": never, "ahow": never}, "ahow must be left out where how is no function, got"),
        ({"how": asyncio.sleep}, "how must be a function that is not awaited, got .*: that is for ahow"),
        ({"how": never, "ahow": 3}, "ahow must be a coroutine function like how, got 3"),
        ({"agenerate": never}, "agenerate must have generate beside it, got agenerate alone"),
        ({"generate": "gpt"}, "generate must be a function from a prompt to a text, got 'gpt'"),
        ({"generate": asyncio.sleep}, "generate must be a function that is not awaited, got .*: that is for agenerate"),
        ({"generate": never, "count": 0}, "count must be a whole number >= 1, got 0"),
        (
            {"generate": never, "prompt": "Rewrite."},
            r"prompt must be a text with \{question\}, if wanted \{count\}, and no other",
        ),
        ({"generate": never, "prompt": "{question} {x}"}, "prompt must be a text with"),
        ({"generate": never, "keep_question": 1}, "keep_question must be True or False, got 1"),
        ({"generate": never, "fusion": "relative_score"}, "fusion must be one of 'rrf', 'maximum', got 'relative_score'"),
        ({"generate": never, "base": "x"}, "base must be a strategy"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(InvalidArgument, match=message):
        RewriteQuery(**options)


@pytest.mark.parametrize("how", list(PROMPTS))
def test_the_default_prompts_have_the_question_and_the_count(how):
    prompts = []

    def write(prompt):
        prompts.append(prompt)
        return "blaze?"

    strategy = RewriteQuery(base=Scripted(TABLE), how=how, generate=write, count=7)
    _, asked = found(["What burned {down}?"], strategy, "blaze?")
    assert strategy.template == PROMPTS[how]
    assert "Question: What burned {down}?" in asked[0]
    assert "7." in asked[0]


# Over an index, without one, and in an event loop


def test_it_is_of_the_kind_of_its_base():
    leaves, longer = (RewriteQuery(base=base, how=never) for base in (Vector(), RelevantSegments()))
    assert (leaves.finds_spans, longer.finds_spans) == (False, True)
    assert RewriteQuery(base=Vector(min_score=0.2), how=never).returns_all
    assert RewriteQuery(base=Vector(), how=never).with_summaries() == RewriteQuery(base=Vector(summaries=True), how=never)


async def test_in_an_event_loop_the_coroutine_function_is_called(shared_index: Index):
    called = []

    async def ahow(question):
        called.append(question)
        return question.upper()

    strategy = RewriteQuery(base=BM25(), how=str.upper, ahow=ahow)
    blocking = shared_index.retrieve_many(QUESTIONS, strategy)
    assert called == []
    assert await shared_index.aretrieve_many(QUESTIONS, strategy) == blocking
    assert called == QUESTIONS


async def test_in_an_event_loop_the_model_is_awaited(shared_index: Index):
    async def agenerate(prompt):
        return QUESTIONS[0].upper()

    strategy = RewriteQuery(base=BM25(), generate=never, agenerate=agenerate)
    assert [each.id for each in await shared_index.aretrieve("it?", strategy)] == [
        each.id for each in shared_index.retrieve(QUESTIONS[0], BM25())
    ]


def test_it_can_be_a_base_and_one_of_several(shared_index: Index):
    lower = RewriteQuery(base=BM25(), how=str.lower)
    windows = shared_index.retrieve(QUESTIONS[1], SentenceWindow(base=lower))
    assert windows == shared_index.retrieve(QUESTIONS[1], SentenceWindow(base=lower))
    both = shared_index.retrieve(QUESTIONS[1], Ensemble(retrievers=[lower, Vector()]), k=3)
    assert both[0].id == "harbour#99355868#3"


def test_a_model_is_asked_once_however_often_a_budget_makes_it_look_further(shared_index: Index):
    prompts = []

    def write(prompt):
        prompts.append(prompt)
        return "When did the pier burn down?"

    strategy = RewriteQuery(base=Vector(), generate=write)
    assert len(shared_index.retrieve(QUESTIONS[1], strategy, budget=1000)) > 24
    assert len(prompts) == 1


async def test_without_an_index_another_source_is_asked_what_was_rewritten():
    asked = []

    def ask(question):
        asked.append(question)
        return [HostResult("1", f"about {question}", 0.5)]

    async def aask(question):
        return ask(question)

    strategy = RewriteQuery(base=HostRetriever("other", ask, aask), how=lambda question: ["a pier", "a fire"])
    assert [passage.id for passage in retrieve("what?", strategy)] == ["1"]
    assert [passage.id for passage in await aretrieve("what?", strategy)] == ["1"]
    assert asked == ["a pier", "a fire"] * 2


def test_a_vector_of_the_wrong_length_from_a_function_is_refused(shared_index: Index):
    for strategy in (Vector(), SentenceWindow(), BM25(scale=True)):
        wrong = RewriteQuery(base=strategy, how=lambda question: Query(question, vector=(1.0, 0.0)))
        if isinstance(strategy, BM25):
            assert shared_index.retrieve(QUESTIONS[0], wrong)  # which searches no vectors
            continue
        with pytest.raises(InvalidArgument, match="a query's vector must have 256 dimensions, got 2"):
            shared_index.retrieve(QUESTIONS[0], wrong)


def test_a_function_may_be_an_object_without_a_hash(shared_index: Index):
    class Unhashable:
        __hash__ = None
        called = 0

        def __call__(self, question):
            self.called += 1
            return question.lower()

    how = Unhashable()
    found = shared_index.retrieve(QUESTIONS[1], RewriteQuery(base=Vector(), how=how), budget=1000)
    assert len(found) > 24
    assert how.called == 1

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafspan
from leafspan import (
    BM25,
    AutoMerging,
    Browse,
    Ensemble,
    F,
    HostRetriever,
    Hybrid,
    Index,
    InvalidArgument,
    Query,
    Router,
    SentenceWindow,
    Vector,
)
from leafspan.strategies import Embed, Generate, HostResult, RetrievalContext, RunStrategies, Strategy, StrategyRun
from tests.corpus import QUESTIONS
from tests.event_loop import wait_for_the_loop
from tests.lateness import ends_within, longer_and_longer
from tests.profiles import examples
from tests.word_trees import hits, spans, tree

LEAVES = tree(4, 4, 4)
CONTEXT = RetrievalContext(10, k=3)
ONE, OTHER = hits(LEAVES, {0: 0.9, 1: 0.8, 2: 0.5}), hits(LEAVES, {2: 5.0, 3: 2.0})
TWO = {"words": BM25(), "meaning": Vector()}
ABOUT = {"words": "names and numbers", "meaning": "what something is about"}


def answered(router, *answers, queries=("What?",), context=CONTEXT):
    """The requests of a router that is given these answers, and its results."""
    flow = router.retrieve([query if isinstance(query, Query) else Query(query) for query in queries], context)
    requests = []
    for answer in (None, *answers):
        try:
            requests.append(flow.send(answer))
        except StopIteration as stop:
            return requests, stop.value
    raise AssertionError(f"still asks for {requests[-1]}")


def never(question):
    raise AssertionError("the retrieval calls it")


def ruled(choice, *found, **options):
    """The requests and the results where a rule has chosen, and the retrievers have found this."""
    return answered(Router(retrievers=TWO, choose=never, **options), [choice], [[each] for each in found])


# What is asked


def test_one_retriever_is_asked_as_if_it_stood_alone_and_its_results_are_as_they_are():
    requests, [row] = ruled("meaning", ONE)
    assert requests[0] == Generate(("What?",), never)
    assert requests[1] == RunStrategies((StrategyRun(Vector(), [Query("What?")], CONTEXT),))
    assert [replace(each, trace=replace(each.trace, notes=())) for each in row] == ONE
    assert {each.trace.notes for each in row} == {("Router chose meaning: choose returned 'meaning'",)}


def test_several_retrievers_are_asked_at_once_and_fused_by_rank():
    requests, [row] = ruled(["meaning", "words"], OTHER, ONE)
    every = replace(CONTEXT, k=None)
    asked = [Query("What?")]
    assert requests[1] == RunStrategies((StrategyRun(BM25(), asked, every), StrategyRun(Vector(), asked, every)))
    assert spans(row) == [
        (2, 2, 1 / 2 / 61 + 1 / 2 / 63),
        (0, 0, 1 / 2 / 61),
        (1, 1, 1 / 2 / 62),
        (3, 3, 1 / 2 / 62),
    ]
    assert [part.source for part in row[0].trace.fused[0].contributions] == ["meaning", "words"]
    assert row[0].trace.notes == ("Router chose meaning and words: choose returned ['meaning', 'words']",)


def test_the_fusion_can_be_chosen():
    _, [row] = ruled(["words", "meaning"], OTHER, ONE, fusion="maximum")
    assert spans(row) == [(2, 2, 5.0), (3, 3, 2.0), (0, 0, 0.9), (1, 1, 0.8)]


def test_each_retriever_searches_all_questions_that_it_was_chosen_for_at_once():
    router = Router(retrievers=TWO, choose=never)
    requests, rows = answered(
        router, ["words", "meaning", "words"], [[ONE, []], [OTHER]], queries=("a name?", "an idea?", "a number?")
    )
    assert requests[1].runs == (
        StrategyRun(BM25(), [Query("a name?"), Query("a number?")], CONTEXT),
        StrategyRun(Vector(), [Query("an idea?")], CONTEXT),
    )
    assert [spans(row) for row in rows] == [spans(ONE), spans(OTHER), []]


def test_a_question_that_comes_twice_is_put_once_to_what_chooses():
    requests, rows = answered(Router(retrievers=TWO, choose=never), ["words"], [[ONE, ONE]], queries=("a?", "a?"))
    assert requests[0].prompts == ("a?",)
    assert len(rows) == 2


def test_no_more_come_back_than_were_asked_for():
    router = Router(retrievers=TWO, choose=never)
    _, [row] = answered(router, [["words", "meaning"]], [[ONE], [OTHER]], context=RetrievalContext(2))
    assert len(row) == 2


# Rules


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        (None, "choose returned None"),
        ([], "choose returned []"),
        ("", "choose returned ''"),
    ],
)
def test_where_a_rule_names_no_retriever_the_default_is_asked_and_the_trace_says_why(choice, reason):
    requests, [row] = ruled(choice, ONE, default="meaning")
    assert [run.strategy for run in requests[1].runs] == [Vector()]
    assert row[0].trace.notes == (f"Router chose meaning: the default, since {reason}",)


def test_without_a_default_all_are_asked():
    requests, [row] = ruled(None, ONE, OTHER)
    assert [run.strategy for run in requests[1].runs] == [BM25(), Vector()]
    assert row[0].trace.notes == ("Router chose words and meaning: all, since choose returned None",)


def test_a_default_may_be_several():
    _, [row] = ruled(None, ONE, OTHER, default=["meaning", "words"])
    assert row[0].trace.notes == ("Router chose meaning and words: the default, since choose returned None",)


@pytest.mark.parametrize("choice", ["Words", ["sql", 5], 5, ["words", "sql"], {"words"}])
def test_a_rule_that_names_an_unknown_retriever_is_refused(choice):
    with pytest.raises(InvalidArgument, match=r"choose must return .* with names among 'words', 'meaning'; it returned"):
        ruled(choice, ONE, default="meaning")


def test_a_rule_that_fails_warns_and_the_default_is_asked():
    with pytest.warns(RuntimeWarning, match="choose failed: ValueError: odd; the retrieval goes on without it"):
        _, [row] = ruled(ValueError("odd"), ONE, default="meaning")
    assert row[0].trace.notes == ("Router chose meaning: the default, since choose failed: ValueError: odd",)


def test_a_rule_may_name_more_than_most_of_which_the_first_are_asked():
    _, [row] = ruled(["meaning", "words"], ONE, most=1)
    assert row[0].trace.notes == ("Router chose meaning: choose returned ['meaning', 'words']; at most 1 is asked",)


# Language models


def test_a_model_is_shown_names_and_descriptions_and_its_answer_is_in_the_trace():
    router = Router(retrievers=TWO, descriptions=ABOUT, generate=never, prompt="{count} of\n{retrievers}\nfor {question}")
    requests, [row] = answered(router, ["I think: **meaning**"], [[ONE]])
    assert requests[0].prompts == ("1 of\n- words: names and numbers\n- meaning: what something is about\nfor What?",)
    assert row[0].trace.notes == ("Router chose meaning: the model answered 'I think: **meaning**'",)


def test_what_a_model_thinks_before_it_answers_names_no_retriever():
    router = Router(retrievers=TWO, descriptions=ABOUT, generate=never)
    _, [row] = answered(router, ["<think>\nwords\n</think>\n\nmeaning"], [[ONE]])
    assert row[0].trace.notes == ("Router chose meaning: the model answered 'meaning'",)


def test_a_model_may_name_as_many_as_most():
    router = Router(retrievers=TWO, descriptions=ABOUT, generate=never, most=2)
    requests, [row] = answered(router, ["meaning\nwords"], [[ONE], [OTHER]])
    assert "at most 2 names" in requests[0].prompts[0]
    assert row[0].trace.notes == ("Router chose meaning and words: the model answered 'meaning\\nwords'",)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "the model named none in ''"),
        ("sql", "the model named none in 'sql'"),
        ("<think>words?", "the model named none in '<think>words?'"),
        (None, "the model's answer must be a text, got None"),
        ("x" * 500, f"the model named none in '{'x' * 80}'"),
    ],
)
def test_where_a_model_names_no_retriever_the_default_is_asked_and_the_trace_says_why(answer, reason):
    router = Router(retrievers=TWO, descriptions=ABOUT, generate=never, default="words")
    _, [row] = answered(router, [answer], [[ONE]])
    assert row[0].trace.notes == (f"Router chose words: the default, since {reason}",)


def test_a_model_that_fails_warns_and_the_default_is_asked():
    router = Router(retrievers=TWO, descriptions=ABOUT, generate=never, default="words")
    with pytest.warns(RuntimeWarning, match="the model failed: ConnectionError: no route; the retrieval goes on"):
        _, [row] = answered(router, [ConnectionError("no route")], [[ONE]])
    assert row[0].trace.notes == ("Router chose words: the default, since the model failed: ConnectionError: no route",)


def test_a_query_without_text_gets_the_default():
    router = Router(retrievers=TWO, choose=never, default="meaning")
    requests, [row] = answered(router, [[ONE]], queries=(Query(vector=(1.0, 0.0)),))
    assert isinstance(requests[0], RunStrategies)
    assert row[0].trace.notes == ("Router chose meaning: the default, since the query is a vector",)


# Similarity


def near(question, *described, found=(ONE,), **options):
    """The requests and the results where the question and the descriptions have these vectors."""
    router = Router(retrievers=TWO, descriptions=ABOUT, **options)
    return answered(router, np.array([question, *described], dtype=np.float32), [[each] for each in found])


def test_the_retriever_with_the_nearest_description_is_asked():
    requests, [row] = near([3, 4], [0, 2], [5, 0])
    assert requests[0] == Embed(("What?", "names and numbers", "what something is about"))
    assert [run.strategy for run in requests[1].runs] == [BM25()]
    assert row[0].trace.notes == (
        "Router chose words: its description is nearest to the question (words 0.800, meaning 0.600)",
    )


def test_several_may_be_near():
    _, [row] = near([3, 4], [5, 0], [0, 2], found=(ONE, OTHER), most=2)
    assert row[0].trace.notes == ("Router chose meaning and words: nearest: meaning 0.800, words 0.600",)


@pytest.mark.parametrize(("least", "chosen"), [(0.5, ["words", "meaning"]), (0.7, ["words"]), (0.8, ["words"])])
def test_only_those_are_asked_whose_similarity_reaches_the_lowest(least, chosen):
    requests, _ = near([3, 4], [0, 2], [5, 0], found=[ONE] * len(chosen), most=2, min_similarity=least)
    assert [run.strategy for run in requests[1].runs] == [TWO[name] for name in chosen]


def test_where_nothing_is_near_the_default_is_asked():
    _, [row] = near([3, 4], [0, 2], [5, 0], min_similarity=0.9, default="meaning")
    assert row[0].trace.notes == (
        "Router chose meaning: the default, since no description has a similarity of 0.9 with the question "
        "(words 0.800, meaning 0.600)",
    )


def test_ties_go_by_the_order_of_the_retrievers():
    requests, _ = near([1, 1], [2, 0], [0, 3])
    assert [run.strategy for run in requests[1].runs] == [BM25()]


def test_a_vector_of_zeros_is_similar_to_nothing():
    _, [row] = near([0, 0], [2, 0], [0, 3])
    assert "(words 0.000, meaning 0.000)" in row[0].trace.notes[0]


@given(
    st.lists(st.lists(st.integers(-5, 5), min_size=2, max_size=2), min_size=3, max_size=3),
    st.integers(1, 2),
)
@examples(100)
def test_the_route_of_a_question_does_not_depend_on_the_others(vectors, most):
    question, *about = vectors
    router = Router(retrievers=TWO, descriptions=ABOUT, most=most)
    alone = router.retrieve([Query("a")], CONTEXT)
    next(alone)
    first = alone.send(np.array([question, *about], dtype=np.float32)).runs
    several = router.retrieve([Query("b"), Query("a")], CONTEXT)
    next(several)
    both = several.send(np.array([[1, 0], question, *about], dtype=np.float32)).runs
    assert {run.strategy for run in first} == {run.strategy for run in both if Query("a") in run.queries}


# Retrievers that fail


def test_a_retriever_that_fails_is_named_by_the_error():
    with pytest.raises(RuntimeError, match=r"broken\nretriever 'meaning' of the router failed"):
        answered(Router(retrievers=TWO, choose=never), ["meaning"], [RuntimeError("broken")])


def test_a_retriever_that_fails_is_left_out_on_request_and_the_trace_says_so():
    router = Router(retrievers=TWO, choose=never, on_failure="skip", timeout=2)
    requests, [row] = answered(router, [None], [TimeoutError("not done after 2 seconds"), [OTHER]])
    assert [run.timeout for run in requests[1].runs] == [2, 2]
    assert spans(row) == [(2, 2, 1 / 61), (3, 3, 1 / 62)]
    assert row[0].trace.notes[-1] == "retriever 'words' was left out: TimeoutError: not done after 2 seconds"


@pytest.mark.parametrize(("choice", "answers"), [("words", 1), (None, 2)])
def test_where_all_that_were_chosen_fail_the_first_error_is_raised(choice, answers):
    router = Router(retrievers=TWO, choose=never, on_failure="skip")
    with pytest.raises(RuntimeError, match="broken"):
        answered(router, [choice], [RuntimeError("broken")] * answers)


def test_a_mistake_of_the_caller_is_raised_all_the_same():
    router = Router(retrievers=TWO, choose=never, on_failure="skip")
    with pytest.raises(InvalidArgument, match="needs the query as text"):
        answered(router, [None], [[ONE], InvalidArgument("needs the query as text")])


# Options


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"retrievers": {}}, "retrievers must have at least one strategy, got {}"),
        ({"retrievers": [Vector()]}, r"retrievers must be a mapping from names to strategies, got \[Vector"),
        ({"retrievers": {"a": Vector}}, "retriever 'a' must be a strategy such as Vector.*did you forget the parentheses"),
        ({"retrievers": {" ": Vector()}}, "a name in retrievers must be a text that is not blank, got ' '"),
        ({"retrievers": {3: Vector()}}, "a name in retrievers must be a text that is not blank, got 3"),
        ({"choose": "words"}, "choose must be a function from a question to names, got 'words'"),
        ({"choose": None, "generate": 5}, "generate must be a function from a prompt to a text, got 5"),
        ({"choose": None, "achoose": never}, "achoose must have choose beside it, got achoose alone"),
        ({"agenerate": never}, "agenerate must have generate beside it, got agenerate alone"),
        ({"generate": never}, "give either choose or a language model, got both"),
        (
            {"choose": None},
            "descriptions must say of each retriever what it is for, got none for 'words', 'meaning': retrievers",
        ),
        ({"choose": None, "descriptions": {"words": "a"}}, "got none for 'meaning'"),
        ({"descriptions": "words"}, "descriptions must be a text, not blank, for names of retrievers, got 'words'"),
        ({"descriptions": {"word": "a"}}, "a name in descriptions must be one of .*did you mean 'words'"),
        ({"descriptions": {"words": " "}}, "descriptions must be a text, not blank.* got ' ' for 'words'"),
        ({"prompt": "{question}"}, "prompt must be a text with {retrievers} and {question} and {count}"),
        ({"most": 0}, "most must be a whole number >= 1, got 0"),
        (
            {"min_similarity": 0.5},
            "min_similarity is for a choice by descriptions: leave out choose and the language model",
        ),
        (
            {"choose": None, "descriptions": ABOUT, "min_similarity": 2},
            r"min_similarity must be a number in \[-1, 1\], got 2",
        ),
        ({"default": "word"}, "default must be one of 'words', 'meaning', got 'word'; did you mean 'words'"),
        ({"default": []}, r"default must be a name or a list of names, got \[\]"),
        ({"default": ["words", 3]}, "each name in default must be one of 'words', 'meaning', got 3"),
        ({"fusion": "sum"}, "fusion must be one of"),
        ({"timeout": 0}, "timeout must be a number of seconds > 0, got 0"),
        ({"on_failure": "ignore"}, "on_failure must be one of 'raise', 'skip', got 'ignore'"),
    ],
)
def test_options_out_of_range_are_refused(wrong, message):
    with pytest.raises(InvalidArgument, match=message):
        Router(**{"retrievers": TWO, "choose": never, **wrong})


def test_a_coroutine_function_must_have_a_blocking_one_beside_it():
    async def choose(question):
        return "words"

    with pytest.raises(
        InvalidArgument, match=r"choose must be a function that is not awaited, got .*: that is for achoose"
    ):
        Router(retrievers=TWO, choose=choose)


@pytest.mark.parametrize("option", ["choose", "generate"])
def test_a_function_that_returns_a_coroutine_is_a_mistake_of_the_caller(shared_index: Index, option):
    async def choose(text):
        return "words"

    def not_awaited(text):
        return choose(text)

    router = Router(retrievers=TWO, descriptions=ABOUT, **{option: not_awaited})
    with pytest.raises(
        InvalidArgument, match=f"{option} must not return a coroutine: give the coroutine function as a{option}"
    ):
        shared_index.retrieve("What?", router)


def test_a_router_is_a_value_that_no_change_outside_reaches():
    retrievers = dict(TWO)
    router = Router(retrievers=retrievers, choose=never, default=["words", "words"])
    retrievers.clear()
    assert router == Router(retrievers=TWO, choose=never, default=("words",))
    assert hash(router) == hash(Router(retrievers=TWO, choose=never, default=("words",)))


def test_a_router_is_what_its_retrievers_are():
    spans, leaves = {"a": SentenceWindow(), "b": Vector()}, {"a": Browse(), "b": Vector(min_score=0.1)}
    assert Router(retrievers=spans, choose=never).finds_spans
    assert not Router(retrievers=leaves, choose=never).finds_spans
    assert Router(retrievers=leaves, choose=never).returns_all
    assert not Router(retrievers=TWO, choose=never).returns_all


# Over an index, and over none


def plain(passages):
    return [(passage.id, passage.score, passage.text) for passage in passages]


def by_first_word(question: str) -> str:
    return "words" if question.startswith("W") else "meaning"


@pytest.mark.parametrize("limits", [{"k": 3}, {"budget": 60}, {"candidates": 4}, {"where": F("topic") != "food"}, {}])
def test_each_question_gets_what_its_retriever_finds_alone(shared_index: Index, limits):
    router = Router(retrievers={"words": AutoMerging(base=BM25()), "meaning": Vector()}, choose=by_first_word)
    found = shared_index.retrieve_many(QUESTIONS, router, **limits)
    alone = [shared_index.retrieve(each, router.retrievers[by_first_word(each)], **limits) for each in QUESTIONS]
    assert [*map(plain, found)] == [*map(plain, alone)]
    assert [*map(plain, asyncio.run(shared_index.aretrieve_many(QUESTIONS, router, **limits)))] == [*map(plain, alone)]


def test_several_chosen_give_what_an_ensemble_of_them_gives(shared_index: Index):
    router = Router(retrievers=TWO, choose=lambda question: ["words", "meaning"])
    ensemble = Ensemble(retrievers=[BM25(), Vector()])
    for question in QUESTIONS:
        assert plain(shared_index.retrieve(question, router)) == plain(shared_index.retrieve(question, ensemble))


def test_descriptions_are_compared_by_the_index_s_own_embedder(shared_index: Index):
    about = {"words": "goods, trade and trains in a harbour", "meaning": "how bees dance in their hive"}
    found = shared_index.retrieve_many(QUESTIONS, Router(retrievers=TWO, descriptions=about), k=1)
    assert [each.trace.explain()[-1].split(":")[0] for [each] in (found[0], found[3])] == [
        "Router chose meaning",
        "Router chose words",
    ]


def theirs(name: str, text: str) -> HostRetriever:
    def ask(question: str) -> list[HostResult]:
        return [HostResult(None, f"{text}: {question}", None)]

    async def aask(question: str) -> list[HostResult]:
        return ask(question)

    return HostRetriever(name, ask, aask)


def test_a_router_of_other_sources_needs_no_index():
    about = {"bees": "bees, honey and flowers", "law": "contracts, courts and judges"}
    router = Router(retrievers={name: theirs(name, name) for name in about}, descriptions=about)
    for found in (
        leafspan.retrieve_many(["honey of bees", "a judge in court"], router),
        asyncio.run(leafspan.aretrieve_many(["honey of bees", "a judge in court"], router)),
    ):
        assert [[each.text for each in row] for row in found] == [["bees: honey of bees"], ["law: a judge in court"]]


def test_a_router_can_be_a_base_and_one_of_several(shared_index: Index):
    router = Router(retrievers=TWO, choose=by_first_word)
    windows = shared_index.retrieve(QUESTIONS[0], SentenceWindow(base=router), k=2)
    assert plain(windows) == plain(shared_index.retrieve(QUESTIONS[0], SentenceWindow(base=BM25()), k=2))
    nested = Router(retrievers={"inner": router, "other": Hybrid()}, choose=lambda question: "inner")
    several = Ensemble(retrievers=[nested, Vector()])
    expected = Ensemble(retrievers=[BM25(), Vector()])
    assert plain(shared_index.retrieve(QUESTIONS[0], several)) == plain(shared_index.retrieve(QUESTIONS[0], expected))


def test_what_chooses_is_asked_once_even_if_the_retrieval_looks_again(shared_index: Index):
    asked = []

    def choose(question):
        asked.append(question)
        return "words"

    found = shared_index.retrieve("the harbour", Router(retrievers=TWO, choose=choose), budget=400)
    assert found
    assert asked == ["the harbour"]


async def test_a_slow_rule_does_not_block_the_loop(shared_index: Index):
    loop, chosen = asyncio.get_running_loop(), []

    def slow(question):
        wait_for_the_loop(loop)
        chosen.append("words")
        return "words"

    assert await shared_index.aretrieve(QUESTIONS[0], Router(retrievers=TWO, choose=slow))
    assert chosen == ["words"]  # a rule that fails would be left out


async def test_a_coroutine_function_is_awaited(shared_index: Index):
    async def achoose(question):
        await asyncio.sleep(0)
        return "meaning"

    router = Router(retrievers=TWO, choose=never, achoose=achoose)
    found = await shared_index.aretrieve(QUESTIONS[0], router, k=2)
    assert plain(found) == plain(shared_index.retrieve(QUESTIONS[0], Vector(), k=2))


def test_a_late_retriever_is_not_waited_for(shared_index: Index):
    released = threading.Event()

    class Slow(Strategy):
        def retrieve(self, queries, context):
            released.wait(60)
            return [[] for _ in queries]
            yield

    shared_index.retrieve(QUESTIONS[0], BM25())  # what is loaded at first takes a part of the time
    for timeout in longer_and_longer(0.3):
        router = Router(
            retrievers={"slow": Slow(), "fast": BM25()},
            choose=lambda question: None,
            timeout=timeout,
            on_failure="skip",
        )
        with ends_within(timeout + 0.6):
            found = shared_index.retrieve(QUESTIONS[0], router, k=1)
        if found:  # the fast one was in time
            break
    released.set()
    assert found[0].trace.notes[-1] == f"retriever 'slow' was left out: TimeoutError: not done after {timeout:g} seconds"


def test_an_empty_index_gives_nothing(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        assert index.retrieve("What?", Router(retrievers=TWO, descriptions=ABOUT)) == []
        assert index.retrieve_many([], Router(retrievers=TWO, descriptions=ABOUT)) == []

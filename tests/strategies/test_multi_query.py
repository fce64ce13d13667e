from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import AutoMerging, Hybrid, Index, InvalidArgument, ParentDocument, SentenceWindow, Strategy, Vector
from leafspan.strategies import Embed, Generate, MultiQuery, RetrievalContext
from leafspan.trace import Contribution, Fused, TracedHit
from leafspan.values import Query
from tests.profiles import examples
from tests.word_trees import hits, spans, tree

LEAVES = tree(4, 4, 4)
CONTEXT = RetrievalContext(10)


class Scripted(Strategy):
    """A base that answers each question from a table, and remembers what it was asked."""

    def __init__(self, table, *, finds_spans=False):
        self.table = table
        self.asked = []
        self._finds_spans = finds_spans

    @property
    def finds_spans(self):
        return self._finds_spans

    def retrieve(self, queries, context):
        self.asked.append((list(queries), context))
        yield from ()
        return [self.table.get(query.text or query.vector, []) for query in queries]


def found(queries, strategy, *answers, context=CONTEXT):
    """The results, and the prompts of the one request to the model, where its answers are these."""
    asking = strategy.retrieve([query if isinstance(query, Query) else Query(query) for query in queries], context)
    prompts = []
    try:
        request = next(asking)
        assert isinstance(request, Generate)
        prompts = list(request.prompts)
        asking.send(list(answers))
    except StopIteration as stop:
        return stop.value, prompts
    raise AssertionError("only one request is expected")


TABLE = {
    "fire?": hits(LEAVES, {0: 0.9, 1: 0.8}),
    "blaze?": hits(LEAVES, {1: 0.7, 2: 0.6}),
    "burnt?": hits(LEAVES, {1: 0.95}),
    (1.0, 0.0): hits(LEAVES, {7: 0.3}),
    "tea?": hits(LEAVES, {9: 0.4}),
}


def never(prompt):
    raise AssertionError("the engine asks the model")


def test_the_query_and_its_phrasings_are_searched_at_once_and_fused_by_rank():
    base = Scripted(TABLE)
    results, prompts = found(["fire?"], MultiQuery(base=base, phrasings=["blaze?", (1.0, 0.0)]))
    assert base.asked == [([Query("fire?"), Query("blaze?"), Query(vector=(1.0, 0.0))], CONTEXT)]
    assert prompts == []
    assert spans(results[0]) == [
        (1, 1, 1 / 3 / 62 + 1 / 3 / 61),
        (0, 0, 1 / 3 / 61),
        (7, 7, 1 / 3 / 61),
        (2, 2, 1 / 3 / 62),
    ]


def test_without_any_phrasings_the_query_is_searched_alone():
    for options in ({"phrasings": []}, {"phrasings": (), "include_original": False}):
        base = Scripted(TABLE)
        [row], _ = found(["fire?"], MultiQuery(base=base, **options))
        assert base.asked == [([Query("fire?")], CONTEXT)]
        assert spans(row) == [(0, 0, 1 / 61), (1, 1, 1 / 62)]


@pytest.mark.parametrize(
    ("phrasings", "answer", "searched"),
    [
        (["blaze?"], None, ["blaze?"]),
        (["blaze?", "fire?"], None, ["fire?", "blaze?"]),  # which is among the phrasings
        (None, "burnt?", ["burnt?"]),
        (["blaze?"], "burnt?", ["blaze?", "burnt?"]),
        (None, "", ["fire?"]),  # the model wrote nothing of use
        (["blaze?"], "", ["blaze?"]),
    ],
)
def test_the_query_itself_can_be_left_out(phrasings, answer, searched):
    base = Scripted(TABLE)
    model = {} if answer is None else {"generate": never}
    strategy = MultiQuery(base=base, phrasings=phrasings, include_original=False, **model)
    found(["fire?"], strategy, *([] if answer is None else [answer]))
    assert [query.text for query in base.asked[0][0]] == searched


def test_the_maximum_is_the_bases_own_best_score():
    results, _ = found(["fire?"], MultiQuery(base=Scripted(TABLE), phrasings=["blaze?", "burnt?"], fusion="maximum"))
    assert spans(results[0]) == [(1, 1, 0.95), (0, 0, 0.9), (2, 2, 0.6)]


def test_a_model_is_asked_for_phrasings_of_each_query_and_all_are_searched_at_once():
    base = Scripted(TABLE)
    strategy = MultiQuery(base=base, generate=never, count=2, prompt="{count} of: {question}")
    results, prompts = found(["fire?", "tea?"], strategy, '1. Fire?\n2. "blaze?"\n3. burnt?\n4. ash?', "- leaf?")
    assert prompts == ["2 of: fire?", "2 of: tea?"]
    asked = [Query(text) for text in ("fire?", "blaze?", "burnt?", "tea?", "leaf?")]
    assert base.asked == [(asked, CONTEXT)]
    assert spans(results[0])[0] == (1, 1, pytest.approx(1 / 3 * (1 / 62 + 1 / 61 + 1 / 61)))
    assert spans(results[1]) == [(9, 9, 1 / 2 / 61)]
    assert all(not each.trace.notes for row in results for each in row)


def test_what_a_model_thinks_before_it_answers_is_no_phrasing():
    base = Scripted(TABLE)
    found(
        ["fire?"], MultiQuery(base=base, generate=never), "<think>\nA synonym of fire\nis blaze.\n</think>\nblaze?\nburnt?"
    )
    assert base.asked[0][0] == [Query("fire?"), Query("blaze?"), Query("burnt?")]


def test_generated_phrasings_come_beside_the_given_ones_and_do_not_repeat_them():
    base = Scripted(TABLE)
    found(["fire?"], MultiQuery(base=base, phrasings="burnt?", generate=never), "Burnt?\nblaze?")
    assert base.asked[0][0] == [Query("fire?"), Query("burnt?"), Query("blaze?")]


def test_a_phrasing_that_is_the_query_counts_once():
    results, _ = found(["fire?"], MultiQuery(base=Scripted(TABLE), phrasings=["fire?", "fire?"]))
    assert spans(results[0]) == [(0, 0, 1 / 61), (1, 1, 1 / 62)]


def test_the_trace_names_each_phrasing_that_found_a_leaf_and_its_rank():
    strategy = MultiQuery(base=Scripted(TABLE), phrasings=["blaze?", (1.0, 0.0)])
    results, _ = found(["fire?"], strategy)
    trace = results[0][0].trace
    assert trace.hits == (TracedHit(1, 0.8, query="the query"), TracedHit(1, 0.7, query='"blaze?"'))
    contributions = (
        Contribution("the query", 2, 0.8, 1 / 3 / 62, 1 / 3),
        Contribution('"blaze?"', 1, 0.7, 1 / 3 / 61, 1 / 3),
    )
    assert trace.fused == (Fused(1, 1, "rrf", contributions, 1 / 3 / 62 + 1 / 3 / 61),)
    assert trace.explain()[-1] == (
        'leaf 1: rrf gave 0.011 = 0.005 from the query (rank 2, weight 0.33) + 0.005 from "blaze?" (rank 1, weight 0.33)'
    )
    assert trace.explain()[:2] == [
        "vector found leaf 1 for the query (score 0.800)",
        'vector found leaf 1 for "blaze?" (score 0.700)',
    ]
    assert results[0][2].trace.fused[0].contributions[0].source == "phrasing 2"
    assert results[0][2].trace.hits[0].query == "phrasing 2"


def test_each_step_of_the_base_names_its_phrasing(index: Index):
    merging = AutoMerging(base=Hybrid(), threshold=0.2, fill_gaps=2)
    strategy = MultiQuery(base=merging, phrasings=["goods trains"])
    traces = [passage.trace for passage in index.retrieve("old pier", strategy, k=50, candidates=5)]
    for kind in ("hits", "calibrated", "merges"):
        assert {step.query for trace in traces for step in getattr(trace, kind)} == {"the query", '"goods trains"'}
    fused = {(step.method, step.query) for trace in traces for step in trace.fused}
    assert fused == {*(("evidence", query) for query in ("the query", '"goods trains"')), ("rrf", None)}
    lines = [line for trace in traces for line in trace.explain()]
    assert any("filled the gap between two hits for " in line for line in lines)
    for start in ("bm25 found", "leaf", "the score of leaf", "merged into their parent"):
        assert any(start in line and ' for "goods trains"' in line for line in lines)


def test_the_phrasings_of_a_multi_query_within_another_stay_in_the_trace():
    inner = MultiQuery(base=Scripted(TABLE), phrasings=["blaze?"])
    results, _ = found(["fire?"], MultiQuery(base=inner, phrasings=["burnt?"]))
    assert {hit.query for hit in results[0][0].trace.hits} == {"the query", '"blaze?"'}


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        (ConnectionError("no route"), "no phrasings were generated: ConnectionError: no route"),
        ("", "no phrasings were generated: nothing usable in the answer ''"),
        ("1. FIRE?\n---", "no phrasings were generated: nothing usable in the answer '1. FIRE?\\n---'"),
        (None, "no phrasings were generated: TypeError: the answer must be a text, got None"),
    ],
)
def test_where_the_model_fails_the_query_is_searched_and_the_trace_says_so(answer, note):
    results, _ = found(["fire?"], MultiQuery(base=Scripted(TABLE), generate=never), answer)
    assert spans(results[0]) == [(0, 0, 1 / 61), (1, 1, 1 / 62)]
    assert [each.trace.notes for each in results[0]] == [(note,)] * 2


def test_one_failure_concerns_its_query_only():
    strategy = MultiQuery(base=Scripted(TABLE), phrasings=["burnt?"], generate=never)
    results, _ = found(["fire?", "tea?"], strategy, RuntimeError("busy"), "leaf?")
    assert {each.trace.notes for each in results[0]} == {("no phrasings were generated: RuntimeError: busy",)}
    assert {each.trace.notes for each in results[1]} == {()}
    assert [each.span.first for each in results[0]] == [1, 0]


def test_a_query_that_is_a_vector_has_its_given_phrasings_but_no_generated_ones():
    base = Scripted(TABLE)
    strategy = MultiQuery(base=base, phrasings=["burnt?"], generate=never)
    results, prompts = found([Query(vector=(1.0, 0.0)), Query("tea?", (0.5, 0.5))], strategy, "leaf?")
    assert [prompt.splitlines()[-1] for prompt in prompts] == ["Question: tea?"]
    assert base.asked[0][0][:2] == [Query(vector=(1.0, 0.0)), Query("burnt?")]
    assert spans(results[0]) == [(1, 1, 1 / 2 / 61), (7, 7, 1 / 2 / 61)]
    assert results[0][0].trace.notes == ("no phrasings were generated: the query is a vector",)
    # No model is asked about nothing.
    assert found([Query(vector=(1.0, 0.0))], strategy)[1] == []


def test_no_more_come_back_than_were_asked_for():
    results, _ = found(["fire?"], MultiQuery(base=Scripted(TABLE), phrasings=["blaze?"]), context=RetrievalContext(2))
    assert [each.span.first for each in results[0]] == [1, 0]


def test_leaves_stay_leaves_and_spans_that_overlap_are_united():
    assert not MultiQuery(phrasings=["blaze?"]).finds_spans
    AutoMerging(base=MultiQuery(phrasings=["blaze?"]))
    assert MultiQuery(base=SentenceWindow(), phrasings=["blaze?"]).finds_spans
    with pytest.raises(InvalidArgument, match="base must be a strategy that finds single leaves"):
        AutoMerging(base=MultiQuery(base=ParentDocument(), phrasings=["blaze?"]))
    window = hits(LEAVES, {0: 0.9})[0]
    windows = [replace(window, span=replace(window.span, last=last), leaf=None) for last in (1, 2)]
    base = Scripted({"fire?": windows[:1], "blaze?": windows[1:]}, finds_spans=True)
    results, _ = found(["fire?"], MultiQuery(base=base, phrasings=["blaze?"]))
    assert spans(results[0]) == [(0, 2, 1 / 2 / 61 + 1 / 2 / 61)]  # both phrasings found it


def test_the_default_base_embeds_all_phrasings_in_one_request():
    asking = MultiQuery(phrasings=["blaze?"]).retrieve([Query("fire?"), Query("tea?")], CONTEXT)
    assert next(asking) == Embed(("fire?", "blaze?", "tea?", "blaze?"))


def test_no_queries_have_no_results():
    assert found([], MultiQuery(base=Scripted({}), generate=never)) == ([], [])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"base": "vector"}, r"base must be a strategy such as Vector\(\), got 'vector'"),
        ({"base": Vector}, "base must be a strategy"),
        ({"phrasings": ["a", " "]}, "a query must be a text that is not blank, or a vector of numbers, got ' '"),
        ({"phrasings": 5}, "phrasings must be a list of texts, vectors or Query values, got 5"),
        ({"phrasings": [5]}, "a query must be a text that is not blank, or a vector of numbers, got 5"),
        ({"phrasings": [[float("nan")]]}, "a query's vector must be of finite 32-bit numbers"),
        ({"generate": "gpt"}, "generate must be a function from a prompt to a text, got 'gpt'"),
        ({"generate": asyncio.sleep}, "generate must be a function that is not awaited, got .*: that is for agenerate"),
        ({"generate": never, "agenerate": 3}, "agenerate must be a function from a prompt to a text, got 3"),
        ({"agenerate": never}, "agenerate must have generate beside it"),
        ({}, "MultiQuery must have a language model or phrasings, got neither, .*: give llm=.*, or phrasings="),
        ({"phrasings": None}, "MultiQuery must have a language model or phrasings"),
        ({"phrasings": [], "include_original": 1}, "include_original must be True or False, got 1"),
        ({"count": 0}, "count must be a whole number >= 1, got 0"),
        ({"prompt": "Rephrase {question}"}, "prompt must be a text with {question} and {count}"),
        ({"fusion": "relative_score"}, "fusion must be one of 'rrf', 'maximum', got 'relative_score'"),
    ],
)
def test_options_out_of_range_are_refused(wrong, message):
    with pytest.raises(InvalidArgument, match=message):
        MultiQuery(**wrong)


def test_a_multi_query_is_a_value():
    made = MultiQuery(phrasings=["a", [1, 0]], generate=never)
    assert made == MultiQuery(phrasings=(Query("a"), Query(vector=(1.0, 0.0))), generate=never)
    assert hash(made)


SCORED = st.dictionaries(st.integers(0, 11), st.integers(1, 9).map(float), max_size=6).map(
    lambda scores: hits(LEAVES, scores)
)


@examples(60)
@given(st.lists(SCORED, min_size=2, max_size=4), st.sampled_from(["rrf", "maximum"]), st.data())
def test_the_order_of_the_phrasings_does_not_matter(lists, fusion, data):
    table = {str(number): rows for number, rows in enumerate(lists)}
    phrasings = [text for text in table if text != "0"]
    here, there = (
        spans(found(["0"], MultiQuery(base=Scripted(table), phrasings=order, fusion=fusion))[0][0])
        for order in (phrasings, data.draw(st.permutations(phrasings)))
    )
    assert here == there

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import (
    AutoMerging,
    HostRetriever,
    Hybrid,
    Index,
    InvalidArgument,
    ParentDocument,
    RelevantSegments,
    Router,
    SentenceWindow,
    Vector,
)
from leafspan.spans import parents_of
from leafspan.strategies import Ensemble, RetrievalContext, RunStrategies, StrategyRun
from leafspan.strategies._fuse import FUSIONS, Ranked, fuse, shares_of
from leafspan.trace import Contribution, Fused, TracedHit, United
from leafspan.values import Query
from tests.corpus import QUESTIONS
from tests.profiles import examples
from tests.strategies.scoring.fusions import (
    distribution_based_fusion,
    maximum_fusion,
    reciprocal_rank_fusion,
    relative_score_fusion,
)
from tests.word_trees import hit, hits, spans, tree

LEAVES = tree(4, 4, 4)
QUERY = Query("What?")
CONTEXT = RetrievalContext(10)


def outside(name: str = "theirs") -> HostRetriever:
    return HostRetriever(name, lambda question: [], None)


def by(source, scores):
    """These leaves, found by a source."""
    return [
        replace(each, trace=replace(each.trace, hits=(replace(each.trace.hits[0], source=source),)))
        for each in hits(LEAVES, scores)
    ]


def answered(ensemble, *answers, queries=(QUERY,), context=CONTEXT):
    """The results for each query, where the retrievers answer so."""
    asking = ensemble.retrieve(queries, context)
    request = next(asking)
    assert isinstance(request, RunStrategies)
    assert len(request.runs) == len(answers)
    with pytest.raises(StopIteration) as stop:
        asking.send(list(answers))
    return stop.value.value


TWO = (Vector(), outside())
ONE, OTHER = by("vector", {0: 0.9, 1: 0.8, 2: 0.5}), by("theirs", {2: 5.0, 3: 2.0})


def test_all_retrievers_are_asked_at_once_for_the_same():
    queries = [QUERY, Query("Why?")]
    request = next(Ensemble(retrievers=TWO).retrieve(queries, CONTEXT))
    assert request == RunStrategies((StrategyRun(TWO[0], queries, CONTEXT), StrategyRun(TWO[1], queries, CONTEXT)))


def test_each_retriever_is_asked_for_at_least_min_candidates_and_has_its_timeout():
    asked = next(Ensemble(retrievers=TWO, min_candidates=50, timeout=2).retrieve([QUERY], RetrievalContext(10, words=7)))
    assert [run.context for run in asked.runs] == [RetrievalContext(50, words=7)] * 2
    assert [run.timeout for run in asked.runs] == [2, 2]
    asked = next(Ensemble(retrievers=TWO, min_candidates=50, timeout=(None, 0.5)).retrieve([QUERY], RetrievalContext(60)))
    assert [run.context.candidates for run in asked.runs] == [60, 60]
    assert [run.timeout for run in asked.runs] == [None, 0.5]


def test_leaves_are_fused_by_their_ranks():
    assert spans(answered(Ensemble(retrievers=TWO), [ONE], [OTHER])[0]) == [
        (2, 2, 0.5 / 63 + 0.5 / 61),
        (0, 0, 0.5 / 61),
        (1, 1, 0.5 / 62),
        (3, 3, 0.5 / 62),
    ]
    assert spans(answered(Ensemble(retrievers=TWO, weights=(3, 1), rank_constant=0), [ONE], [OTHER])[0])[0] == (
        0,
        0,
        0.75 / 1,
    )


def test_leaves_are_fused_by_their_relative_scores():
    found = answered(Ensemble(retrievers=TWO, fusion="relative_score", weights=(1, 3)), [ONE], [OTHER])[0]
    assert spans(found) == [
        (2, 2, 0.25 * 0 + 0.75 * 1),
        (0, 0, 0.25 * 1),
        (1, 1, pytest.approx(0.25 * (0.8 - 0.5) / (0.9 - 0.5))),
        (3, 3, 0.75 * 0),
    ]


def test_the_maximum_is_the_best_of_the_retrievers_own_scores():
    assert spans(answered(Ensemble(retrievers=TWO, fusion="maximum"), [ONE], [OTHER])[0]) == [
        (2, 2, 5.0),
        (3, 3, 2.0),
        (0, 0, 0.9),
        (1, 1, 0.8),
    ]
    weighted = answered(Ensemble(retrievers=TWO, fusion="maximum", weights=(1, 0.1)), [ONE], [OTHER])[0]
    assert spans(weighted)[1:3] == [(1, 1, 0.8), (2, 2, 5.0 * 0.1)]


def test_each_query_has_its_own_results():
    found = answered(Ensemble(retrievers=TWO), [ONE, []], [OTHER, by("theirs", {7: 1.0})], queries=[QUERY, Query("Why?")])
    assert [len(row) for row in found] == [4, 1]
    assert spans(found[1]) == [(7, 7, 0.5 / 61)]
    assert answered(Ensemble(retrievers=TWO), [[]], [[]]) == [[]]
    assert answered(Ensemble(retrievers=TWO), [], [], queries=[]) == []


def test_no_more_come_back_than_were_asked_for():
    found = answered(Ensemble(retrievers=TWO, min_candidates=10), [ONE], [OTHER], context=RetrievalContext(2))[0]
    assert [each.span.first for each in found] == [2, 0]


def test_a_leaf_is_still_a_leaf_so_that_it_can_be_merged_or_widened():
    ensemble = Ensemble(retrievers=TWO)
    assert not ensemble.finds_spans
    found = answered(ensemble, [ONE], [OTHER])[0]
    assert [(each.leaf, each.words, each.metadata) for each in found[:2]] == [
        (LEAVES[2], 1, {"key": "value"}),
        (LEAVES[0], 1, {"key": "value"}),
    ]
    assert AutoMerging(base=ensemble).base == ensemble


@pytest.mark.parametrize("spanning", [SentenceWindow(), AutoMerging(), Ensemble(retrievers=(Vector(), ParentDocument()))])
def test_an_ensemble_with_a_retriever_that_finds_spans_finds_spans(spanning):
    assert Ensemble(retrievers=(Vector(), spanning)).finds_spans
    with pytest.raises(InvalidArgument, match="base must be a strategy that finds single leaves"):
        SentenceWindow(base=Ensemble(retrievers=(spanning, Vector())))


def test_spans_that_overlap_are_one_passage_which_both_retrievers_found():
    parents = parents_of(hits(LEAVES, {0: 0.9, 5: 0.8}), level=1)
    leaves = hits(LEAVES, {1: 0.9, 2: 0.8, 11: 0.7, 6: 0.6})
    found = answered(Ensemble(retrievers=(ParentDocument(), Vector())), [parents], [leaves])[0]
    # The second retriever found leaves 0 to 3 first and second, which counts once, leaf 11 third and leaves 4 to 7 fourth.
    assert spans(found) == [(0, 3, 0.5 / 61 + 0.5 / 61), (4, 7, 0.5 / 62 + 0.5 / 64), (11, 11, 0.5 / 63)]
    assert [each.words for each in found] == [4, 4, 1]
    assert [each.leaf for each in found] == [None, None, LEAVES[11]]
    contributions = Contribution("parent document", 1, 0.9, 0.5 / 61, 0.5), Contribution("vector", 1, 0.9, 0.5 / 61, 0.5)
    assert found[0].trace.fused == (Fused(0, 3, "rrf", contributions, 0.5 / 61 + 0.5 / 61),)
    assert found[0].trace.united == (United(0, 3, 3),)


def test_the_same_span_in_both_lists_is_one_with_any_anchor():
    parents = parents_of(hits(LEAVES, {2: 0.9}), level=1)
    elsewhere = [replace(parents[0], span=replace(parents[0].span, anchor=(3, LEAVES[3].start)), words=None)]
    found = answered(Ensemble(retrievers=(SentenceWindow(), ParentDocument())), [elsewhere], [parents])[0]
    assert spans(found) == [(0, 3, 0.5 / 61 + 0.5 / 61)]
    assert found[0].words == 4


def test_the_trace_names_retriever_rank_and_share():
    found = answered(Ensemble(retrievers=TWO, names=("meaning", "words")), [ONE], [OTHER])[0]
    both = found[0].trace
    assert both.hits == (TracedHit(2, 0.5, "vector"), TracedHit(2, 5.0, "theirs"))
    contributions = (Contribution("meaning", 3, 0.5, 0.5 / 63, 0.5), Contribution("words", 1, 5.0, 0.5 / 61, 0.5))
    assert both.fused == (Fused(2, 2, "rrf", contributions, 0.5 / 63 + 0.5 / 61),)
    assert both.explain() == [
        "vector found leaf 2 (score 0.500)",
        "theirs found leaf 2 (score 5.000)",
        "leaf 2: rrf gave 0.016 = 0.008 from meaning (rank 3, weight 0.50) + 0.008 from words (rank 1, weight 0.50)",
    ]
    assert found[1].trace.fused[0].contributions == (Contribution("meaning", 1, 0.9, 0.5 / 61, 0.5),)


def test_the_best_contributes_all_of_a_maximum():
    found = answered(Ensemble(retrievers=TWO, fusion="maximum"), [ONE], [OTHER])[0]
    assert found[0].trace.fused[0].contributions == (
        Contribution("vector", 3, 0.5, 0.0),
        Contribution("theirs", 1, 5.0, 5.0),
    )


@pytest.mark.parametrize(
    ("retrievers", "names"),
    [
        ((Vector(), outside()), ["vector", "theirs"]),
        ((Vector(), SentenceWindow(), Vector(k=3)), ["vector 1", "sentence window", "vector 2"]),
        ((AutoMerging(), type("BM25", (Vector,), {})()), ["auto merging", "BM25"]),
    ],
)
def test_retrievers_are_named_after_their_classes(retrievers, names):
    found = answered(Ensemble(retrievers=retrievers), *([by("vector", {0: 1.0})] for _ in retrievers))[0]
    assert [each.source for each in found[0].trace.fused[0].contributions] == names


# Retrievers that fail


def test_a_retriever_that_fails_is_named_by_the_error_that_is_raised():
    error = RuntimeError("broken")
    with pytest.raises(RuntimeError, match=r"broken\nretriever 2 \(theirs\) of the ensemble failed") as raised:
        answered(Ensemble(retrievers=TWO), [ONE], error)
    assert raised.value is error


def test_a_retriever_that_fails_is_left_out_on_request_and_the_trace_says_so():
    ensemble = Ensemble(retrievers=(*TWO, Vector()), weights=(3, 8, 1), on_failure="skip")
    found = answered(ensemble, [ONE], TimeoutError("not done after 2 seconds"), [OTHER])[0]
    assert spans(found)[:2] == [(2, 2, 0.75 / 63 + 0.25 / 61), (0, 0, 0.75 / 61)]
    for each in found:
        assert each.trace.explain()[-1] == "retriever 2 (theirs) was left out: TimeoutError: not done after 2 seconds"


def test_a_mistake_of_the_caller_is_raised_all_the_same():
    ensemble = Ensemble(retrievers=(*TWO, Vector()), on_failure="skip")
    mistake = InvalidArgument("theirs needs the query as text")
    with pytest.raises(
        InvalidArgument,
        match=r"as text\nretriever 1 .* failed too: ValueError: odd\nretriever 2 \(theirs\) of the ensemble failed",
    ):
        answered(ensemble, ValueError("odd"), mistake, [ONE])


def test_where_all_fail_the_first_error_is_raised_and_names_the_others():
    with pytest.raises(
        RuntimeError, match=r"a\nretriever 1 \(vector\).* failed\nretriever 2 \(theirs\) .* failed too: ValueError: b"
    ):
        answered(Ensemble(retrievers=TWO, on_failure="skip"), RuntimeError("a"), ValueError("b"))


# Options


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"retrievers": ()}, r"retrievers must be two or more strategies, got \(\)"),
        ({"retrievers": (Vector(),)}, "retrievers must be two or more strategies"),
        ({"retrievers": "ab"}, "retrievers must be two or more strategies, got 'ab'"),
        ({"retrievers": Vector()}, "retrievers must be two or more strategies"),
        ({"retrievers": (Vector(), Vector)}, r"retriever 2 must be a strategy such as Vector\(\), got <class"),
        ({"retrievers": ("vector", Vector())}, "retriever 1 must be a strategy .* got 'vector'"),
        ({"weights": (1,)}, r"weights must be a list of numbers, one for each of the 2 retrievers, got \(1,\)"),
        ({"weights": 5}, "weights must be a list of numbers, one for each of the 2 retrievers, got 5"),
        ({"weights": (1, 0)}, "weights must be a number > 0, got 0"),
        ({"weights": (1, float("nan"))}, "weights must be a number > 0, got nan"),
        ({"fusion": "best"}, "fusion must be one of 'rrf', 'relative_score', 'distribution_based', 'maximum', got 'best'"),
        ({"rank_constant": -1}, "constant must be a number >= 0, got -1"),
        ({"timeout": 0}, "timeout must be a number of seconds > 0, got 0"),
        ({"timeout": "1"}, "timeout must be"),
        (
            {"timeout": (1, None, 1)},
            "timeout must be a number of seconds, or a list of such, one for each of the 2 retrievers",
        ),
        ({"timeout": (1, float("inf"))}, "timeout must be a number of seconds > 0, got inf"),
        ({"timeout": (1, True)}, "timeout must be a number of seconds > 0, got True"),
        ({"min_candidates": 0}, "min_candidates must be a whole number >= 1, got 0"),
        ({"on_failure": "ignore"}, "on_failure must be one of 'raise', 'skip', got 'ignore'"),
        ({"names": ("a",)}, "names must be a list of texts, one for each of the 2 retrievers"),
        ({"names": ("a", " ")}, "names must be texts that are not blank"),
        ({"names": ("a", "a")}, "names must differ from each other"),
    ],
)
def test_options_out_of_range_are_refused(wrong, message):
    with pytest.raises(InvalidArgument, match=message):
        Ensemble(**{"retrievers": TWO, **wrong})


def test_an_ensemble_is_a_value():
    made = Ensemble(retrievers=[Vector(), SentenceWindow()], weights=[1, 2], timeout=[None, 3], names=["a", "b"])
    assert made == Ensemble(retrievers=(Vector(), SentenceWindow()), weights=(1, 2), timeout=(None, 3), names=("a", "b"))
    assert hash(made)


# Laws


@st.composite
def rankings(draw):
    """Lists of leaves with scores, and a weight for each."""
    scores = st.dictionaries(st.integers(0, 11), st.integers(-8, 8).map(float), max_size=8)
    drawn = draw(st.lists(scores, min_size=2, max_size=4))
    return [Ranked(str(n), hits(LEAVES, each), draw(st.integers(1, 5))) for n, each in enumerate(drawn)]


OF_KEYS = dict(
    zip(
        FUSIONS,
        [reciprocal_rank_fusion, relative_score_fusion, distribution_based_fusion, maximum_fusion],
        strict=True,
    )
)


@examples(150)
@given(rankings(), st.sampled_from(FUSIONS))
def test_scores_match_the_fusion_of_ids_and_the_sum_of_the_shares(lists, fusion):
    fused = fuse(lists, fusion=fusion)
    keyed = [[(each.span.id, each.score) for each in ranked.candidates] for ranked in lists]
    expected = dict(OF_KEYS[fusion](keyed, weights=[ranked.weight for ranked in lists]))
    assert {each.span.id: each.score for each in fused} == pytest.approx(expected, abs=1e-12)
    for each in fused:
        [step] = each.trace.fused
        assert step.score == each.score == pytest.approx(sum(each.share for each in step.contributions), abs=1e-12)
    assert fused == sorted(fused, key=lambda each: each.order)


@examples(100)
@given(rankings(), st.sampled_from(FUSIONS), st.data())
def test_the_order_of_the_retrievers_changes_no_score_and_no_place(lists, fusion, data):
    other = fuse(data.draw(st.permutations(lists)), fusion=fusion)
    assert spans(other) == spans(fuse(lists, fusion=fusion))


@st.composite
def rankings_of_spans(draw):
    """Lists of spans of any length, also such that overlap within a list, best first, and a weight for each."""
    drawn = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 4), st.integers(-8, 8).map(float)), max_size=6)
    lists = []
    for number, each in enumerate(draw(st.lists(drawn, min_size=2, max_size=4))):
        found = [
            replace(one, span=replace(one.span, last=min(11, first + more)), leaf=one.leaf if more == 0 else None)
            for first, more, score in sorted(each, key=lambda item: -item[2])
            for one in hits(LEAVES, {first: score})
        ]
        lists.append(Ranked(str(number), found, draw(st.integers(1, 5))))
    return lists


@examples(200)
@given(rankings_of_spans(), st.sampled_from(FUSIONS))
def test_a_passage_gets_from_each_retriever_the_best_share_of_a_span_that_overlaps_it(lists, fusion):
    fused = fuse(lists, fusion=fusion)
    total = 1 if fusion == "maximum" else sum(ranked.weight for ranked in lists)
    for each in fused:
        shares = []
        for ranked in lists:
            scores = {found.span.id: found.score for found in reversed(ranked.candidates)}
            scores = {found.span.id: scores[found.span.id] for found in ranked.candidates}  # of their first places
            keyed = zip(scores, shares_of(list(scores.values()), ranked.weight / total, fusion), strict=True)
            within = {found.span.id for found in ranked.candidates if each.span.first <= found.span.first <= each.span.last}
            shares += [max(share for id_, share in keyed if id_ in within)] if within else []
        [step] = each.trace.fused
        expected = max(shares) if fusion == "maximum" else sum(shares)
        assert step.score == each.score == pytest.approx(expected, abs=1e-12)
        assert sum(part.share for part in step.contributions) == pytest.approx(expected, abs=1e-12)
        assert len(step.contributions) == len(shares)
    leaves = [leaf for each in fused for leaf in range(each.span.first, each.span.last + 1)]
    assert sorted(leaves) == sorted(
        {leaf for ranked in lists for each in ranked.candidates for leaf in range(each.span.first, each.span.last + 1)}
    )


@examples(100)
@given(rankings(), st.integers(0, 11), st.integers(1, 4), st.sampled_from(FUSIONS))
def test_what_all_retrievers_have_first_is_first_with_any_length(lists, leaf, size, fusion):
    long = [replace(each, score=10.0, leaf=None) for each in hits(LEAVES, {max(0, leaf - size): 10.0})]
    long = [replace(each, span=replace(each.span, last=min(11, leaf + size))) for each in long]
    best = hits(LEAVES, {leaf: 10.0})
    first = [
        replace(ranked, candidates=[*(best if number % 2 else long), *ranked.candidates], weight=1)
        for number, ranked in enumerate(lists)
    ]
    found = fuse(first, fusion=fusion)[0].span
    assert found.first <= leaf <= found.last


@pytest.mark.parametrize("strategies", [(RelevantSegments(), Hybrid()), (SentenceWindow(), Vector(), AutoMerging())])
@pytest.mark.parametrize("fusion", FUSIONS)
def test_what_all_strategies_have_first_is_first(shared_index: Index, strategies, fusion):
    for question in QUESTIONS:
        firsts = [shared_index.retrieve(question, strategy, k=5)[0] for strategy in strategies]
        start, end = max(each.start for each in firsts), min(each.end for each in firsts)
        if len({each.document_id for each in firsts}) > 1 or start >= end:
            continue
        for several in (
            Ensemble(retrievers=strategies, fusion=fusion),
            Router(retrievers=dict(zip("abc", strategies, strict=False)), choose=lambda _: None, fusion=fusion),
        ):
            best = shared_index.retrieve(question, several, k=5)[0]
            assert (best.document_id, best.start <= start < end <= best.end) == (firsts[0].document_id, True)


def test_equal_scores_come_in_the_order_of_documents_and_then_of_the_text():
    there = [hit(leaf, 1.0) for leaf in tree(3, document_id="a")[:1]]
    here = hits(LEAVES, {3: 1.0})
    assert [each.span.document_id for each in fuse([Ranked("x", here), Ranked("y", there)], fusion="maximum")] == ["a", "d"]

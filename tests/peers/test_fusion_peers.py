"""Fusion beside LangChain's, LlamaIndex's and Haystack's, and Chroma's formula, over the same rankings.

``tests/strategies/test_ensemble.py`` compares ``Ensemble`` with the same functions.

Two rankings give the same floats. With more, the last digits of a sum depend on what is added first, except in ours.

Calls that match other libraries, for rankings without repeated keys:

=====================================================  ================================================================
LangChain ``EnsembleRetriever``                        ``reciprocal_rank_fusion(rankings)``
... with ``weights=w, c=c``                            ``reciprocal_rank_fusion(rankings, weights=w,
                                                       normalize_weights=False, rank_constant=c)``
LlamaIndex ``QueryFusionRetriever``,                   ``reciprocal_rank_fusion(rankings, normalize_weights=False,
``reciprocal_rerank`` (ignores weights)                rank_constant=59)``
... ``relative_score``, ``retriever_weights=w``        ``relative_score_fusion(rankings, weights=w,
                                                       equal_scores="by_sign")``
... ``dist_based_score``, ``retriever_weights=w``      ``distribution_based_fusion(rankings, weights=w,
                                                       equal_scores="by_sign")``
... either, ``num_queries=n``                          ``weights=w * n``, for the rankings of one query after another
... ``simple``                                         ``maximum_fusion(rankings)``
Haystack ``DocumentJoiner``, ``weights=w``,            ``reciprocal_rank_fusion(rankings, weights=w, as_share=True)``
``reciprocal_rank_fusion``
... ``merge``                                          ``sum_fusion(rankings, weights=w)``
... ``distribution_based_rank_fusion``                 ``maximum_fusion([three_sigma(r, equal_scores="as_is")
                                                       for r in rankings])``
... ``concatenate``                                    ``maximum_fusion(rankings)``
Chroma Cloud ``Rrf(weights=w, k=k, normalize=n)``      ``reciprocal_rank_fusion(rankings, weights=w,
                                                       normalize_weights=n, rank_constant=k - 1)``, with the sign turned
=====================================================  ================================================================

Some of these libraries count ranks from 0, others from 1: rank r from 0 with rank_constant k is rank r + 1 with
rank_constant k - 1. Haystack (except for ``concatenate``) takes 0 for a missing score, and so does LlamaIndex where it does
not fail: pass 0 to do the same. Chroma drops a record that is not in all rankings, unless its ``Knn`` has a default. Here
such a record gets no share from the rankings that lack it.
"""

from copy import deepcopy
from math import inf

import pytest
from chromadb.execution.expression.operator import Knn, Rrf
from haystack import Document as HaystackDocument
from haystack.components.joiners import DocumentJoiner
from hypothesis import given
from hypothesis import strategies as st
from langchain_classic.retrievers.ensemble import EnsembleRetriever
from langchain_core.documents import Document as LangChainDocument
from langchain_core.retrievers import BaseRetriever as LangChainRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import BaseRetriever as LlamaRetriever
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, TextNode

from tests.profiles import examples
from tests.strategies.scoring.fusions import (
    distribution_based_fusion,
    maximum_fusion,
    reciprocal_rank_fusion,
    relative_score_fusion,
    sum_fusion,
    three_sigma,
)

KEYS = st.sampled_from("abcdefghij")
SCORES = st.floats(-100, 100) | st.integers(-8, 8).map(float)
WEIGHTS = st.floats(0.01, 10)


@st.composite
def weighted_rankings(draw, sizes=(1, 2, 3, 4)):
    """Rankings, none with a key twice, and a weight for each."""
    rankings = [
        sorted(draw(st.dictionaries(KEYS, SCORES, max_size=10)).items(), key=lambda pair: -pair[1])
        for _ in range(draw(st.sampled_from(sizes)))
    ]
    return rankings, [draw(WEIGHTS) for _ in rankings]


TWO_RANKINGS = weighted_rankings((1, 2))


def assert_same(ours, theirs):
    """The same keys with the same scores, up to rounding, and in the same order, except ties by rounding."""
    assert dict(ours) == pytest.approx(dict(theirs), rel=1e-12, abs=1e-12)
    by_ours = [dict(ours)[key] for key, _ in theirs]
    assert by_ours == pytest.approx(sorted(by_ours, reverse=True), rel=1e-12, abs=1e-12)


# LangChain


class NoLangChainRetriever(LangChainRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        raise NotImplementedError


def langchain(rankings, weights=None, **options):
    """Keys, best first: LangChain keeps the scores to itself."""
    retrievers = [NoLangChainRetriever() for _ in rankings]
    ensemble = EnsembleRetriever(retrievers=retrievers, weights=weights, **options)
    found = [[LangChainDocument(page_content=key) for key, _ in ranking] for ranking in rankings]
    return [document.page_content for document in ensemble.weighted_reciprocal_rank(found)]


def keys(fused):
    return [key for key, _ in fused]


@examples(100)
@given(TWO_RANKINGS, st.integers(0, 100))
def test_two_rankings_have_the_order_of_langchain_ties_included(drawn, constant):
    rankings, weights = drawn
    ours = reciprocal_rank_fusion(rankings, weights=weights, normalize_weights=False, rank_constant=constant)

    assert keys(ours) == langchain(rankings, weights, c=constant)
    assert keys(reciprocal_rank_fusion(rankings)) == langchain(rankings)


@examples(100)
@given(weighted_rankings())
def test_more_rankings_have_the_order_of_langchain_but_for_ties_by_rounding(drawn):
    rankings, weights = drawn
    ours = reciprocal_rank_fusion(rankings, weights=weights, normalize_weights=False)

    assert_same(ours, [(key, dict(ours)[key]) for key in langchain(rankings, weights)])


def test_what_ties_on_paper_ties_where_langchain_goes_by_the_last_digit():
    # Each of the three keys comes first, second and third once.
    rankings = [[(key, None) for key in keys] for keys in ("abc", "bca", "cab")]

    assert langchain(rankings) == ["b", "a", "c"]
    assert reciprocal_rank_fusion(rankings) == [(key, pytest.approx((1 / 61 + 1 / 62 + 1 / 63) / 3)) for key in "abc"]


def test_a_key_counts_once_a_ranking_where_langchain_adds_up_each_time_it_comes():
    rankings = [[("b", None), ("a", None), ("a", None)]]

    assert langchain(rankings) == ["a", "b"]
    assert keys(reciprocal_rank_fusion(rankings)) == ["b", "a"]


# LlamaIndex


class FixedRetriever(LlamaRetriever):
    """Finds one ranking for each query, in their order."""

    def __init__(self, *rankings):
        super().__init__()
        self.rankings = list(rankings)

    def _retrieve(self, query_bundle):
        # The fusion changes the scores of what it is given.
        ranking = deepcopy(self.rankings[int(query_bundle.query_str) - 1])
        return [NodeWithScore(node=TextNode(text=key), score=score) for key, score in ranking]


class Numbers(MockLLM):
    """Writes the queries 2, 3 and 4 for the query 1."""

    def complete(self, *args, **kwargs):
        response = super().complete(*args, **kwargs)
        response.text = "2\n3\n4"
        return response


def llamaindex(mode, rankings, weights=None, queries=1):
    """What the fusion finds, where each retriever has a ranking for each of the queries."""
    retrievers = [FixedRetriever(*rankings[i :: len(rankings) // queries]) for i in range(len(rankings) // queries)]
    fusion = QueryFusionRetriever(
        retrievers,
        llm=Numbers(),
        mode=mode,
        num_queries=queries,
        use_async=False,
        similarity_top_k=100,
        retriever_weights=weights,
    )
    return [(found.node.get_content(), found.score) for found in fusion.retrieve("1")]


@examples(50)
@given(TWO_RANKINGS)
def test_reciprocal_ranks_of_two_rankings_are_llamaindexs_to_the_last_digit(drawn):
    rankings, weights = drawn
    ours = reciprocal_rank_fusion(rankings, normalize_weights=False, rank_constant=59)

    assert ours == llamaindex("reciprocal_rerank", rankings) == llamaindex("reciprocal_rerank", rankings, weights)


@examples(50)
@given(TWO_RANKINGS)
def test_relative_scores_of_two_rankings_are_llamaindexs_to_the_last_digit(drawn):
    rankings, weights = drawn

    assert relative_score_fusion(rankings, equal_scores="by_sign") == llamaindex("relative_score", rankings)
    assert relative_score_fusion(rankings, weights=weights, equal_scores="by_sign") == llamaindex(
        "relative_score", rankings, weights
    )


def told_apart(rankings):
    """Only the first of equal scores, which LlamaIndex may take to deviate from their mean: see below."""
    return [ranking if len({score for _, score in ranking}) > 1 else ranking[:1] for ranking in rankings]


@examples(50)
@given(TWO_RANKINGS)
def test_scores_by_distribution_of_two_rankings_are_llamaindexs_to_the_last_digit(drawn):
    rankings, weights = told_apart(drawn[0]), drawn[1]

    assert distribution_based_fusion(rankings, equal_scores="by_sign") == llamaindex("dist_based_score", rankings)
    assert distribution_based_fusion(rankings, weights=weights, equal_scores="by_sign") == llamaindex(
        "dist_based_score", rankings, weights
    )


@examples(50)
@given(weighted_rankings())
def test_the_best_scores_are_llamaindexs_to_the_last_digit(drawn):
    rankings, _ = drawn

    assert maximum_fusion(rankings) == llamaindex("simple", rankings)


@examples(50)
@given(weighted_rankings((4, 6, 8)))
def test_more_queries_are_more_rankings_in_llamaindex(drawn):
    rankings, weights = told_apart(drawn[0]), drawn[1][:2]
    queries = len(rankings) // 2

    def theirs(mode, weights=None):
        return llamaindex(mode, rankings, weights, queries)

    assert_same(reciprocal_rank_fusion(rankings, normalize_weights=False, rank_constant=59), theirs("reciprocal_rerank"))
    for mode, fuse in ("relative_score", relative_score_fusion), ("dist_based_score", distribution_based_fusion):
        assert_same(fuse(rankings, weights=weights * queries, equal_scores="by_sign"), theirs(mode, weights))
    assert maximum_fusion(rankings) == theirs("simple")


def test_equal_scores_are_equal_where_llamaindex_goes_by_a_deviation_that_is_rounding():
    # The mean of three times 0.1 is 0.10000000000000002, of three times 0.7 it is 0.6999999999999998.
    for score, theirs in (0.1, 1 / 3), (0.7, 2 / 3), (0.3, 1.0):
        rankings = [[("a", score), ("b", score), ("c", score)]]
        assert llamaindex("dist_based_score", rankings) == [(key, pytest.approx(theirs)) for key in "abc"]
        assert distribution_based_fusion(rankings) == [(key, 0.5) for key in "abc"]
        assert distribution_based_fusion(rankings, equal_scores="by_sign") == [(key, 1.0) for key in "abc"]


@pytest.mark.parametrize(
    ("mode", "fuse"), [("relative_score", relative_score_fusion), ("dist_based_score", distribution_based_fusion)]
)
def test_no_score_is_a_low_one_where_llamaindex_fails(mode, fuse):
    rankings = [[("a", 0.9), ("b", 0.5), ("c", None)]]

    with pytest.raises(TypeError):
        llamaindex(mode, rankings)
    assert keys(fuse(rankings)) == ["a", "b", "c"]


def test_equal_scores_below_0_are_something_found_where_llamaindex_takes_them_for_nothing():
    rankings = [[("a", -0.5)], [("b", 3.0), ("c", 2.0)]]

    assert llamaindex("relative_score", rankings) == [("b", 0.5), ("a", 0.0), ("c", 0.0)]
    assert relative_score_fusion(rankings) == [("a", 0.5), ("b", 0.5), ("c", 0.0)]


# Haystack


def haystack(mode, rankings, weights=None):
    found = [[HaystackDocument(id=key, score=score) for key, score in ranking] for ranking in rankings]
    joined = DocumentJoiner(join_mode=mode, weights=weights).run(found)["documents"]
    return [(document.id, document.score) for document in joined]


@examples(100)
@given(weighted_rankings())
def test_reciprocal_ranks_are_haystacks(drawn):
    rankings, weights = drawn

    assert_same(
        reciprocal_rank_fusion(rankings, weights=weights, as_share=True),
        haystack("reciprocal_rank_fusion", rankings, weights),
    )
    assert_same(reciprocal_rank_fusion(rankings, as_share=True), haystack("reciprocal_rank_fusion", rankings))


@examples(100)
@given(TWO_RANKINGS)
def test_sums_of_two_rankings_are_haystacks_to_the_last_digit(drawn):
    rankings, weights = drawn

    assert sum_fusion(rankings, weights=weights) == haystack("merge", rankings, weights)
    assert sum_fusion(rankings) == haystack("merge", rankings)


@examples(100)
@given(weighted_rankings())
def test_sums_of_more_rankings_are_haystacks(drawn):
    rankings, weights = drawn

    assert_same(sum_fusion(rankings, weights=weights), haystack("merge", rankings, weights))


@examples(100)
@given(weighted_rankings())
def test_the_best_scores_are_haystacks_to_the_last_digit_as_they_are_and_by_distribution(drawn):
    rankings, _ = drawn
    scaled = [three_sigma(ranking, equal_scores="as_is") for ranking in rankings]

    assert maximum_fusion(rankings) == haystack("concatenate", rankings)
    assert maximum_fusion(scaled) == haystack("distribution_based_rank_fusion", rankings)


@examples(100)
@given(weighted_rankings(), st.sets(KEYS))
def test_with_0_for_what_has_no_score_haystacks_are_the_same(drawn, without):
    rankings, _ = drawn
    theirs = [[(key, None if key in without else score) for key, score in ranking] for ranking in rankings]
    ours = [[(key, 0.0 if key in without else score) for key, score in ranking] for ranking in rankings]

    assert_same(sum_fusion(ours), haystack("merge", theirs))
    scaled = [three_sigma(ranking, equal_scores="as_is") for ranking in ours]
    assert maximum_fusion(scaled) == haystack("distribution_based_rank_fusion", theirs)


# Chroma, whose Rrf only Chroma Cloud computes: here, its expression is evaluated.


def evaluate(expression, places):
    """An expression for a record with these places, from 0, in the rankings; the query of each Knn is its number."""
    [(operator, of)] = expression.items()
    if operator == "$val":
        return of
    if operator == "$knn":
        [number] = of["query"]
        return places[number] if places[number] is not None else of["default"]
    if operator == "$div":
        return evaluate(of["left"], places) / evaluate(of["right"], places)
    terms = [evaluate(term, places) for term in of]
    total = terms[0]
    for term in terms[1:]:
        total = total + term if operator == "$sum" else total * term
    assert operator in {"$sum", "$mul"}
    return total


def chroma(rankings, **options):
    """Lowest first, as Chroma has it; a record that is not in a ranking is last there by far."""
    ranks = [Knn(query=[number], return_rank=True, default=inf) for number in range(len(rankings))]
    expression = Rrf(ranks, **options).to_dict()
    places = {
        key: [keys(ranking).index(key) if key in keys(ranking) else None for ranking in rankings] for key in seen(rankings)
    }
    return sorted(((key, evaluate(expression, at)) for key, at in places.items()), key=lambda pair: pair[1])


def seen(rankings):
    return dict.fromkeys(key for ranking in rankings for key, _ in ranking)


@examples(100)
@given(TWO_RANKINGS, st.integers(1, 100), st.booleans())
def test_reciprocal_ranks_of_two_rankings_are_chromas_to_the_last_digit_with_the_sign_turned(drawn, k, normalize):
    rankings, weights = drawn
    ours = reciprocal_rank_fusion(rankings, weights=weights, normalize_weights=normalize, rank_constant=k - 1)

    assert [(key, -score) for key, score in ours] == chroma(rankings, k=k, weights=weights, normalize=normalize)


@examples(100)
@given(weighted_rankings(), st.booleans())
def test_reciprocal_ranks_of_more_rankings_are_chromas_with_the_sign_turned(drawn, normalize):
    rankings, weights = drawn

    for options in {"weights": weights}, {}:
        ours = reciprocal_rank_fusion(rankings, normalize_weights=normalize, rank_constant=59, **options)
        theirs = chroma(rankings, normalize=normalize, **options)
        assert_same(ours, [(key, -score) for key, score in theirs])

"""leafspan's BM25 beside rank-bm25, with the same digits, and bm25s, which uses 32 bits."""

from __future__ import annotations

import random

import bm25s
import numpy as np
import pytest
import rank_bm25

from leafspan.lexical import BM25Settings, Corpus, best, build_postings

SEEDS = range(25)


def random_corpus(seed):
    """Leaves of common and rare terms, a few of them in most leaves; some leaves are empty."""
    rng = random.Random(seed)
    terms = [f"t{number}" for number in range(60)]
    shares = [1 / (number + 1) for number in range(60)]
    return [rng.choices(terms, shares, k=rng.choice([0, 1, 3, 8, 20, 60])) for _ in range(rng.choice([3, 10, 80, 300]))]


def random_query(seed):
    rng = random.Random(-seed)
    return [f"t{rng.randrange(65)}" for _ in range(rng.randrange(1, 7))] + ["t0"] * rng.randrange(3)


@pytest.mark.parametrize(
    ("variant", "make", "options"),
    [
        ("okapi", rank_bm25.BM25Okapi, {}),
        ("okapi", rank_bm25.BM25Okapi, {"k1": 2.0, "b": 0.3, "epsilon": 0.1}),
        ("bm25l", rank_bm25.BM25L, {}),
        ("bm25l", rank_bm25.BM25L, {"k1": 0.9, "b": 0.95, "delta": 0.8}),
        ("bm25+", rank_bm25.BM25Plus, {}),
        ("bm25+", rank_bm25.BM25Plus, {"k1": 1.2, "b": 0.4, "delta": 0.5}),
    ],
)
def test_scores_match_rank_bm25(variant, make, options):
    settings = BM25Settings(**{"k1": 1.5, "b": 0.75, "variant": variant, **options})
    for seed in SEEDS:
        leaves, query = random_corpus(seed), random_query(seed)
        ours = Corpus([(build_postings(leaves), None)]).score(query, settings=settings)
        theirs = make(leaves, **options).get_scores(query)
        np.testing.assert_allclose(ours.scores, theirs, rtol=1e-9, atol=1e-12, err_msg=f"seed {seed}")


@pytest.mark.parametrize("options", [{}, {"k1": 0.9, "b": 0.4}])
def test_scores_match_bm25s(options):
    settings = BM25Settings(**{"k1": 1.5, "b": 0.75, **options})
    for seed in SEEDS:
        leaves = random_corpus(seed)
        peer = bm25s.BM25(method="lucene", **options)
        peer.index(leaves, show_progress=False)
        query = [term for term in random_query(seed) if term in peer.vocab_dict]  # it fails on terms that it does not know
        ours = Corpus([(build_postings(leaves), None)]).score(query, settings=settings)
        theirs = peer.get_scores(query) if query else np.zeros(len(leaves))
        np.testing.assert_allclose(ours.scores, theirs, rtol=1e-5, atol=1e-6, err_msg=f"seed {seed}")


def test_the_best_have_the_scores_that_bm25s_retrieves():
    leaves, query = random_corpus(4), ["t3", "t9", "t20"]
    peer = bm25s.BM25(method="lucene")
    peer.index(leaves, show_progress=False)
    ours = Corpus([(build_postings(leaves), None)]).score(query, settings=BM25Settings(k1=1.5, b=0.75))
    rows = best(ours, 5, lambda row: row)
    _, theirs = peer.retrieve([query], k=5, show_progress=False)
    np.testing.assert_allclose(ours.scores[rows], theirs[0][: len(rows)], rtol=1e-5)


def test_rank_bm25_also_returns_leaves_that_have_no_term_of_the_query_and_we_do_not():
    leaves = [["a"], ["b"], ["c"], ["d"]]
    assert len(rank_bm25.BM25Okapi(leaves).get_top_n(["a"], leaves, n=3)) == 3
    scores = Corpus([(build_postings(leaves), None)]).score(["a"], settings=BM25Settings(k1=1.5, b=0.75, variant="okapi"))
    assert best(scores, 3, lambda row: row) == [0]

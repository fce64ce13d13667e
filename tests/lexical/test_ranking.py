from __future__ import annotations

import sys
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import InvalidArgument, MissingExtra
from leafspan.lexical import BM25Settings, Corpus, RankBM25, Scores, best, build_postings, merge_postings, score_reached_by
from leafspan.lexical._postings import Postings
from leafspan.lexical._terms import VARIANTS
from tests.profiles import examples

LEAVES = [["a", "b"], ["b", "c", "c", "c"], ["c"], ["d", "d", "d"], []]

_TERM = st.sampled_from(["a", "b", "c", "d", "é", "東", "\udc80", "aa", ""])
_CORPUS = st.lists(st.lists(_TERM, max_size=8), max_size=12)
_SETTINGS = st.builds(
    BM25Settings, k1=st.sampled_from([0, 1.2, 1.5, 2]), b=st.sampled_from([0, 0.75, 1]), variant=st.sampled_from(VARIANTS)
)


@st.composite
def corpora_in_parts(draw):
    """Leaves, which of them are live, and the same leaves in parts with a mask each."""
    leaves = draw(_CORPUS)
    live = np.array(draw(st.lists(st.booleans(), min_size=len(leaves), max_size=len(leaves))), dtype=bool)
    cuts = sorted(draw(st.lists(st.integers(0, len(leaves)), max_size=4)))
    parts = []
    for first, last in zip([0, *cuts], [*cuts, len(leaves)], strict=True):
        mask = live[first:last]
        whole = mask.all() and draw(st.booleans())
        parts.append((build_postings(leaves[first:last]), None if whole else mask))
    return leaves, live, parts


def of(*leaves):
    return Corpus([(build_postings(leaves), None)])


def scores_of(corpus, *terms, **options):
    return corpus.score(terms, settings=BM25Settings(**{"k1": 1.5, "b": 0.75, **options})).scores.tolist()


def same_arrays(found, expected):
    assert list(found) == list(expected)
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name], strict=True)


# Postings


def test_postings_of_a_small_corpus_have_these_arrays():
    arrays = build_postings(iter(LEAVES))
    assert arrays["lengths"].tolist() == [2, 4, 1, 3, 0]
    assert bytes(arrays["words"]) == b"abcd"
    assert arrays["rows"].tolist() == [0, 0, 1, 1, 2, 3]
    assert arrays["row_ends"].tolist() == [0, 1, 3, 5, 6]
    assert arrays["counts"].tolist() == [1, 1, 1, 3, 1, 3]
    assert {name: array.dtype.itemsize for name, array in arrays.items()} == {
        "lengths": 1,
        "starts": 1,
        "readings": 1,
        "words": 1,
        "word_ends": 4,
        "rows": 4,
        "row_ends": 4,
        "counts": 1,
    }


def test_terms_are_counted_by_leaves_and_only_by_the_ones_of_a_mask():
    postings = Postings(build_postings(LEAVES))
    assert postings.frequencies().tolist() == [1, 2, 2, 1]  # a, b, c and d
    assert postings.frequencies(np.array([True, True, False, False, True])).tolist() == [1, 2, 1, 0]


def test_counts_and_lengths_take_as_much_room_as_they_need():
    arrays = build_postings([["a"] * 256, ["b"] * 70_000])
    assert (arrays["counts"].dtype, arrays["lengths"].dtype) == (np.uint32, np.uint32)
    assert merge_postings([(arrays, np.array([True, False]))])["counts"].dtype == np.uint16


@given(_CORPUS)
def test_every_term_is_found_where_it_stands(leaves):
    postings = Postings(build_postings(leaves))
    for term in ["a", "b", "c", "d", "é", "東", "\udc80", "aa", "", "zz", "0", "bb"]:
        expected = [(row, terms.count(term)) for row, terms in enumerate(leaves) if term in terms]
        found = postings.find(term)
        assert ([] if found is None else list(zip(*(part.tolist() for part in found), strict=True))) == expected


@given(corpora_in_parts())
def test_merging_gives_what_building_at_once_gives(corpus):
    leaves, live, parts = corpus
    same_arrays(merge_postings(parts), build_postings([terms for terms, lives in zip(leaves, live, strict=True) if lives]))


# Scores


def test_lucene_scores_are_those_computed_by_hand():
    # 4 leaves with terms and one without: 10 terms in 5 leaves, 2 on average; "c" is in 2 of them.
    idf = log(1 + (5 - 2 + 0.5) / (2 + 0.5))
    assert scores_of(of(*LEAVES), "c") == pytest.approx(
        [0, idf * 3 / (3 + 1.5 * (0.25 + 0.75 * 4 / 2)), idf * 1 / (1 + 1.5 * (0.25 + 0.75 * 1 / 2)), 0, 0]
    )


def test_okapi_scores_are_those_computed_by_hand_with_a_floor_for_a_negative_idf():
    corpus = of(["a", "b"], ["a", "c"], ["a", "d"])
    rare = log(3 - 1 + 0.5) - log(1 + 0.5)
    common = log(3 - 3 + 0.5) - log(3 + 0.5)
    mean = (3 * rare + common) / 4
    assert scores_of(corpus, "a", variant="okapi") == pytest.approx([0.25 * mean] * 3)
    assert scores_of(corpus, "b", variant="okapi") == pytest.approx([rare, 0, 0])


def test_bm25l_scores_are_those_computed_by_hand():
    corpus = of(["a", "a"], ["b", "c"])
    assert scores_of(corpus, "a", variant="bm25l") == pytest.approx(
        [(log(3) - log(1.5)) * 2 * 2.5 * (2 + 0.5) / (1.5 + 2 + 0.5), 0]
    )


def test_bm25_plus_scores_are_those_computed_by_hand_and_give_delta_to_leaves_without_the_term():
    corpus = of(["a", "a"], ["b", "c"])
    scores = corpus.score(["a"], settings=BM25Settings(k1=1.5, b=0.75, variant="bm25+"))
    assert scores.scores.tolist() == pytest.approx([log(3) * (1 + 2 * 2.5 / (1.5 + 2)), log(3) * 1])
    assert scores.present.tolist() == [True, False]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_term_that_stands_twice_in_a_query_counts_twice(variant):
    once, twice = (
        of(*LEAVES).score(terms, settings=BM25Settings(k1=1.5, b=0.75, variant=variant)) for terms in (["c"], ["c", "c"])
    )
    assert twice.scores.tolist() == pytest.approx((2 * once.scores).tolist())
    assert twice.ideal == pytest.approx(2 * once.ideal)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("leaves", [[], [[]], [[], []]])
def test_a_corpus_without_terms_scores_nothing(variant, leaves):
    scores = of(*leaves).score(["a"], settings=BM25Settings(k1=1.5, b=0.75, variant=variant))
    assert scores.scores.tolist() == [0.0] * len(leaves)
    assert not scores.present.any()
    assert not len(best(scores, 3, list))


def test_an_empty_query_finds_nothing():
    scores = of(*LEAVES).score([], settings=BM25Settings(k1=1.5, b=0.75))
    assert (scores.scores.any(), scores.present.any(), scores.ideal) == (False, False, 0)


@given(corpora_in_parts(), st.lists(_TERM, max_size=5), _SETTINGS)
def test_scores_match_an_index_of_the_live_leaves_alone(corpus, query, options):
    leaves, live, parts = corpus
    rebuilt = of(*[terms for terms, lives in zip(leaves, live, strict=True) if lives]).score(query, settings=options)
    found = Corpus(parts).score(query, settings=options)
    assert found.scores[live].tolist() == rebuilt.scores.tolist()
    assert found.present[live].tolist() == rebuilt.present.tolist()
    assert found.ideal == rebuilt.ideal
    assert not found.present[~live].any()
    assert not found.scores[~live].any()


@given(corpora_in_parts(), st.lists(_TERM, max_size=5), _SETTINGS, st.randoms(use_true_random=False))
def test_scores_of_some_leaves_match_an_index_of_these_alone(corpus, query, options, random):
    leaves, live, parts = corpus
    counting = np.array([random.random() < 0.6 for _ in leaves], dtype=bool)
    counted = counting & live
    rebuilt = of(*[terms for terms, counts in zip(leaves, counted, strict=True) if counts])
    searched = Corpus(parts)
    searched.score(query, settings=options)  # what it keeps for all leaves must not be taken for these
    found = searched.score(query, settings=options, counting=counting)
    expected = rebuilt.score(query, settings=options)
    assert found.scores[counted].tolist() == expected.scores.tolist()
    assert found.present.tolist() == (found.present & counted).tolist()
    assert found.present[counted].tolist() == expected.present.tolist()
    assert found.ideal == expected.ideal


@given(_CORPUS, st.lists(_TERM, max_size=5), _SETTINGS)
def test_no_leaf_is_better_than_ideal(leaves, query, options):
    scores = of(*leaves).score(query, settings=options)
    assert scores.scores.max(initial=0) <= scores.ideal * (1 + 1e-12)
    assert of(*leaves).score([*query, "unknown"], settings=options).ideal >= scores.ideal


def test_leaves_that_do_not_count_have_no_part_in_the_average_length():
    corpus = of(["a"], ["a", "b", "b"], ["a"] * 50)
    everything = scores_of(corpus, "a")
    counting = np.array([True, True, False])
    found = corpus.score(["a"], settings=BM25Settings(k1=1.5, b=0.75), counting=counting).scores.tolist()
    # 4 terms in 2 leaves, 2 on average; "a" is in both of them.
    idf = log(1 + (2 - 2 + 0.5) / (2 + 0.5))
    assert found == pytest.approx([idf * 1 / (1 + 1.5 * (0.25 + 0.75 * n / 2)) for n in (1, 3)] + [0])
    assert scores_of(corpus, "a") == everything


@pytest.mark.parametrize("changed", [{"k1": 2}, {"b": 0.1}, {"b": 0}, {"variant": "bm25l"}])
def test_a_query_with_other_settings_has_norms_of_its_own(changed):
    corpus = of(*LEAVES)
    for options in ({}, changed, {}):
        assert scores_of(corpus, "c", "b", **options) == scores_of(of(*LEAVES), "c", "b", **options)


def test_settings_of_one_query_do_not_hold_for_the_next():
    corpus = of(*LEAVES)
    for options in ({"k1": 2}, {"b": 0.1}, {"variant": "bm25l"}, {"variant": "bm25+"}, {}):
        assert scores_of(corpus, "c", "b", **options) == scores_of(of(*LEAVES), "c", "b", **options)


# The best


def ranked(scores, count, order=lambda row: row, present=None):
    present = [True] * len(scores) if present is None else present
    scored = Scores(np.array(scores, dtype=float), np.array(present, dtype=bool), 1.0, 0)
    return best(scored, count, lambda rows: list(map(order, rows))).tolist()


def test_the_best_come_first_and_equal_ones_in_their_order():
    assert ranked([1, 3, 2, 3], 3) == [1, 3, 2]
    assert ranked([1, 3, 2, 3], 3, order=lambda row: -row) == [3, 1, 2]


def test_ties_at_the_last_place_go_by_the_order_too():
    assert ranked([2, 1, 1, 1], 2, order=lambda row: -row) == [0, 3]


def test_leaves_that_are_not_present_are_never_among_the_best():
    assert ranked([5, 0, -1], 3, present=[False, True, True]) == [1, 2]
    assert ranked([5, 1], 0) == []


@given(st.lists(st.tuples(st.integers(-2, 2), st.booleans())), st.integers(0, 12))
def test_the_best_are_the_head_of_all_in_order(leaves, count):
    everything = sorted((-score, -row) for row, (score, present) in enumerate(leaves) if present)
    found = ranked([score for score, _ in leaves], count, lambda row: -row, [present for _, present in leaves])
    assert found == [-row for _, row in everything][:count]


@pytest.mark.parametrize("distinct", [1, 3, 1000])
def test_the_best_of_many_leaves_are_the_same(distinct):
    rng = np.random.default_rng(distinct)
    scores, present = rng.integers(-distinct, distinct, 5000), rng.random(5000) < 0.5
    for count in (1, 24, 77, 79, 3000):
        expected = sorted(np.flatnonzero(present).tolist(), key=lambda row: (-scores[row], -row))[:count]
        assert ranked(scores, count, lambda row: -row, present) == expected


# Settings and errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k1": -1}, "k1 must be a number >= 0, got -1"),
        ({"k1": float("inf")}, "k1 must be a number >= 0, got inf"),
        ({"k1": True}, "k1 must be a number >= 0, got True"),
        ({"b": 1.1}, r"b must be a number in \[0, 1\], got 1.1"),
        ({"b": "0.5"}, "b must be a number"),
        ({"epsilon": float("nan")}, "epsilon must be a number >= 0, got nan"),
        (
            {"variant": "bm25"},
            r"variant must be one of 'lucene', 'okapi', 'bm25l', 'bm25\+', got 'bm25'; did you mean 'bm25l'\?",
        ),
        ({"variant": "bm25l", "delta": -0.5}, "delta must be a number >= 0, got -0.5"),
        ({"delta": 1}, r"delta is for the variants bm25l, bm25\+, got 1 for lucene"),
    ],
)
def test_settings_out_of_their_range_are_errors(options, message):
    with pytest.raises(InvalidArgument, match=message):
        BM25Settings(**options)


def test_a_mask_of_another_length_is_an_error():
    with pytest.raises(InvalidArgument, match="a bool for each of the 5 leaves, got bool of"):
        of(*LEAVES).score(["a"], settings=BM25Settings(), counting=np.ones(4, dtype=bool))
    with pytest.raises(InvalidArgument, match="a bool for each of the 5 leaves, got float64"):
        Corpus([(build_postings(LEAVES), np.ones(5))])


# The library rank-bm25 as the engine


@examples(50)
@given(corpora_in_parts(), st.lists(_TERM, max_size=5), st.booleans(), st.sampled_from([(1.5, 0.75), (2, 0), (1.2, 1)]))
def test_rank_bm25_gives_the_same_scores(corpus, query, some, k1_and_b):
    leaves, _, parts = corpus
    counting = np.arange(len(leaves)) % 3 > 0 if some else None
    options = BM25Settings(*k1_and_b, variant="okapi")
    ours, theirs = (engine(parts).score(query, settings=options, counting=counting) for engine in (Corpus, RankBM25))
    np.testing.assert_allclose(theirs.scores, ours.scores, rtol=1e-9, atol=1e-12)
    assert (theirs.present.tolist(), theirs.ideal) == (ours.present.tolist(), ours.ideal)


def test_rank_bm25_is_for_okapi_only():
    with pytest.raises(InvalidArgument, match="rank-bm25 is for the variant okapi, got 'lucene'"):
        RankBM25([(build_postings(LEAVES), None)]).score(["a"], settings=BM25Settings(k1=1.5, b=0.75))
    with pytest.raises(InvalidArgument, match="k1 must be > 0 for rank-bm25, got 0"):
        RankBM25([(build_postings(LEAVES), None)]).score(["a"], settings=BM25Settings(k1=0, variant="okapi"))


def test_rank_bm25_keeps_its_index_for_the_next_query_with_the_same_settings():
    engine, okapi = RankBM25([(build_postings(LEAVES), None)]), BM25Settings(k1=1.5, variant="okapi")
    first = engine.score(["a", "d"], settings=okapi).scores.tolist()
    other = engine.score(["a", "d"], settings=BM25Settings(k1=2, variant="okapi")).scores.tolist()
    assert first != other
    for _ in range(2):
        assert engine.score(["a", "d"], settings=okapi).scores.tolist() == first


def test_a_missing_rank_bm25_names_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "rank_bm25", None)
    with pytest.raises(MissingExtra, match=r'pip install "\.\[rank-bm25\]" in the clone of leafspan'):
        RankBM25([])


@pytest.mark.parametrize(
    ("options", "bound", "absent"),
    [
        ({}, 0, 0),
        ({"variant": "okapi"}, 0, 0),
        ({"variant": "bm25l"}, 0.5, 0),
        ({"variant": "bm25l", "delta": 0.2}, 0.2, 0),
        ({"variant": "bm25+"}, 1, 1),
        ({"variant": "bm25+", "delta": 0.2}, 0.2, 0.2),
    ],
)
def test_the_delta_of_each_variant_and_what_a_leaf_without_the_term_gets(options, bound, absent):
    settings = BM25Settings(**options)
    assert (settings.lower_bound, settings.absent) == (bound, absent)


def test_the_ideal_counts_a_term_that_no_leaf_has_as_the_rarest_there_could_be():
    corpus = of(["a", "b"], ["a", "c"], ["d"])
    idf_of_a, idf_of_none = log(1 + (3 - 2 + 0.5) / (2 + 0.5)), log(1 + (3 - 0 + 0.5) / (0 + 0.5))
    settings = BM25Settings()
    assert corpus.score(["a"], settings=settings).ideal == pytest.approx(idf_of_a)
    assert corpus.score(["a", "unknown"], settings=settings).ideal == pytest.approx(idf_of_a + idf_of_none)
    assert corpus.score(["a", "a", "unknown"], settings=settings).ideal == pytest.approx(2 * idf_of_a + idf_of_none)
    assert corpus.score(["unknown"], settings=settings).ideal == pytest.approx(idf_of_none)
    # A pair of characters may be no word.
    for pair in ("学校", "โร", "학교"):
        assert corpus.score(["a", pair], settings=settings).ideal == pytest.approx(idf_of_a + idf_of_none / 2)
    # So a leaf with all other terms still scores below it.
    assert max(corpus.score(["a", "b", "unknown"], settings=settings).scores) < idf_of_a + idf_of_none


@examples(100)
@given(
    seed=st.integers(0, 2**32 - 1),
    leaves=st.sampled_from([0, 1, 5, 63, 64, 300, 20_000]),
    count=st.sampled_from([1, 3, 40]),
)
def test_as_many_leaves_as_are_wanted_reach_a_score_and_few_more(seed: int, leaves: int, count: int):
    scores = np.random.default_rng(seed).integers(-50, 50, leaves).astype(np.float32)
    least = score_reached_by(count, scores)
    if leaves < count:
        assert least == -np.inf
        return
    assert np.count_nonzero(scores >= least) >= count
    if leaves < 4 * count:  # each leaf is a group
        assert least == np.sort(scores)[-count]


def test_of_many_leaves_few_more_than_are_wanted_reach_the_score():
    scores = np.random.default_rng(1).random(100_000)
    assert 50 <= np.count_nonzero(scores >= score_reached_by(50, scores)) < 60

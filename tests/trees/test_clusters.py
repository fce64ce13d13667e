from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import InvalidArgument
from leafspan.embedding import normalize
from leafspan.trees import Bisecting
from leafspan.trees._clustering import check_clusters
from tests.profiles import examples

NO_LIMIT = 10**9


def directions(*degrees):
    """Vectors in the plane."""
    angles = np.radians(np.array(degrees, dtype=np.float64))
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def topics(count, each, *, dimension=16, noise=0.3, seed=0):
    """Vectors around ``count`` directions, ``each`` of them, one topic after the other."""
    generator = np.random.default_rng(seed)
    centres = np.repeat(normalize(generator.normal(size=(count, dimension))), each, axis=0)
    return normalize(centres + noise * normalize(generator.normal(size=centres.shape)))


# What a clusterer gives, checked


def test_clusters_come_in_order_and_without_repetition():
    assert check_clusters([[4, 3], (2, 0, 2), np.array([1])], [1] * 5, 9) == [[0, 2], [1], [3, 4]]


def test_places_of_any_type_become_ints():
    [[place]] = check_clusters([np.array([0])], [1], 9)
    assert type(place) is int


def test_a_place_may_be_in_several_clusters():
    assert check_clusters([[1, 2], [0, 1]], [1] * 3, 9) == [[0, 1], [1, 2]]


def test_clusters_that_say_nothing_new_are_dropped():
    assert check_clusters([[], [0, 1], [1, 0], [1], [1, 2, 3], [3, 1]], [1] * 4, 9) == [[0, 1], [1, 2, 3]]


def test_nothing_has_no_clusters():
    assert check_clusters([], [], 9) == []
    assert check_clusters([[]], [], 9) == []


@pytest.mark.parametrize("place", [-1, 3, 1.0, "1", None, True])
def test_a_place_is_one_of_those_that_there_are(place):
    with pytest.raises(InvalidArgument, match=f"a place must be a whole number >= 0 and below 3, got {place!r}"):
        check_clusters([[0, 1, 2], [place]], [1] * 3, 9)


def test_every_place_is_in_a_cluster():
    with pytest.raises(InvalidArgument, match="every place must be in a cluster, got none for 1"):
        check_clusters([[0, 2]], [1] * 4, 9)


def test_a_cluster_is_not_over_the_limit_but_a_place_may_be():
    assert check_clusters([[0], [1, 2]], [50, 5, 4], 9) == [[0], [1, 2]]
    with pytest.raises(InvalidArgument, match=r"a cluster of more than one must have at most 9 words, got 10 in \[1, 2\]"):
        check_clusters([[0], [1, 2]], [50, 5, 5], 9)


@examples(100)
@given(st.data(), st.integers(1, 12), st.randoms())
def test_checking_is_idempotent_and_does_not_depend_on_the_order(data, count, shuffle):
    clusters = data.draw(st.lists(st.lists(st.integers(0, count - 1), max_size=6), max_size=8)) + [
        [i] for i in range(count)
    ]
    checked = check_clusters(clusters, [1] * count, NO_LIMIT)

    assert check_clusters(checked, [1] * count, NO_LIMIT) == checked
    assert check_clusters([shuffle.sample(c, len(c)) for c in clusters][::-1], [1] * count, NO_LIMIT) == checked
    assert not any(set(one) <= set(other) for one in checked for other in checked if one is not other)
    assert all(any(set(cluster) <= set(kept) for kept in checked) for cluster in clusters)


# Laws of Bisecting


def check_laws(clusters, sizes, max_words):
    """No place is lost, no limit broken, and there are fewer clusters than places where any two fit together."""
    assert check_clusters(clusters, sizes, max_words) == clusters
    fit = len(sizes) > 1 and sum(sorted(sizes)[:2]) <= max_words
    assert len(clusters) < len(sizes) if fit else len(clusters) == len(sizes)


@st.composite
def leaves(draw, most=40):
    """Vectors, among them equal ones and some of length 0, sizes in words, and a limit."""
    count = draw(st.integers(0, most))
    kinds = np.concatenate([np.zeros((1, 4)), directions(0, 10, 90, 180) @ np.eye(2, 4), topics(3, 5, dimension=4)])
    chosen = draw(st.lists(st.integers(0, len(kinds) - 1), min_size=count, max_size=count))
    sizes = draw(st.lists(st.integers(0, 60), min_size=count, max_size=count))
    return kinds[chosen].astype(np.float32), sizes, draw(st.integers(1, 300))


BISECTINGS = st.builds(
    Bisecting,
    size=st.integers(2, 10),
    largest_piece=st.sampled_from([2, 5, 12, 1000]),
    seed=st.integers(0, 3),
)


@examples(300)
@given(leaves(), BISECTINGS)
def test_no_place_is_lost_no_limit_broken_and_layers_shrink(drawn, clusterer):
    vectors, sizes, max_words = drawn
    before = vectors.copy()
    clusters = clusterer(vectors, sizes, max_words)

    check_laws(clusters, sizes, max_words)
    assert clusters == clusterer(vectors, sizes, max_words)
    assert np.array_equal(vectors, before)


@examples(100)
@given(leaves(), st.integers(2, 10), st.integers(0, 3))
def test_every_place_is_in_one_cluster(drawn, size, seed):
    vectors, sizes, max_words = drawn
    clusters = Bisecting(size=size, largest_piece=12, seed=seed)(vectors, sizes, max_words)
    assert sorted(place for cluster in clusters for place in cluster) == list(range(len(sizes)))


@examples(100)
@given(leaves())
def test_a_place_is_alone_only_where_it_fits_in_nowhere(drawn):
    vectors, sizes, max_words = drawn
    clusters = Bisecting()(vectors, sizes, max_words)
    for cluster in clusters:
        if len(cluster) == 1:
            room = [max_words - sum(sizes[place] for place in other) for other in clusters if other is not cluster]
            assert all(sizes[cluster[0]] > words for words in room)


@pytest.mark.parametrize("count", range(1, 16))
@pytest.mark.parametrize("make", [lambda n: topics(1, n), lambda n: topics(1, n, noise=0), lambda n: np.zeros((n, 16))])
def test_any_few_places_are_clustered(count, make):
    vectors = make(count).astype(np.float32)
    for max_words in 5, 25, 50, NO_LIMIT:
        check_laws(Bisecting()(vectors, [10] * count, max_words), [10] * count, max_words)


@pytest.mark.parametrize("vectors", [topics(5, 100), topics(1, 500, noise=0), np.zeros((500, 16), dtype=np.float32)])
def test_pieces_are_clustered_as_a_whole_would_be(vectors):
    clusters = Bisecting(size=5, largest_piece=100)(vectors, [10] * 500, 100)
    assert 500 / 7 <= len(clusters) <= 500 / 4
    assert {len(cluster) for cluster in clusters} <= set(range(2, 5 + 5 // 2 + 2))


def test_the_seed_counts_only_where_there_are_pieces():
    vectors = topics(40, 5, noise=2)
    whole = [Bisecting(seed=seed)(vectors, [1] * 200, NO_LIMIT) for seed in range(4)]
    pieces = [Bisecting(seed=seed, largest_piece=50)(vectors, [1] * 200, NO_LIMIT) for seed in range(4)]
    assert all(clusters == whole[0] for clusters in whole)
    assert any(clusters != pieces[0] for clusters in pieces)


# What Bisecting finds


def test_two_groups_are_found_wherever_their_places_are():
    vectors = directions(0, 90, 2, 88, 4, 92)
    assert Bisecting(size=3)(vectors, [10] * 6, NO_LIMIT) == [[0, 2, 4], [1, 3, 5]]


def test_topics_are_found_within_pieces_and_beyond_them():
    expected = [list(range(start, start + 6)) for start in range(0, 120, 6)]
    for largest_piece in 2000, 30:
        clusterer = Bisecting(size=6, largest_piece=largest_piece)
        assert clusterer(topics(20, 6, dimension=64), [10] * 120, NO_LIMIT) == expected


def test_a_few_alike_are_one_cluster():
    assert Bisecting(size=8)(topics(1, 11), [10] * 11, NO_LIMIT) == [list(range(11))]


def test_a_limit_divides_what_is_alike():
    clusters = Bisecting()(directions(0, 1, 2, 40, 41, 42), [10] * 6, 30)
    assert clusters == [[0, 1, 2], [3, 4, 5]]


def test_a_place_over_the_limit_is_alone():
    assert Bisecting()(directions(0, 1, 2), [10, 50, 10], 30) == [[0, 2], [1]]


def test_an_outlier_is_not_left_alone_where_it_fits_in():
    vectors = directions(0, 1, 4, 5, 180)
    assert Bisecting(size=2)(vectors, [10] * 5, NO_LIMIT) == [[0, 1], [2, 3, 4]]
    # Not even where that makes a cluster of more than half as many again.
    assert Bisecting(size=3)(vectors, [10] * 5, NO_LIMIT) == [[0, 1, 2, 3, 4]]
    assert Bisecting(size=2)(vectors, [10] * 5, 20) == [[0, 1], [2, 3], [4]]


def test_no_two_fit_within_a_piece_but_the_two_shortest_of_all():
    vectors = directions(0, 0, 0, 0, 90, 90, 90, 90)
    sizes = [9, 1, 9, 9, 9, 9, 1, 9]
    assert [1, 6] in Bisecting(largest_piece=4)(vectors, sizes, 9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 1}, "size must be a whole number >= 2, got 1"),
        ({"size": 2.5}, "size must be a whole number >= 2, got 2.5"),
        ({"largest_piece": 1}, "largest_piece must be a whole number >= 2, got 1"),
        ({"seed": -1}, "seed must be a whole number >= 0, got -1"),
        ({"seed": True}, "seed must be a whole number >= 0, got True"),
    ],
)
def test_options_of_bisecting_are_in_their_ranges(options, message):
    with pytest.raises(InvalidArgument, match=message):
        Bisecting(**options)


# Importing


def test_the_clusterer_imports_nothing_heavy():
    code = "import sys, leafspan.trees._clustering; print([m for m in ('numpy', 'sklearn', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

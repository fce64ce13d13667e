"""Cosines and nearest leaves, computed from given vectors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from fractions import Fraction
from math import sqrt
from threading import Event, Timer, get_ident

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.embedding import normalize
from leafspan.flows import in_thread, run
from leafspan.search import _scanning
from leafspan.search._scanning import Bounds, best, rank, scan
from leafspan.search._vectors import leaf_vectors, similarities
from leafspan.segments import MirrorSnapshot, VectorCopy, _leaf_copies, vectors_at
from leafspan.segments._segment import Segment
from leafspan.segments._snapshot import OpenSegment
from leafspan.store import Catalogue, DocumentTable, DocumentToWrite, Row, Selection
from leafspan.values import LeafId
from tests.durability.waiting import wait_until
from tests.profiles import examples

V = "00000000"
chance = np.random.default_rng(3)


class Copy:
    """Segments with a vector for each leaf of some documents, in segments."""

    def __init__(self, *segments: dict[str, np.ndarray]) -> None:
        rows = {id_: Row(id_, "", V, len(vectors)) for each in segments for id_, vectors in each.items()}
        self.stored = segments
        self.catalogue = Catalogue(rows)
        opened = [
            OpenSegment(
                Segment(
                    DocumentTable.of([(id_, V, len(vectors)) for id_, vectors in each.items()]),
                    vector_arrays(np.concatenate(list(each.values()))),
                ),
                None,
            )
            for each in segments
        ]
        self.snapshot = MirrorSnapshot(self.catalogue, opened)

    def current(self, reader):
        return self.snapshot
        yield


class Reader:
    """A reader that shows these documents, or has these vectors."""

    def __init__(self, shown: Catalogue | None = None, vectors: dict | None = None) -> None:
        self._shown = shown
        self._vectors = vectors

    def catalogue(self):
        return self._shown
        yield

    def fetch_vectors(self, ids):
        return {id_: self._vectors[LeafId.parse(id_)] for id_ in ids}
        yield


def vector_arrays(vectors: np.ndarray) -> dict[str, np.ndarray]:
    return VectorCopy().of([DocumentToWrite(Row("a", "", V, len(vectors)), [], [], vectors)])


def kept(vectors: np.ndarray) -> np.ndarray:
    """The vectors that a segment has of these."""
    return vectors_at(vector_arrays(vectors), slice(None))


def bounds_of(parts, queries: np.ndarray, **options: bool) -> np.ndarray:
    return np.array([Bounds(parts, query, **options).computed() for query in queries])


def leaves_of_a(ordinals: np.ndarray) -> list[LeafId]:
    return [LeafId("a", V, ordinal) for ordinal in ordinals.tolist()]


def leaf(document_id: str, ordinal: int) -> LeafId:
    return LeafId(document_id, V, ordinal)


def exact_cosine(one, other) -> float:
    """The cosine; only the root is rounded."""
    a, b = [Fraction(float(x)) for x in one], [Fraction(float(x)) for x in other]
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return float(dot) / sqrt(float(sum(x * x for x in a)) * float(sum(x * x for x in b)))


def test_a_score_is_the_cosine_however_long_the_vectors_are():
    stored = np.array([[3.0, 4.0], [0.0, 0.5], [-2.0, 0.0]])
    fetched = Reader(vectors={leaf("a", n): vector for n, vector in enumerate(stored)})
    ids = [leaf("a", 2), leaf("a", 0), leaf("a", 1)]
    for reader, copy in ((fetched, None), (Reader((held := Copy({"a": stored})).catalogue), held)):
        cosines = run(similarities(reader, copy, [[10.0, 0.0], [0.0, 0.1]], ids))
        assert cosines == pytest.approx(np.array([[-1.0, 0.6, 0.0], [0.0, 0.8, 1.0]]), abs=1e-7)
        assert run(similarities(reader, copy, [[1.0, 0.0]], [])).shape == (1, 0)


def test_ranking_fetched_vectors_is_by_cosine_however_long_they_are():
    stored = np.array([[30.0, 40.0], [0.1, 0.0], [5.0, 5.0]], np.float32)
    leaves = [LeafId("a", V, n) for n in range(3)]
    [row] = rank(leaves, stored, [[2.0, 0.0]], 2)
    assert [(hit.leaf.ordinal, hit.score) for hit in row] == [(1, pytest.approx(1.0)), (2, pytest.approx(sqrt(0.5)))]


def test_scanning_the_copy_is_by_cosine_for_queries_of_any_length():
    copy = Copy({"a": np.array([[30.0, 40.0], [0.1, 0.0]])}, {"b": np.array([[5.0, 5.0]]), "c": np.array([[-1.0, 0.0]])})
    selection = Selection(frozenset("abc"), 4)
    first, second = scan(copy.snapshot, copy.catalogue, selection, [[20.0, 0.0], [0.0, 0.01]], 3)
    assert [(hit.id, hit.score) for hit in first] == [
        (leaf("a", 1), pytest.approx(1.0)),
        (leaf("b", 0), pytest.approx(sqrt(0.5))),
        (leaf("a", 0), pytest.approx(0.6)),
    ]
    assert [(hit.id, hit.score) for hit in second] == [
        (leaf("a", 0), pytest.approx(0.8)),
        (leaf("b", 0), pytest.approx(sqrt(0.5))),
        (leaf("a", 1), pytest.approx(0.0, abs=1e-9)),  # ties with c, and comes first
    ]
    assert [hit.id for hit in scan(copy.snapshot, copy.catalogue, Selection(frozenset("c"), 1), [[1.0, 0.0]], 3)[0]] == [
        leaf("c", 0)
    ]


def test_scores_are_computed_in_64_bits():
    stored, query = chance.normal(size=(30, 300)).astype(np.float32), chance.normal(size=(1, 300)).astype(np.float32)
    once, twice, ids = normalize(stored), normalize(kept(stored)), [leaf("a", n) for n in range(30)]
    [row] = rank([LeafId("a", V, n) for n in range(30)], stored, query, 30)
    assert [hit.score for hit in sorted(row, key=lambda hit: hit.leaf.ordinal)] == near(once, normalize(query)[0])
    copy = Copy({"a": stored})  # has them at length 1, to which they are brought again
    assert list(run(similarities(Reader(copy.catalogue), copy, query, ids))[0]) == near(twice, normalize(query)[0])


def near(matrix, query) -> list:
    """The product, computed without rounding. In 32 bits it would be off by some 1e-8."""
    exact = (sum(Fraction(float(x)) * Fraction(float(y)) for x, y in zip(row, query, strict=True)) for row in matrix)
    return [pytest.approx(float(each), abs=1e-12) for each in exact]


@examples(200)
@given(st.data())
def test_scores_that_are_a_little_off_change_nothing(data):
    """The fast product of matrices rounds; what it finds is only where to look."""
    number, count = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 6))
    angles = data.draw(st.lists(st.sampled_from([0.5, 0.500001, 0.500002, 0.7, 0.9]), min_size=number, max_size=number))
    vectors = np.array([[np.cos(angle), np.sin(angle)] for angle in angles])
    noise = data.draw(st.lists(st.floats(-4e-6, 4e-6), min_size=number, max_size=number))
    query = np.array([1.0, 0.0])
    rough = vectors @ query + np.array(noise)
    found = best(rough + 5e-6, lambda places: vectors[places], query, leaves_of_a, count)
    wanted = sorted(range(number), key=lambda at: (-float((vectors[at] * query).sum()), at))[:count]
    assert [hit.leaf.ordinal for hit in found] == wanted


@examples(100)
@given(
    seed=st.integers(0, 2**32 - 1),
    length=st.sampled_from([2, 8, 256]),
    share=st.sampled_from([0.05, 0.5, 1.0]),  # few rows are coded by themselves, many along with all others
    queries=st.integers(1, 3),
)
def test_no_cosine_exceeds_its_bound_and_none_is_far_below_it(seed: int, length: int, share: float, queries: int):
    random = np.random.default_rng(seed)
    vectors, asked = (normalize(random.standard_normal((number, length)).astype(np.float32)) for number in (200, queries))
    rows = np.sort(random.choice(200, size=int(200 * share), replace=False))
    bounds = bounds_of([(vector_arrays(vectors), rows)], asked)
    cosines = asked.astype(np.float64) @ vectors[rows].astype(np.float64).T
    assert (bounds >= cosines).all()
    assert (bounds - cosines).max() < 0.05


def in_two_threads(monkeypatch, another_thread) -> None:
    """Codes are compared in blocks of 16, for which there may be another thread."""
    monkeypatch.setattr(_scanning, "_BLOCK", 16 * 16)
    monkeypatch.setattr(_scanning, "on_other_core", another_thread)


def never_begun(function) -> Future:
    return Future()


def begun_too_late(function) -> None:
    Timer(0.01, function).start()


@pytest.mark.parametrize("another_thread", [in_thread, never_begun, begun_too_late, lambda function: None])
def test_the_bounds_of_many_codes_are_the_same_whether_another_thread_helps_or_not(another_thread, monkeypatch):
    vectors, asked = (normalize(chance.standard_normal((number, 16)).astype(np.float32)) for number in (701, 2))
    one, other = vector_arrays(vectors[:501]), vector_arrays(vectors[501:])
    for share in (0.1, 0.5, 1.0):  # of the other segment's rows
        parts = [(one, np.arange(501)), (other, np.flatnonzero(chance.random(200) < share))]
        with monkeypatch.context() as patch:
            patch.setattr(_scanning, "on_other_core", lambda function: None)
            alone = bounds_of(parts, asked)
        in_two_threads(monkeypatch, another_thread)
        for _ in range(20):
            assert (bounds_of(parts, asked) == alone).all()


def test_codes_are_compared_while_their_maker_does_other_work(monkeypatch):
    in_two_threads(monkeypatch, in_thread)
    vectors = normalize(chance.standard_normal((501, 16)).astype(np.float32))
    bounds = Bounds([(vector_arrays(vectors), np.arange(501))], vectors[0])
    bounds._other.result(60)
    assert not bounds._left


def test_questions_at_the_same_time_are_answered_by_a_thread_each(monkeypatch):
    in_two_threads(monkeypatch, in_thread)
    vectors = normalize(chance.standard_normal((501, 16)).astype(np.float32))
    parts = [(vector_arrays(vectors), np.arange(501))]
    wait_until(lambda: not _scanning._UNDER_WAY)
    first, second = (Bounds(parts, vectors[0]) for _ in range(2))
    assert (first._other is None, second._other is None) == (False, True)
    assert (first.computed() == second.computed()).all()
    del first, second
    given_up = Bounds(parts, vectors[0])
    given_up._other.result(60)
    del given_up
    wait_until(lambda: not _scanning._UNDER_WAY)  # the other thread lets go of it right after its end
    last = Bounds(parts, vectors[0])
    assert last._other is not None
    last.computed()


def test_an_error_in_the_other_thread_is_raised(monkeypatch):
    compare = _scanning._compared
    here = get_ident()
    there = Event()

    def fails_elsewhere(*arguments):
        if get_ident() == here:
            there.wait(30)
            return compare(*arguments)
        there.set()
        raise MemoryError

    in_two_threads(monkeypatch, in_thread)
    monkeypatch.setattr(_scanning, "_compared", fails_elsewhere)
    vectors = normalize(chance.standard_normal((501, 16)).astype(np.float32))
    with pytest.raises(MemoryError):
        Bounds([(vector_arrays(vectors), np.arange(501))], vectors[0]).computed()


def test_a_score_is_never_beyond_1():
    vectors = np.array([[1.0000001, 0.0], [-1.0000001, 0.0]])
    found = best(np.array([1.0, -1.0]), vectors.__getitem__, np.array([1.0, 0.0]), leaves_of_a, 5)
    assert [hit.score for hit in found] == [1.0, -1.0]


@examples(200)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 300), st.sampled_from([0, 3, 30]))
def test_a_segment_has_each_number_as_exact_as_the_largest_one_of_its_vector_in_32_bits(seed, count, length, spread):
    """A spread of 30 leaves most numbers near zero beside the largest."""
    numbers = np.random.default_rng(seed)
    vectors = normalize(
        (numbers.normal(size=(count, length)) * np.exp(-spread * numbers.random(length))).astype(np.float32)
    )
    vectors[0] = 0
    arrays = vector_arrays(vectors)
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    assert (np.abs(vectors_at(arrays, slice(None)) - vectors) <= largest * 2.0**-22).all()
    assert not vectors_at(arrays, np.array([0])).any()
    again = vector_arrays(vectors_at(arrays, slice(None)))  # as a copy of an index has them
    assert (np.abs(vectors_at(again, slice(None)) - vectors_at(arrays, slice(None))) <= largest * 2.0**-22).all()
    assert sum(each.itemsize for each in (arrays["codes"], arrays["remainders"])) == 3


# Leaves by their ids


def test_the_vectors_of_many_leaves_match_their_ids_each_time():
    """Where they lie is kept for the next time: for these ids in this order, and in this view, and not for others."""
    vectors = {id_: chance.normal(size=(400, 3)) for id_ in "ab"}
    copy = Copy({"a": vectors["a"]}, {"b": vectors["b"]})
    every = [(id_, ordinal) for id_ in "ab" for ordinal in range(400)]
    for chosen in (every[:600], every[200:], every[200:][::-1], every[:600], every[::2] + every[1:401:2]):
        found = run(leaf_vectors(Reader(copy.catalogue), copy, [leaf(*each) for each in chosen]))
        wanted = np.array([vectors[id_][ordinal] for id_, ordinal in chosen])
        assert found == pytest.approx(wanted / np.linalg.norm(wanted, axis=1, keepdims=True), abs=1e-6)


def test_what_one_view_shows_under_an_id_is_not_what_another_one_shows():
    vectors = {"a@1": chance.normal(size=(600, 3)), "a@2": chance.normal(size=(600, 3))}
    copy = Copy(vectors)
    ids = [leaf("a", ordinal) for ordinal in range(600)]
    views = {stored: copy.catalogue.renamed({"a": stored}) for stored in vectors}
    for stored in ("a@1", "a@2", "a@1"):
        wanted = vectors[stored] / np.linalg.norm(vectors[stored], axis=1, keepdims=True)
        assert run(leaf_vectors(Reader(views[stored]), copy, ids)) == pytest.approx(wanted, abs=1e-6)


vectors_of_3 = st.lists(st.integers(-8, 8).map(lambda number: number / 4), min_size=3, max_size=3).filter(any)


@examples(100)
@given(st.lists(vectors_of_3, min_size=1, max_size=6), st.integers(1, 4))
def test_equal_vectors_tie_wherever_they_are_and_leaves_come_by_score_then_place(vectors, times):
    stored = np.array(vectors * times)
    query = [0.3, -0.2, 0.9]
    leaves = [LeafId("a", V, n) for n in range(len(stored))]
    [row] = rank(leaves, stored.astype(np.float32), [query], len(stored))
    scores = {hit.leaf.ordinal: hit.score for hit in row}
    for at in range(len(stored)):
        assert scores[at] == scores[at % len(vectors)]
        assert scores[at] == pytest.approx(exact_cosine(stored[at], query), abs=1e-5)
    assert row == sorted(row, key=lambda hit: hit.order)
    assert rank(leaves, stored.astype(np.float32), [query], 2)[0] == row[:2]


@examples(100)
@given(st.data())
def test_a_scan_is_exact_however_rough_the_codes_are(data):
    """Numbers of 8 bits tell these vectors apart badly, and some of them not at all."""
    sizes = data.draw(st.lists(st.integers(1, 150), min_size=1, max_size=3))
    seed = data.draw(st.integers(0, 10**6))
    chance = np.random.default_rng(seed)
    spread = data.draw(st.sampled_from([1e-4, 1e-2, 1.0]))
    stored = [1 + spread * chance.normal(size=(size, 5)) for size in sizes]
    for matrix in stored:
        matrix[:, 0] *= data.draw(st.sampled_from([1, 100]))  # so that little is left for the other numbers
    copy = Copy(*({f"{number}": matrix} for number, matrix in enumerate(stored)))
    chosen = [f"{number}" for number in range(len(sizes)) if data.draw(st.booleans())] or ["0"]
    selection = Selection(frozenset(chosen), sum(sizes[int(id_)] for id_ in chosen))
    queries = 1 + spread * chance.normal(size=(data.draw(st.sampled_from([1, 4, 5])), 5))
    count = data.draw(st.integers(1, 30))
    ids = [LeafId(id_, V, ordinal) for id_ in chosen for ordinal in range(sizes[int(id_)])]
    vectors = kept(np.concatenate([stored[int(id_)] for id_ in chosen]))
    found = scan(copy.snapshot, copy.catalogue, selection, queries, count)
    for hits, query in zip(found, normalize(queries.astype(np.float32)), strict=True):
        cosines = (vectors.astype(np.float64) * query).sum(axis=1).clip(-1, 1)
        order = sorted(range(len(ids)), key=lambda at: (-cosines[at], ids[at].document_id, ids[at].ordinal))
        assert [hit.leaf for hit in hits] == [ids[at] for at in order[:count]]


@pytest.mark.parametrize("seed", range(30))
def test_of_more_equal_vectors_than_are_compared_first_the_first_ones_come_first(seed):
    """Rounding may put the product of 32 bits below the score, which then is no bound: numbers up to 127 are exact codes."""
    vector = np.array([127, *np.random.default_rng(seed).integers(-127, 128, size=seed % 10)], np.float32)
    stored = np.tile(vector, (2 * (_scanning._FIRST * 3 + _scanning._MORE), 1))
    copy = Copy({"a": stored})
    [scanned] = scan(copy.snapshot, copy.catalogue, Selection(frozenset("a"), len(stored)), [vector], 3)
    [ranked] = rank([LeafId("a", V, n) for n in range(len(stored))], stored, [vector], 3)
    assert [hit.leaf.ordinal for hit in scanned] == [hit.leaf.ordinal for hit in ranked] == [0, 1, 2]


@pytest.mark.parametrize("seed", range(10))
def test_leaves_whose_scores_differ_less_than_products_are_rounded_come_by_their_scores(seed):
    """The same numbers in another order: their codes are exact, and the same product is rounded differently."""
    numbers = np.random.default_rng(seed)
    tail = numbers.integers(-60, 61, size=63)
    stored = kept(np.array([[127, *numbers.permutation(tail)] for _ in range(600)]))
    query = np.array([3, *[1] * 63], np.float32)
    copy = Copy({"a": stored})
    everything = Selection(frozenset("a"), len(stored))
    [wanted] = nearest(copy, everything, [query], 3)
    [scanned] = scan(copy.snapshot, copy.catalogue, everything, [query], 3)
    [ranked] = rank([LeafId("a", V, n) for n in range(len(stored))], stored, [query], 3)
    assert [hit.leaf for hit in scanned] == [hit.leaf for hit in ranked] == [leaf for leaf, _ in wanted]


# Signs, where vectors are long and many


@contextmanager
def signed(fewest: int = 1) -> Iterator[None]:
    """Segments of this size have signs, however short their vectors are, and each search compares signs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_leaf_copies, "_FEWEST_SIGNED", fewest)
        patch.setattr(_leaf_copies, "_SHORTEST_SIGNED", 1)
        patch.setattr(_scanning, "_FEW", 1)
        yield


def nearest(copy: Copy, selection: Selection, queries, count: int) -> list[list[tuple[LeafId, float]]]:
    """The result of a comparison with each vector."""
    found = []
    ids = [LeafId(id_, V, n) for segment in copy.stored for id_, rows in segment.items() for n in range(len(rows))]
    vectors = kept(np.concatenate([rows for each in copy.stored for rows in each.values()]))
    for query in normalize(np.asarray(queries, np.float32)):
        cosines = (vectors.astype(np.float64) * query).sum(axis=1).clip(-1, 1).tolist()
        pairs = [pair for pair in zip(ids, cosines, strict=True) if pair[0].document_id in selection.ids]
        found.append(sorted(pairs, key=lambda pair: (-pair[1], pair[0].document_id, pair[0].ordinal))[:count])
    return found


numbers = st.one_of(st.sampled_from([0.0, 1.0, -1.0]), st.floats(-4, 4, width=32).filter(lambda x: not 0 < abs(x) < 1e-3))


@examples(200)
@given(st.data())
def test_a_scan_of_signs_is_exact_for_any_vectors(data):
    """Some are equal, some are zero. Of up to 16 numbers, no error exceeds the margin, however the vectors were chosen."""
    length = data.draw(st.sampled_from([1, 2, 3, 8, 16]))
    some = data.draw(st.lists(st.lists(numbers, min_size=length, max_size=length), min_size=1, max_size=8))
    places = data.draw(st.lists(st.integers(0, len(some) - 1), min_size=1, max_size=60))
    sizes = data.draw(st.lists(st.integers(1, 20), min_size=1, max_size=6))
    documents = {
        str(number): np.array([some[places[(7 * number + n) % len(places)]] for n in range(size)])
        for number, size in enumerate(sizes)
    }
    cut = data.draw(st.integers(0, len(sizes)))
    segments = [{id_: documents[id_] for id_ in ids} for ids in (list(documents)[:cut], list(documents)[cut:]) if ids]
    with signed(fewest=data.draw(st.sampled_from([1, 30]))):  # so that only some segments have signs
        copy = Copy(*segments)
        chosen = {id_ for id_ in documents if data.draw(st.booleans())} or {"0"}
        selection = Selection(frozenset(chosen), sum(len(documents[id_]) for id_ in chosen))
        queries = data.draw(st.lists(st.lists(numbers, min_size=length, max_size=length), min_size=1, max_size=6))
        count = data.draw(st.integers(1, 30))
        found = scan(copy.snapshot, copy.catalogue, selection, queries, count)
    for hits, wanted in zip(found, nearest(copy, selection, queries, count), strict=True):
        assert [hit.leaf for hit in hits] == [leaf for leaf, _ in wanted]
        assert [hit.score for hit in hits] == [score for _, score in wanted]


random = np.random.default_rng(7)
LONG = {
    "any": random.standard_normal((600, 1024)),
    "alike": 1 + 0.1 * random.standard_normal((600, 1024)),
    "equal": np.repeat(random.standard_normal((6, 1024)), 100, axis=0),
    "of one number": np.eye(1024)[random.integers(0, 1024, 600)],
    "of two numbers": np.eye(1024)[random.integers(0, 99, 600)] - np.eye(1024)[random.integers(0, 99, 600)],
    "of few first numbers": random.standard_normal((600, 1024)) * np.exp(-np.arange(1024) / 20),
    "of products": np.einsum("na,nb->nab", *random.standard_normal((2, 600, 32))).reshape(600, 1024),
    "of whole numbers": random.integers(-1, 2, (600, 1024)),
    "zero": np.zeros((600, 1024)),
    "of a length that no byte divides": random.standard_normal((600, 1023)),
}


@pytest.mark.parametrize("kind", LONG)
def test_bounds_of_signs_hold_and_are_close_for_any_vectors(kind):
    vectors = normalize(LONG[kind].astype(np.float32))
    near = normalize((vectors[:5] + 0.02 * random.standard_normal((5, vectors.shape[1]))).astype(np.float32))
    with signed():
        arrays = vector_arrays(vectors)
    for queries in (vectors[:5], near, -near):
        bounds = bounds_of([(arrays, np.arange(600))], queries, signed=True)
        cosines = queries.astype(np.float64) @ vectors.T
        assert (bounds >= cosines).all()
        assert (bounds - cosines).max() < 12 / sqrt(1024)  # two margins of about 5 / sqrt(1024), and some more


@pytest.mark.parametrize("kind", LONG)
def test_a_scan_of_signs_finds_the_nearest_of_long_vectors(kind):
    stored = LONG[kind]
    with signed():
        copy = Copy({"a": stored[:100], "b": stored[100:300]}, {"c": stored[300:]})
        for ids in ("abc", "ac", "b"):
            selection = Selection(frozenset(ids), sum({"a": 100, "b": 200, "c": 300}[id_] for id_ in ids))
            queries = stored[::90] + 0.01 * random.standard_normal((7, stored.shape[1]))
            found = scan(copy.snapshot, copy.catalogue, selection, queries, 10)
            wanted = nearest(copy, selection, queries, 10)
            assert [[hit.leaf for hit in hits] for hits in found] == [[leaf for leaf, _ in row] for row in wanted]


def test_most_codes_are_not_compared_where_there_are_signs(monkeypatch):
    stored = random.standard_normal((3000, 1536))
    with signed():
        copy = Copy({"a": stored})
        compared = []
        compare = _scanning._compared
        monkeypatch.setattr(
            _scanning, "_compared", lambda *given: compared.append((given[-1], len(given[1]))) or compare(*given)
        )
        query = stored[5] + random.standard_normal(1536)
        [hits] = scan(copy.snapshot, copy.catalogue, Selection(frozenset("a"), 3000), [query], 1)
    assert hits[0].leaf.ordinal == 5
    assert [rows for kind, rows in compared if kind == "bin8"] == [3000]
    assert sum(rows for kind, rows in compared if kind == "int8") < 300


def test_merged_segments_have_the_signs_of_their_vectors():
    vectors = [normalize(random.standard_normal((number, 40)).astype(np.float32)) for number in (50, 30)]
    mask = np.arange(50) % 3 > 0
    with signed():
        parts = [(vector_arrays(vectors[0]), mask), (vector_arrays(vectors[1]), None)]
        merged = VectorCopy().merge(parts)
        made = vector_arrays(np.concatenate([vectors[0][mask], vectors[1]]))
    with signed(fewest=100):
        assert "sign_bits" not in VectorCopy().merge(parts)
    assert sorted(merged) == sorted(made)
    for name in set(made) - {"sign_bits"}:
        assert np.asarray(merged[name]) == pytest.approx(
            made[name], abs=0.1
        )  # the mean of both parts' means is another one
    assert np.bitwise_count(np.asarray(merged["sign_bits"]) ^ made["sign_bits"]).sum() < 0.1 * 8 * made["sign_bits"].size


@pytest.mark.parametrize("name", ["sign_bits", "codes"])
def test_a_comparison_with_the_stored_vectors_notices_other_signs_and_codes(name):
    vectors = random.standard_normal((30, 40)).astype(np.float32)
    document = DocumentToWrite(Row("a", "", V, 30), [""] * 30, [{}] * 30, vectors)
    with signed():
        arrays = VectorCopy().of([document])
    assert VectorCopy().comparing(arrays)(0, document) == []
    arrays[name][7, 3] ^= 1
    assert VectorCopy().comparing(arrays)(0, document) == [7]


def test_a_search_takes_no_references_to_none_away() -> None:
    # Before Python 3.12, a process whose last reference to None goes is aborted.
    copy = Copy({"a": chance.standard_normal((200, 8))})
    everything = Selection(frozenset("a"), 200)
    before = sys.getrefcount(None)
    for _ in range(500):
        scan(copy.snapshot, copy.catalogue, everything, [[1.0] * 8], 3)
    assert sys.getrefcount(None) > before - 400

"""Which leaves of several segments are current, and where they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.engines import StaleRead
from leafspan.segments import MirrorSnapshot
from leafspan.segments._mirror import MOST_SEGMENTS, segments_to_merge
from leafspan.segments._segment import Segment
from leafspan.segments._snapshot import OpenSegment
from leafspan.store import Catalogue, DocumentTable, Numbering, Row, Selection
from leafspan.values import LeafId
from tests.profiles import examples

V, W = "00000000", "11111111"


def segment(*documents: tuple[str, str, int]) -> OpenSegment:
    """These documents, as (id, version, number of leaves)."""
    return OpenSegment(Segment(DocumentTable.of(documents), {"n": np.arange(sum(size for *_, size in documents))}), None)


def rows_of(snapshot: MirrorSnapshot, *leaves: tuple[str, int]) -> list[int]:
    return snapshot.rows(snapshot.catalogue, [LeafId(id_, V, ordinal) for id_, ordinal in leaves])


def catalogue(*documents: tuple[str, str | None, int]) -> Catalogue:
    return Catalogue({id_: Row(id_, "", version, leaves) for id_, version, leaves in documents})


ONE = segment(("a", V, 2), ("b", V, 3))
OTHER = segment(("b", W, 1), ("c", V, 2))
CURRENT = catalogue(("a", V, 2), ("b", W, 1), ("c", V, 2))


def test_leaves_are_numbered_through_all_segments_dead_ones_included():
    snapshot = MirrorSnapshot(CURRENT, [ONE, OTHER])
    assert (snapshot.leaves, snapshot.live) == (8, [2, 3])
    assert [snapshot.leaves_in([row])[0] for row in (0, 1, 2, 4, 5, 6, 7)] == [
        *(LeafId("a", V, 0), LeafId("a", V, 1), LeafId("b", V, 0), LeafId("b", V, 2)),
        *(LeafId("b", W, 0), LeafId("c", V, 0), LeafId("c", V, 1)),
    ]
    assert rows_of(snapshot, ("c", 1), ("a", 0), ("b", 0), ("c", 0)) == [7, 0, 5, 6]
    assert snapshot.current_documents(0) == [("a", V, 2)]
    assert snapshot.current_documents(1) == [("b", W, 1), ("c", V, 2)]


@pytest.mark.parametrize("leaf", [("a", 2), ("a", 9), ("b", 1), ("unknown", 0)])
def test_reading_starts_again_for_a_leaf_that_is_not_current(leaf):
    """Such as the one behind a document's last, whose row belongs to the next document."""
    with pytest.raises(StaleRead):
        rows_of(MirrorSnapshot(CURRENT, [ONE, OTHER]), leaf)


def test_a_document_counts_in_the_first_of_the_segments_that_have_it():
    twin = segment(("a", V, 2), ("c", V, 2))
    snapshot = MirrorSnapshot(CURRENT, [ONE, twin, OTHER])
    assert snapshot.live == [2, 2, 1]
    assert rows_of(snapshot, ("a", 0), ("c", 0)) == [0, 7]
    # And in another one as soon as the first is gone, even if it was found before: segments are shared by snapshots.
    assert MirrorSnapshot(CURRENT, [twin, OTHER]).live == [4, 1]
    assert MirrorSnapshot(CURRENT, [twin, ONE, OTHER]).live == [4, 0, 1]


def test_a_document_with_another_number_of_leaves_is_missing():
    assert [row.document_id for row in MirrorSnapshot(catalogue(("a", V, 3)), [ONE]).missing()] == ["a"]


def test_what_is_missing_are_documents_that_have_leaves():
    now = catalogue(("a", V, 2), ("empty", V, 0), ("going", None, 2), ("b", W, 1), ("new", V, 1))
    assert [row.document_id for row in MirrorSnapshot(now, [ONE]).missing()] == ["b", "new"]
    assert MirrorSnapshot(CURRENT, [ONE, OTHER]).missing() == []


documents = st.tuples(st.sampled_from("abcdef"), st.sampled_from([V, W]))
several = st.lists(st.lists(documents, max_size=4, unique_by=lambda each: each[0]), max_size=4)
SIZES = {(id_, version): 1 + (ord(id_) + ord(version[0])) % 3 for id_ in "abcdef" for version in (V, W)}


@examples(200)
@given(several, st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([V, W])), st.sets(st.sampled_from("abcdefg")))
def test_each_current_leaf_that_is_there_has_one_row_and_no_other_leaf_is_selected(drawn, current, chosen):
    segments = [segment(*((id_, version, SIZES[id_, version]) for id_, version in each)) for each in drawn]
    now = catalogue(*((id_, version, SIZES[id_, version]) for id_, version in current.items()))
    snapshot = MirrorSnapshot(now, segments)
    there = {each for one in drawn for each in one} & set(current.items())
    missing = {row.document_id for row in snapshot.missing()}
    assert missing == current.keys() - {id_ for id_, _ in there}

    rows = {}
    for id_, version in there:
        for ordinal in range(SIZES[id_, version]):
            [row] = rows_of(snapshot, (id_, ordinal))
            rows[row] = LeafId(id_, version, ordinal)
            assert snapshot.leaves_in([row])[0] == rows[row]
    assert len(rows) == sum(SIZES[each] for each in there) == sum(snapshot.live)

    assert snapshot.leaves_in(list(rows)) == list(rows.values())

    selection, others = Selection(frozenset(chosen), 0), Selection(frozenset("abcdefg") - chosen, 0)
    mask = snapshot.mask(selection)
    assert mask.shape == (snapshot.leaves,)
    numbering = Numbering([*current], [SIZES[each] for each in current.items()])
    assert numbering.is_certain
    array = np.array([id_ in chosen for id_ in current], bool)
    numbered = Selection(lambda: pytest.fail("ids were made"), 0, (numbering, array))
    assert snapshot.mask(numbered).tolist() == mask.tolist()
    assert [id_ in numbered for id_ in current] == [id_ in chosen for id_ in current]
    assert "unknown" not in numbered
    wanted = sorted(row for row, leaf in rows.items() if leaf.document_id in chosen)
    assert np.flatnonzero(mask).tolist() == wanted
    assert [snapshot.rows_in(each).tolist() for each in (selection, selection, others, selection)] == [
        *(wanted, wanted, sorted(rows.keys() - set(wanted)), wanted)
    ]


# Which segments are merged


def to_merge(*live_and_all: tuple[int, int]) -> list[int]:
    """The numbers of the segments to merge, given how many of their leaves are live, and how many they have."""
    segments = [segment(("x", V, size)) for _, size in live_and_all]
    return segments_to_merge([live for live, _ in live_and_all], segments)


def test_segments_that_are_mostly_dead_are_merged():
    assert to_merge((4, 10), (10, 10), (1, 10)) == [0, 2]
    assert to_merge((5, 10), (10, 10)) == []  # exactly half
    assert to_merge((0, 10), (10, 10)) == []  # wholly dead ones are removed instead


def test_eight_segments_are_not_too_many():
    assert to_merge(*[(10, 10)] * 8) == []
    assert to_merge(*[(10, 10)] * 9) == list(range(9))
    # Those that are merged anyway become one.
    assert to_merge((4, 10), (4, 10), *[(10, 10)] * 7) == [0, 1]


def test_a_large_segment_is_not_written_again_for_small_ones():
    assert to_merge((1000, 1000), *[(10, 10)] * 8) == list(range(1, 9))  # 80 together, less than half of 1000
    assert to_merge((160, 160), *[(10, 10)] * 8) == list(range(9))  # at most twice as large as the others together
    assert to_merge((161, 161), *[(10, 10)] * 8) == list(range(1, 9))


@examples(200)
@given(st.lists(st.integers(1, 100), max_size=30))
def test_merging_goes_on_until_few_are_left_that_are_not_large_and_makes_none_that_is_larger(sizes):
    most = max([100, *sizes])
    while numbers := segments_to_merge(sizes, [segment(("x", V, size)) for size in sizes], most):
        merged = [sizes[number] for number in numbers]
        assert len(merged) > 1
        assert sum(merged) <= most
        assert all(size <= most // 2 for size in merged)
        sizes = [size for number, size in enumerate(sizes) if number not in numbers] + [sum(merged)]
    assert sum(size <= most // 2 for size in sizes) <= MOST_SEGMENTS

"""A summary does not appear beside all of its leaves: laws, and the places where used text ends."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.spans import without_repeats
from leafspan.trace import Trace
from leafspan.values import Candidate, Covered, LeafId, Span, Summary


def leaf(ordinal: int, words: int = 1, document_id: str = "d") -> Candidate:
    return Candidate(Span(document_id, "00000000", ordinal, ordinal, (ordinal, 4 * ordinal)), 1.0, Trace(), {}, words)


def summary(place: int, *runs: tuple[int, int], words: int = 1, document_id: str = "d") -> Candidate:
    """Of the leaves in these runs."""
    covers = tuple(Covered(document_id, "00000000", first, last, 4 * first, 4 * last + 4) for first, last in runs)
    span = Span(document_id, "t0000000", place, place, (place, 0))
    return Candidate(span, 1.0, Trace(), {}, words, summary=Summary(1, (), covers))


def covered(found: Candidate) -> set[LeafId]:
    return {LeafId.parse(id_) for id_ in found.summary.leaf_ids} if found.summary else set()


def shown(found: list[Candidate]) -> list[str]:
    """``S0`` for a summary, ``0`` for a leaf."""
    return [f"{'S' * (each.summary is not None)}{each.span.first}" for each in found]


@st.composite
def results(draw: st.DrawFn) -> list[Candidate]:
    """Leaves and summaries of two documents in any order, each once."""
    items = []
    for document_id in ("d", "e"):
        for ordinal in range(draw(st.integers(0, 5))):
            items.append(leaf(ordinal, draw(st.integers(0, 9)), document_id))
        for place in range(draw(st.integers(0, 4))):
            ordinals = sorted(draw(st.sets(st.integers(0, 5), min_size=1, max_size=4)))
            runs = [(n, n) for n in ordinals]
            items.append(summary(place, *runs, words=draw(st.integers(0, 9)), document_id=document_id))
    return draw(st.permutations(items))


limits = st.fixed_dictionaries(
    {"results": st.none() | st.integers(1, 8), "words": st.none() | st.integers(1, 30)},
)


def used(found: list[Candidate], *, results: int | None, words: int | None) -> list[Candidate]:
    """What fits of it: the first of all, and what comes before the first that does not fit."""
    sums = accumulate(each.words for each in found)
    fitting = [n for n, total in enumerate(sums, 1) if n == 1 or (words is None or total <= words)]
    count = next((n for n, fits in enumerate(fitting, 1) if n != fits), len(fitting) + 1) - 1
    return found[: count if results is None else min(count, results)]


@given(results(), limits)
def test_the_order_is_kept_and_nothing_comes_in(found, limits):
    left = without_repeats(found, **limits)
    places = [found.index(each) for each in left]
    assert places == sorted(set(places))


@given(results(), limits)
def test_no_leaf_is_left_out(found, limits):
    left = without_repeats(found, **limits)
    assert [each for each in left if not each.summary] == [each for each in found if not each.summary]


@given(results())
def test_only_summaries_whose_leaves_are_all_there_are_removed(found):
    leaves = {id_ for each in found if not each.summary for id_ in each.span.leaf_ids}
    assert without_repeats(found) == [each for each in found if not each.summary or covered(each) - leaves]


@given(results(), limits)
def test_of_what_is_used_no_summary_stands_beside_all_of_its_leaves(found, limits):
    there = used(without_repeats(found, **limits), **limits)
    leaves = {id_ for each in there if not each.summary for id_ in each.span.leaf_ids}
    assert all(covered(each) - leaves for each in there if each.summary)


@given(results(), limits)
def test_what_is_cut_off_takes_no_summary_s_place(found, limits):
    left = without_repeats(found, **limits)
    there = used(left, **limits)
    leaves = {id_ for each in there if not each.summary for id_ in each.span.leaf_ids}
    last = found.index(there[-1]) if there else -1
    assert all(not covered(each) - leaves for each in found[:last] if each not in there)


@given(results(), limits)
def test_removing_repeats_is_idempotent(found, limits):
    left = without_repeats(found, **limits)
    assert without_repeats(left, **limits) == left


@given(results(), limits, st.data())
def test_what_is_used_stays_the_same_however_the_list_goes_on(found, limits, data):
    whole = used(without_repeats(found, **limits), **limits)
    count = data.draw(st.integers(0, len(found)))
    part = without_repeats(found[:count], **limits)
    fits = used(part, **limits)
    if len(fits) < len(part):  # it ended within this part
        assert whole == fits


def test_the_input_is_not_changed():
    found = [summary(0, (0, 1)), leaf(0), leaf(1)]
    before = list(found)
    without_repeats(found)
    assert found == before


@pytest.mark.parametrize(
    ("found", "limits", "expected"),
    [
        ([], {}, []),
        ([summary(0, (0, 1)), leaf(0)], {}, ["S0", "0"]),
        ([summary(0, (0, 1)), leaf(0), leaf(1)], {}, ["0", "1"]),
        ([leaf(1), leaf(0), summary(0, (0, 1))], {}, ["1", "0"]),
        # What two summaries share goes with neither of them, and a leaf of another document is another.
        ([summary(0, (0, 1)), summary(1, (1, 2)), leaf(1)], {}, ["S0", "S1", "1"]),
        ([summary(0, (0, 0)), leaf(0, document_id="e")], {}, ["S0", "0"]),
        # A summary above another is compared by its leaves, too.
        ([summary(1, (0, 1)), summary(0, (0, 0)), leaf(0)], {}, ["S1", "0"]),
        # The second result is the last: leaf 1 is cut off, and S0 stays.
        ([summary(0, (0, 1)), leaf(0), leaf(1)], {"results": 2}, ["S0", "0", "1"]),
        ([summary(0, (0, 1)), leaf(0), leaf(1)], {"results": 3}, ["0", "1"]),
        # 6 + 3 + 3 > 11, but 6 + 3 + 3 = 12
        ([summary(0, (0, 1), words=6), leaf(0, 3), leaf(1, 3)], {"words": 11}, ["S0", "0", "1"]),
        ([summary(0, (0, 1), words=6), leaf(0, 3), leaf(1, 3)], {"words": 12}, ["0", "1"]),
        # S0 frees 6 of 12 words, into which leaf 2 and S1 fit: 3 + 3 + 3 + 3 = 12
        (
            [
                summary(0, (0, 1), words=6),
                leaf(0, 3),
                leaf(1, 3),
                leaf(2, 3),
                summary(1, (3, 4), words=3),
                leaf(3, 3),
                leaf(4),
            ],
            {"words": 12},
            ["0", "1", "2", "S1", "3", "4"],
        ),
        # S0 frees 2 of 6 words: leaf 2 takes 1 and S1 the other: 2 + 2 + 1 + 1 = 6
        (
            [summary(0, (0, 1), words=2), leaf(0, 2), leaf(1, 2), leaf(2), summary(1, (3, 3)), leaf(3)],
            {"words": 6},
            ["0", "1", "2", "S1", "3"],
        ),
        # The first stays even where it alone is over; what comes then does not fit.
        ([summary(0, (0, 0), words=9), leaf(0, 3)], {"words": 5}, ["S0", "0"]),
    ],
)
def test_summaries_are_removed_in_these_cases(found, limits, expected):
    assert shown(without_repeats(found, **limits)) == expected

from __future__ import annotations

import pytest

from leafspan.spans._windows import grown_within

WORDS = {1: 5, 2: 3, 3: 1, 4: 2, 5: 9}


@pytest.mark.parametrize(
    ("limit", "grown"),
    [
        (0, (3, 3)),  # it is longer than that already
        (2, (3, 3)),
        (3, (3, 4)),  # the one before has three words, which are too many
        (4, (2, 3)),
        (6, (2, 4)),
        (10, (2, 4)),
        (11, (1, 4)),
        (19, (2, 5)),  # the side that has grown by fewer words comes first
        (20, (1, 5)),
        (99, (1, 5)),
    ],
)
def test_a_leaf_grows_on_both_sides_for_as_long_as_they_fit(limit: int, grown: tuple[int, int]) -> None:
    assert grown_within(3, 3, 1, 5, WORDS, limit) == grown


def test_what_has_reached_its_bounds_does_not_grow() -> None:
    assert grown_within(3, 3, 3, 3, WORDS, 99) == (3, 3)
    assert grown_within(3, 3, 3, 4, WORDS, 99) == (3, 4)
    assert grown_within(3, 3, 2, 3, WORDS, 99) == (2, 3)

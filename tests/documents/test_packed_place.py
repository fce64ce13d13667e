"""The stored form of a leaf's place. Indexes hold these strings, so that they never change within a format."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leafspan.documents import pack_place, unpack_place
from leafspan.errors import IndexMismatch
from leafspan.values import Ancestor, Leaf, LeafId

ID = LeafId("a#b", "0a1b2c3d", 3)
LEAF = Leaf(
    "a#b",
    "0a1b2c3d",
    ordinal=3,
    start=40,
    end=57,
    words=4,
    ancestors=(
        Ancestor(first=2, last=5, children=4, start=30, end=80, words=12),
        Ancestor(first=0, last=9, children=2, start=0, end=120, words=20),
    ),
)
PACKED = "1|3,40,57,4|2,5,4,30,80,12|0,9,2,0,120,20"


def test_a_place_is_stored_as_this_string():
    assert pack_place(LEAF) == PACKED
    assert unpack_place(ID, PACKED) == LEAF


@pytest.mark.parametrize("levels", [0, 1, 2, 3])
def test_a_place_has_as_many_ancestors_as_the_splitter_has_levels(levels):
    parent, section = LEAF.ancestors
    chapter = section._replace(last=19, end=240, words=40)
    leaf = replace(LEAF, ancestors=(parent, section, chapter)[3 - levels :])
    assert unpack_place(ID, pack_place(leaf)) == leaf


@pytest.mark.parametrize("format_", ["0", "2", "11", ""])
def test_a_place_in_another_format_is_refused(format_):
    with pytest.raises(
        IndexMismatch,
        match=rf"^leaf 'a#b#0a1b2c3d#3' is stored in format '{format_}', this version of leafspan reads '1'$",
    ):
        unpack_place(ID, PACKED.replace("1", format_, 1))


@pytest.mark.parametrize(
    ("packed", "message"),
    [
        ("1|4,40,57,4", "its place belongs to leaf 4"),
        ("1|3,57,40,4", "its place ends before it starts, at 57 and 40"),
        ("1|3,40,57", "its place must be 4 whole numbers, got '3,40,57'"),
        (
            "1|3,40,57,4|2,5,4,30,80,12|1,9,2,0,120,20",
            "its last ancestor does not begin where the document does: '2,5.*20'",
        ),
        ("1|3,40,57,4|2,5,4,30,80,12|3,9,2,0,120,20", "its ancestors are not within each other: '2,5.*20'"),
    ],
)
def test_an_impossible_place_is_refused(packed, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        unpack_place(ID, packed)


@pytest.mark.parametrize(
    "parent",
    [
        "2,5,5,30,80,12",  # 5 children of 4 leaves
        "2,5,0,30,80,12",  # none
        "5,2,1,30,80,12",  # leaves that end before they begin
        "2,5,4,80,30,12",  # a text that does
    ],
)
def test_an_impossible_parent_is_refused(parent):
    with pytest.raises(ValueError, match=f"^one of its ancestors is impossible: '{parent}'$"):
        unpack_place(ID, PACKED.replace("2,5,4,30,80,12", parent))

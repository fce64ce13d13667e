"""What is read is as it was written: by its checksums, or by its length in a row that has none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from leafspan.reserved import STRUCTURE_KEY
from leafspan.store._as_written import check_record, check_text, read_place
from leafspan.store._checksums import pack_checksums
from leafspan.store._manifest import Row
from leafspan.values import LeafId

LEAF = LeafId("d", "00000000", 0)
TEXT = "Bees dance."
PLACE = "1|0,0,11,2|0,0,1,0,11,2|0,1,2,0,20,4"


def row(checksums: str = "") -> Row:
    return Row("d", "hash", LEAF.version, 2, characters=20, checksums=checksums)


def record(text: str | None = TEXT, place: str = PLACE) -> dict[str, Any]:
    return {"document": text, "metadata": {STRUCTURE_KEY: place}}


@pytest.mark.parametrize("text", ["", TEXT])
def test_a_text_is_told_by_its_checksum(text: str):
    written = row(pack_checksums([(text, PLACE)]))
    check_text(written, LEAF, record(text))
    with pytest.raises(ValueError, match=r"^the text of its leaf 0 is not as it was written$"):
        check_text(written, LEAF, record("Bees sleep."))


def test_without_checksums_a_text_of_its_length_is_taken_for_it_whatever_its_parents_are():
    check_text(row(), LEAF, record())
    check_text(row(), LEAF, record(place=PLACE.replace("0,1,2,0,20,4", "1,0,2,0,20,4")))
    with pytest.raises(ValueError, match=r"^its leaf 0 has 3 characters, and 11 by its place$"):
        check_text(row(), LEAF, record("Bee"))


@pytest.mark.parametrize("metadata", [None, {}, {STRUCTURE_KEY: 7}])
def test_a_place_that_is_missing_is_named(metadata: dict[str, Any] | None):
    with pytest.raises(ValueError, match=r"^the place of its leaf 0 is missing$"):
        check_record(row(), LEAF, TEXT, metadata)


def test_a_text_that_is_missing_is_named():
    for missing, what in ((None, "its leaf 0"), (record(None), "the text of its leaf 0")):
        with pytest.raises(ValueError, match=f"^{what} is missing$"):
            check_text(row(), LEAF, missing)


@pytest.mark.parametrize(
    ("leaves", "characters", "place"),
    [
        (2, 19, PLACE),
        (2, 21, PLACE),
        (3, 20, PLACE),
        (2, 10, "1|0,0,11,2"),  # without parents only its own end tells
    ],
)
def test_without_checksums_the_place_of_a_leaf_is_within_the_length_of_its_document(leaves, characters, place):
    assert (read_place(row(), LEAF, TEXT, {STRUCTURE_KEY: place}).start, len(TEXT)) == (0, 11)
    other = replace(row(), leaves=leaves, characters=characters)
    with pytest.raises(ValueError, match=r"^its leaf 0 has a place in a text of another length: '1\|0,0,11,2"):
        read_place(other, LEAF, TEXT, {STRUCTURE_KEY: place})

"""Checksums show that records are read as they were written."""

from __future__ import annotations

from typing import Any

import pytest

from leafspan.checks import STRUCTURE_KEY
from leafspan.engines import Record
from leafspan.store._damage import check_record, check_text, pack_checksums
from leafspan.store._manifest import Row
from leafspan.values import LeafId

LEAF = LeafId("d", "00000000", 0)
TEXT = "Bees dance."
PLACE = "1|0,0,11,2|0,0,1,0,11,2|0,1,2,0,20,4"


def row(checksums: str = "") -> Row:
    return Row("d", "hash", LEAF.version, 2, characters=20, checksums=checksums)


def record(text: str | None = TEXT, place: str = PLACE) -> Record:
    return Record(str(LEAF), text, {STRUCTURE_KEY: place})


@pytest.mark.parametrize("text", ["", TEXT])
def test_a_text_is_recognised_by_its_checksum(text: str):
    written = row(pack_checksums([(text, PLACE)]))
    check_text(written, LEAF, record(text))
    with pytest.raises(ValueError, match=r"^the text of its leaf 0 is not as it was written$"):
        check_text(written, LEAF, record("Bees sleep."))


@pytest.mark.parametrize("metadata", [None, {}, {STRUCTURE_KEY: 7}])
def test_a_place_that_is_missing_is_named(metadata: dict[str, Any] | None):
    with pytest.raises(ValueError, match=r"^the place of its leaf 0 is missing$"):
        check_record(row(), LEAF, TEXT, metadata)


def test_a_text_that_is_missing_is_named():
    for missing, what in ((None, "its leaf 0"), (record(None), "the text of its leaf 0")):
        with pytest.raises(ValueError, match=f"^{what} is missing$"):
            check_text(row(), LEAF, missing)

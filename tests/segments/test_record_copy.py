"""Leaves from the copy of texts, places and metadata."""

from __future__ import annotations

import numpy as np
import pytest

from leafspan.checks import STRUCTURE_KEY
from leafspan.engines import Record
from leafspan.segments import RecordCopy, records_in
from leafspan.segments._segment import Segment
from leafspan.segments._snapshot import MirrorSnapshot, OpenSegment
from leafspan.store import Catalogue, DocumentTable, DocumentToWrite, Row, pack_checksums
from leafspan.values import LeafId

V = "00000000"
IDS = [LeafId("tea", V, 0), LeafId("tea", V, 1)]
TEXTS = ["Green tea. ", "Ein Löffel Süßes."]
PLACES = ["1|0,0,11,2", "1|1,11,28,3"]
BOTH = ["text", "metadata"]


def arrays() -> dict[str, np.ndarray]:
    metadatas = [{"year": 2020, STRUCTURE_KEY: place} for place in PLACES]
    row = Row("tea", "", V, len(TEXTS))
    made = RecordCopy().of([DocumentToWrite(row, TEXTS, metadatas, np.zeros((2, 1)))])
    return {name: array.copy() for name, array in made.items()}


def snapshot(arrays: dict[str, np.ndarray], checksums: str) -> MirrorSnapshot:
    row = Row("tea", "", V, len(TEXTS), checksums=checksums)
    return MirrorSnapshot(
        Catalogue({"tea": row}), [OpenSegment(Segment(DocumentTable.of([("tea", V, len(TEXTS))]), arrays), None)]
    )


CHECKSUMS = pack_checksums(zip(TEXTS, PLACES, strict=True))


@pytest.mark.parametrize("checksums", [CHECKSUMS, ""])
def test_only_the_columns_that_are_asked_for_are_read(checksums: str):
    copy = snapshot(arrays(), checksums)
    checked = set(IDS) if checksums else set()
    texts = {id_: Record(str(id_), text) for id_, text in zip(IDS, TEXTS, strict=True)}
    assert records_in(copy, IDS, ["text"]) == (texts, checked)
    both = {
        id_: Record(str(id_), text, {"year": 2020, STRUCTURE_KEY: place})
        for id_, text, place in zip(IDS, TEXTS, PLACES, strict=True)
    }
    assert records_in(copy, IDS, BOTH) == (both, checked)


def test_a_text_that_is_damaged_is_not_given_out_and_no_error():
    damaged = arrays()
    damaged["texts"][14] = 0xFF  # no text any more
    copy = snapshot(damaged, CHECKSUMS)
    assert list(records_in(copy, IDS, ["text"]).records) == list(records_in(copy, IDS, BOTH).records) == IDS[:1]


def test_a_place_that_is_damaged_keeps_back_what_has_a_place():
    damaged = arrays()
    damaged["places"][2] ^= 1
    copy = snapshot(damaged, CHECKSUMS)
    assert list(records_in(copy, IDS, BOTH).records) == IDS[1:]
    assert list(records_in(copy, IDS, ["text"]).records) == IDS


@pytest.mark.parametrize("id_", [("tea", V, 2), ("tea", V, -1), ("tea", "11111111", 0), ("honey", V, 0)])
def test_what_is_not_there_is_left_out(id_: tuple[str, str, int]):
    assert records_in(snapshot(arrays(), CHECKSUMS), [LeafId(*id_)], BOTH) == ({}, set())


@pytest.mark.parametrize("value", [2020, ["a", "b"]])
def test_leaves_with_the_same_metadata_get_a_mapping_each(value: object):
    metadatas = [{"of": value, STRUCTURE_KEY: place} for place in PLACES]
    row = Row("tea", "", V, len(TEXTS))
    made = RecordCopy().of([DocumentToWrite(row, TEXTS, metadatas, np.zeros((2, 1)))])
    first, second = (records_in(snapshot(made, ""), IDS, BOTH).records[id_].metadata for id_ in IDS)
    assert [first, second] == metadatas
    assert first is not second
    assert not isinstance(value, list) or first["of"] is not second["of"]

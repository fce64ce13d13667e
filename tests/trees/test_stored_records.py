"""The stored form of summaries and trees. Indexes hold these values, so that they never change within a format."""

from __future__ import annotations

import pytest

from leafspan.errors import IndexMismatch
from leafspan.store import Row
from leafspan.trees._records import SummaryRecord, TreeRecord
from leafspan.values import Covered

RECORD = SummaryRecord(
    layer=2,
    words=75,
    children=("a#t1234567#0", "ä#0a1b2c3d#7"),
    covers=("whole", Covered("ä", "0a1b2c3d", first=4, last=7, start=80, end=160)),
    key=":0f0f",
)
PACKED = '[1,2,75,["a#t1234567#0","ä#0a1b2c3d#7"],["whole",["ä","0a1b2c3d",4,7,80,160]],":0f0f"]'


def test_a_summary_is_stored_as_this_string():
    assert RECORD.pack() == PACKED
    assert SummaryRecord.unpack(PACKED) == RECORD


@pytest.mark.parametrize(("stored", "shown"), [("0", "0"), ("2", "2"), ('"1"', "'1'")])
def test_a_summary_in_another_format_is_refused(stored, shown):
    with pytest.raises(IndexMismatch, match=rf"^a summary is stored in format {shown}, this version of leafspan reads 1$"):
        SummaryRecord.unpack(f"[{stored}{PACKED.removeprefix('[1')}")


SHARED = {"layers": [1, 1, 2], "tops": [2], "bare": [9], "keys": [":0a", ":0b", ":0c"], "summarizer": "Extractive(1)"}


def test_the_tree_of_a_document_is_stored_under_these_keys():
    record = TreeRecord(**SHARED, document_version="0a1b2c3d")
    stored = {"of": "0a1b2c3d", **SHARED}
    assert record.pack() == stored
    assert list(record.pack()) == list(stored)
    assert TreeRecord.of(Row("a", "", "t1234567", 3, extra=stored)) == record
    assert record.is_of_document


def test_a_summary_of_several_documents_is_stored_under_these_keys():
    record = TreeRecord(**SHARED, view="@0f0f", children=["a#t1234567#0", "b#t7654321#0"])
    stored = {"view": "@0f0f", "children": ["a#t1234567#0", "b#t7654321#0"], **SHARED}
    assert record.pack() == stored
    assert list(record.pack()) == list(stored)
    assert TreeRecord.of(Row("x", "", "t1234567", 1, extra=stored)) == record
    assert not record.is_of_document


def test_a_tree_that_is_being_written_for_the_first_time_has_no_summaries():
    assert TreeRecord.of(Row("a", "", None, 0)) == TreeRecord([], [], [], [], "")

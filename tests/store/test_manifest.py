"""The stored form of the manifest's rows. Indexes hold these strings, so that they never change within a format."""

from __future__ import annotations

import base64
import zlib
from dataclasses import replace

from leafspan.engines import Record
from leafspan.store import Row
from leafspan.store._damage import pack_checksums
from leafspan.store._manifest import CHANGES_ID, Damage, grouped, row_records, token_record, unpack_rows, unpack_token
from leafspan.values import Section

ROW = Row(
    "plan",
    "5d41",
    "0a1b2c3d",
    12,
    leftovers=(("ffffffff", 3), ("eeeeeeee", 4)),
    title="Plän",
    metadata={"year": 2024, "tags": ["a", "b"]},
    language="de",
    sections=(Section(2, 5, 1, "The budget"), Section(3, 3, 2, "Salaries")),
    characters=900,
    words=150,
    lines="0,3,1,2",
    extra={"of": "0a1b2c3d"},
    checksums="AAAA9zJt+MEnxV5f",
)
BODY = (
    '{"hash":"5d41","version":"0a1b2c3d","leaves":12,"litter":[["ffffffff",3],["eeeeeeee",4]],"lang":"de","title":"Plän",'
    '"metadata":{"year":2024,"tags":["a","b"]},"sections":[[2,5,1,"The budget"],[3,3,2,"Salaries"]],'
    '"characters":900,"words":150,"lines":"0,3,1,2","more":{"of":"0a1b2c3d"}'
)
CHECKS = ',"checks":"AAAA9zJt+MEnxV5f"'
PACKED = BODY + CHECKS + ',"crc":"8e5f5c99"}'
EMPTY = (
    '{"hash":"","version":null,"leaves":0,"litter":[],"lang":null,"title":null,"metadata":{},"sections":[],'
    '"characters":0,"words":0,"lines":"","more":{},"checks":""'
)


def test_a_row_is_stored_as_this_string():
    assert row_records([ROW]) == [Record("plan", metadata={"row": PACKED})]
    assert row_records([Row("plan", "", None, 0)])[0].metadata == {"row": EMPTY + ',"crc":"8df6f156"}'}


def test_a_row_is_read_from_this_string():
    records = {each.id: each for each in row_records([ROW, Row("empty", "", None, 0)])}
    assert unpack_rows(records) == {"plan": ROW, "empty": Row("empty", "", None, 0)}


def test_the_checksum_of_a_row_is_the_crc_32_of_the_id_of_its_document_and_what_comes_before():
    assert PACKED.endswith(f',"crc":"{zlib.crc32(("plan " + BODY + CHECKS).encode()):08x}"}}')
    (elsewhere,) = unpack_rows({"map": Record("map", metadata={"row": PACKED})}).values()
    assert elsewhere.damage == Damage("its row in the manifest is damaged: its checksum is another one", in_row=True)


def test_a_row_knows_the_checksum_that_is_stored_with_it():
    assert ROW.crc == "8e5f5c99"
    assert replace(ROW, title='A "plan"').crc != ROW.crc


def test_a_checksum_of_a_leaf_is_24_bits_of_the_crc_32_of_its_text_and_as_many_of_its_place_in_base64():
    bits = [zlib.crc32(part.encode()).to_bytes(4, "big")[1:] for part in ("Bees dance.", "1|1,0,11,2")]
    assert pack_checksums([("Bees dance.", "1|1,0,11,2")]) == "".join(base64.b64encode(each).decode() for each in bits)


def test_headings_are_those_over_all_of_the_leaves():
    row = replace(
        ROW, sections=(Section(0, 9, 1, "Bees"), Section(1, 4, 2, "Dance"), Section(2, 3, 4, "Round"), Section(5, 9, 2, ""))
    )
    assert row.headings([(2, 3)]) == ("Bees", "Dance", "Round")
    assert row.headings([(1, 3)]) == ("Bees", "Dance")
    assert row.headings([(2, 2), (4, 4)]) == ("Bees", "Dance")
    assert row.headings([(3, 5)]) == ("Bees",)
    assert row.headings([(6, 6)]) == ("Bees",)
    assert row.headings([(9, 10)]) == ()


def test_a_heading_without_text_below_it_is_not_over_the_next_one_of_its_depth():
    row = replace(ROW, sections=(Section(0, 3, 1, "Bees"), Section(1, 1, 2, "Empty"), Section(1, 3, 2, "Dance")))
    assert row.headings([(1, 1)]) == ("Bees", "Dance")


def test_the_token_of_the_changes_is_stored_under_this_key_and_is_no_row():
    assert token_record("7f") == Record(CHANGES_ID, metadata={"token": "7f"})
    records = {CHANGES_ID: token_record("7f")}
    assert unpack_token(records) == "7f"
    assert unpack_token({}) is None
    assert unpack_rows(records) == {}


def test_a_row_is_half_done_while_another_version_may_have_leaves_or_none_is_current():
    assert ROW.is_half_done
    assert Row("plan", "", None, 0).is_half_done
    assert not Row("plan", "", "0a1b2c3d", 0).is_half_done


def test_every_group_but_the_last_has_at_least_as_many_leaves_as_asked_for():
    rows = [Row(str(n), "", "v", leaves) for n, leaves in enumerate([3, 3, 9, 0, 2])]
    assert [[row.leaves for row in group] for group in grouped(rows, 5)] == [[3, 3], [9], [0, 2]]
    assert list(grouped([], 5)) == []

"""Arrays of a file: only the needed part is read, and it equals what was written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.segments import _stored_arrays as stored_arrays
from leafspan.segments import in_parts
from leafspan.segments._segment import Segment, read_segment, write_segment
from leafspan.segments._stored_arrays import BLOCK, DamagedSegment, StoredArrays
from leafspan.store import DocumentTable
from tests.profiles import examples

ROWS = 40
VECTORS = np.arange(ROWS * 300, dtype=np.float32).reshape(ROWS, 300)  # of 1,200 bytes each, three or four in a block
NUMBERS = np.arange(3 * BLOCK, dtype=np.uint8)
ARRAYS = {"vectors": VECTORS, "numbers": NUMBERS, "few": np.arange(5, dtype=np.int64), "none": np.empty((0, 7), np.float32)}


def stored(folder: Path) -> StoredArrays:
    write_segment(folder / "one", Segment(DocumentTable.of([("a", "0123abcd", ROWS)]), ARRAYS))
    return opened(folder)


def opened(folder: Path) -> StoredArrays:
    arrays = read_segment(folder / "one").arrays
    assert isinstance(arrays, StoredArrays)
    return arrays


def flip(folder: Path, value: np.ndarray) -> None:
    """Change one bit of the first place in the file that has these bytes."""
    content = bytearray((folder / "one").read_bytes())
    content[content.index(value.tobytes())] ^= 1
    with (folder / "one").open("r+b") as file:
        file.write(content)


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of what is compared with a checksum in arrays."""
    lengths: list[int] = []
    original = stored_arrays.zlib.crc32

    class Counting:
        @staticmethod
        def crc32(content: memoryview, *rest: int) -> int:
            lengths.append(len(content))
            return original(content, *rest)

    monkeypatch.setattr(stored_arrays, "zlib", Counting)
    return lengths


rows_asked = (
    st.lists(st.integers(0, ROWS - 1), max_size=9).map(lambda rows: np.array(rows, dtype=np.intp))
    | st.slices(ROWS).filter(lambda each: each.step in (None, 1))
    | st.none()
)


@examples(100, fast=30)
@given(st.lists(st.tuples(st.sampled_from(["vectors", "numbers"]), rows_asked), max_size=6))
def test_rows_match_the_array(tmp_path_factory, asked):
    arrays = stored(tmp_path_factory.mktemp("arrays"))
    assert list(arrays) == list(ARRAYS)
    for name, rows in asked:
        part = in_parts(arrays, name)
        assert len(part) == len(ARRAYS[name])
        if rows is None:
            np.testing.assert_array_equal(np.asarray(part), ARRAYS[name], strict=True)
        else:
            np.testing.assert_array_equal(part[rows], ARRAYS[name][rows], strict=True)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array, strict=True)


def test_opening_compares_no_array_and_reading_rows_only_their_blocks_once(tmp_path: Path, compared: list[int]):
    stored(tmp_path)
    compared.clear()
    part = in_parts(opened(tmp_path), "vectors")
    assert compared == []
    for _ in range(2):
        part[np.array([0, 1, 39])]
        part[0:2]
        assert len(compared) == 1 + 1 + (39 * 1200 // BLOCK != 40 * 1200 // BLOCK)
        assert max(compared) <= BLOCK


@pytest.mark.parametrize("row", range(0, ROWS, 3))
def test_a_bit_that_has_flipped_is_noticed_by_who_reads_its_block(tmp_path: Path, row: int):
    stored(tmp_path)
    flip(tmp_path, VECTORS[row, :2])
    block = (row * 1200) // BLOCK
    for other in range(ROWS):
        arrays = opened(tmp_path)
        if block in range(other * 1200 // BLOCK, ((other + 1) * 1200 - 1) // BLOCK + 1):
            for rows in (np.array([other]), slice(other, other + 1)):
                with pytest.raises(DamagedSegment, match="one: its checksum does not match its content"):
                    in_parts(arrays, "vectors")[rows]
            assert arrays.file.problem is not None
        else:
            np.testing.assert_array_equal(in_parts(arrays, "vectors")[np.array([other])], VECTORS[[other]])
            assert arrays.file.problem is None
    with pytest.raises(DamagedSegment):
        opened(tmp_path)["vectors"]
    np.testing.assert_array_equal(opened(tmp_path)["numbers"], NUMBERS)


def test_a_bit_that_flips_while_the_file_is_open_is_noticed_where_it_was_not_read_yet(tmp_path: Path):
    arrays = stored(tmp_path)
    in_parts(arrays, "vectors")[np.array([0])]
    flip(tmp_path, VECTORS[20, :2])
    in_parts(arrays, "vectors")[np.array([0])]
    with pytest.raises(DamagedSegment):
        in_parts(arrays, "vectors")[np.array([20])]

"""Merged arrays that are joined when they are written."""

from __future__ import annotations

import zlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.segments import _segment
from leafspan.segments._segment import PiecedArray, Segment, read_segment, segment_bytes, write_segment
from leafspan.segments._segment_folder import SegmentFolder
from leafspan.segments._stored_arrays import BLOCK, checksums_of
from leafspan.store import DocumentTable
from tests.profiles import examples

DOCUMENTS = DocumentTable.of([("a", "00000000", 3), ("b", "00000000", 4)])


def parts_of(sizes: list[tuple[int, bool]], columns: int) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """Matrices of different numbers, each with a mask or none."""
    numbers = np.random.default_rng(0)
    return [
        (numbers.standard_normal((rows, columns)).astype(np.float32), numbers.random(rows) < 0.5 if masked else None)
        for rows, masked in sizes
    ]


@examples(60)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.booleans()), min_size=1, max_size=4), st.integers(1, 5), st.integers(1, 300)
)
def test_pieces_are_the_rows_that_masks_mark_in_order(sizes, columns, length):
    parts = parts_of(sizes, columns)
    whole = np.concatenate([array if mask is None else array[mask] for array, mask in parts])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_segment, "_BYTES", length)
        pieced = PiecedArray(parts)
        assert (pieced.dtype, pieced.shape, pieced.nbytes) == (whole.dtype, whole.shape, whole.nbytes)
        assert (np.asarray(pieced) == whole).all()
        assert all(piece.nbytes <= max(length, 4 * columns) for piece in pieced.pieces())
        merged = Segment(DOCUMENTS, {"vectors": pieced, "lengths": np.arange(5)})
        assert segment_bytes(merged.documents, merged.arrays) == segment_bytes(
            DOCUMENTS, {name: np.asarray(each) for name, each in merged.arrays.items()}
        )


@examples(100)
@given(st.lists(st.integers(0, 2 * BLOCK + 3), max_size=6))
def test_blocks_have_their_checksums_wherever_pieces_end(lengths):
    content = np.random.default_rng(1).bytes(sum(lengths))
    ends = np.cumsum([0, *lengths])
    pieces = [memoryview(content)[first:end] for first, end in pairwise(ends)]
    whole, blocks = checksums_of(pieces)
    assert whole == zlib.crc32(content)
    assert blocks.tolist() == [zlib.crc32(content[at : at + BLOCK]) for at in range(0, len(content), BLOCK)]


def test_a_merged_segment_is_read_from_its_file_and_put_together_where_none_can_be_written(tmp_path: Path):
    parts = parts_of([(3, False), (9, True)], 4)
    merged = Segment(DOCUMENTS, {"vectors": PiecedArray(parts)})
    write_segment(tmp_path / "one.segment", merged)
    written = read_segment(tmp_path / "one.segment", whole=True)
    in_memory = SegmentFolder(None).keep(merged)
    assert in_memory.path is None
    for segment in (written, in_memory):
        assert (segment.arrays["vectors"] == np.asarray(PiecedArray(parts))).all()

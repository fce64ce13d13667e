"""The arrays of a file, each part of which is compared with its checksum before it is read for the first time."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from leafspan.engines import StaleRead

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCK = 4096
"""Bytes that have a checksum, counted from the begin of an array."""


class DamagedSegment(StaleRead):
    """A part of a file is not as it was written. Reading starts again, without the file."""


class StoredArray(NamedTuple):
    """An array of a file.

    Attributes:
        array: The array, mapped from the file.
        content: Its bytes, and those up to the next array.
        checksum: CRC-32 of them.
        checksums: CRC-32 of each block (32 bits each).
    """

    array: NDArray[Any]
    content: memoryview
    checksum: int
    checksums: memoryview


class _File:
    """What is known of a file. Its arrays have this in common, and not each other, so that it is closed with the last one.

    Attributes:
        problem: What was found to be wrong; None as long as nothing was.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self.problem: str | None = None

    def damaged(self) -> DamagedSegment:
        """The error for what is not as it was written, which is noted."""
        self.problem = f"{self._what}: its checksum is not that of its content"
        return DamagedSegment(self.problem)


class StoredArrays(Mapping[str, Any]):
    """The arrays of a file by name. One that is asked for is compared with its checksum, unless it was before."""

    def __init__(self, arrays: Mapping[str, StoredArray], what: str) -> None:
        self._file = _File(what)
        self._parts = {name: ArrayInParts(self._file, each) for name, each in arrays.items()}
        self._checked: dict[str, NDArray[Any]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        array = self._checked.get(name)
        if array is None:
            array = self._checked[name] = self._parts[name].whole
        return array

    def __contains__(self, name: object) -> bool:
        return name in self._parts

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def in_parts(self, name: str) -> ArrayInParts:
        """An array of which only those parts are read that are asked for."""
        return self._parts[name]

    @property
    def problem(self) -> str | None:
        """What was found to be wrong; None as long as nothing was."""
        return self._file.problem


class ArrayInParts:
    """An array that reads only the blocks of the rows that are asked for."""

    def __init__(self, file: _File, stored: StoredArray) -> None:
        import numpy as np

        self._file = file
        self._array, self._bytes, self._checksum, self._checksums = stored
        self._row = self._array.nbytes // len(self._array) if len(self._array) else 0
        self._checked = bytearray(len(self._checksums))  # 1 for each block that was compared
        self._is_block_checked = np.frombuffer(self._checked, dtype=bool)
        self._is_checked = False

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> NDArray[Any]:
        """Rows, given by a slice without a step, or by their numbers."""
        if not self._is_checked:
            if isinstance(rows, slice):
                self.with_rows(*rows.indices(len(self._array))[:2])
            else:
                self._check_blocks_of(rows)
        return self._array[rows]

    def with_rows(self, start: int, end: int) -> NDArray[Any]:
        """All of it, of which only these rows may be read."""
        if not self._is_checked and start < end:
            self._check(start * self._row // BLOCK, -(-end * self._row // BLOCK))
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        import numpy as np

        return np.asarray(self.whole, dtype=dtype)

    @property
    def whole(self) -> NDArray[Any]:
        """All of it."""
        if not self._is_checked:
            if zlib.crc32(self._bytes) != self._checksum:
                raise self._file.damaged()
            self._is_checked = True
        return self._array

    def _check_blocks_of(self, rows: NDArray[np.intp]) -> None:
        firsts = rows * self._row // BLOCK
        lasts = (rows * self._row + max(0, self._row - 1)) // BLOCK
        if self._is_block_checked[firsts].all() and self._is_block_checked[lasts].all():
            return
        for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
            self._check(first, last + 1)

    def _check(self, first: int, end: int) -> None:
        """Compare the blocks from the first one up to the end that were not compared before."""
        while (block := self._checked.find(0, first, end)) >= 0:
            content = self._bytes[block * BLOCK : (block + 1) * BLOCK]
            if zlib.crc32(content) != self._checksums[block]:
                raise self._file.damaged()
            self._checked[block] = 1


def in_parts(arrays: Mapping[str, NDArray[Any]], name: str) -> Any:
    """An array of a segment from which rows are taken, of a file only those parts that have them."""
    return arrays.in_parts(name) if isinstance(arrays, StoredArrays) else arrays[name]


def with_rows(arrays: Mapping[str, NDArray[Any]], name: str, start: int, end: int) -> NDArray[Any]:
    """An array of a segment, of which only these rows may be read."""
    return arrays.in_parts(name).with_rows(start, end) if isinstance(arrays, StoredArrays) else arrays[name]


def checksums_of(content: memoryview, padding: bytes) -> tuple[int, array[int]]:
    """The checksum of an array's bytes with what follows them, and those of their blocks."""
    starts = range(0, len(content), BLOCK)
    blocks = array("I", [zlib.crc32(content[at : at + BLOCK]) for at in starts])
    if padding:  # a block is a multiple of what arrays are padded to, so that it is of the last block
        blocks[-1] = zlib.crc32(padding, blocks[-1])
    return zlib.crc32(padding, zlib.crc32(content)), blocks

"""The arrays of a file. Each part of them is compared with its checksum before it is first read."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from leafspan.engines import StaleRead
from leafspan.flows import NDArray, np

BLOCK = 4096  # number of bytes per checksum, counted from the start of an array


PIECE = 2 * BLOCK
"""Number of bytes that are fetched at once of a segment's file that is stored with an index behind a client."""


class PiecesMissing(Exception):
    """A query needs pieces of a file that were not fetched yet. The caller fetches the pieces, and reads again."""

    def __init__(self, pieces: Mapping[StoredFile, set[int]]) -> None:
        super().__init__(pieces)
        self.pieces = dict(pieces)


class DamagedSegment(StaleRead):
    """A part of a file is damaged. Reading starts again, without the file."""


class StoredFile:
    """The state of a file. Its arrays share this object instead of each other, so that the last array closes the file."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.problem: str | None = None
        self.is_fetched = False  # whether pieces are fetched when they are needed, so that one that differs may be missing
        self.is_gone = False  # others have merged the segment, so pieces can no longer be fetched
        self.fetched: set[int] = set()  # numbers of pieces

    def unlike(self, begin: int, end: int) -> Exception:
        """The error for bytes that do not match their checksum: pieces are missing, or the file is damaged."""
        missing = set(range(begin // PIECE, -(-end // PIECE))) - self.fetched
        if self.is_fetched and missing:
            return PiecesMissing({self: missing})
        self.problem = f"{self.what}: its checksum does not match its content"
        return DamagedSegment(self.problem)


class StoredArrays(Mapping[str, Any]):
    """The arrays of a file, by name. An array is compared with its checksum when it is first asked for."""

    def __init__(self, file: StoredFile, parts: Mapping[str, ArrayInParts]) -> None:
        self.file = file
        self.parts = parts  # the arrays, read in parts
        self._checked: dict[str, NDArray[Any]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        array = self._checked.get(name)
        if array is None:
            array = self._checked[name] = self.parts[name].whole
        return array

    def __contains__(self, name: object) -> bool:
        return name in self.parts

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)


class ArrayInParts:
    """An array that reads only the blocks of the rows that are asked for."""

    def __init__(
        self, file: StoredFile, array: NDArray[Any], content: memoryview, checksums: tuple[int, memoryview], place: int
    ) -> None:
        self._file = file
        self._array = array
        self._bytes = content  # of the array, and the padding up to the next array
        self._checksum, self._checksums = checksums  # CRC-32 of these bytes, and of each block
        self._place = place  # of its first byte in the file
        self._row = self._array.nbytes // len(self._array) if len(self._array) else 0
        self._checked = bytearray(len(self._checksums))  # 1 for each checked block
        self._is_block_checked = np.frombuffer(self._checked, dtype=bool)
        self._is_checked = False

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> NDArray[Any]:
        """Some rows, by a slice without a step or by their numbers."""
        if not self._is_checked:
            if isinstance(rows, slice):
                self.with_rows(*rows.indices(len(self._array))[:2])
            else:
                self._check_blocks_of(rows)
        return self._array[rows]

    def with_rows(self, start: int, end: int) -> NDArray[Any]:
        """The whole array, in which the caller may read only these rows."""
        if not self._is_checked and start < end:
            self._check(start * self._row // BLOCK, -(-end * self._row // BLOCK))
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.whole, dtype=dtype)

    @property
    def whole(self) -> NDArray[Any]:
        if not self._is_checked:
            if zlib.crc32(self._bytes) != self._checksum:
                collect(partial(self._check_block, block) for block in range(len(self._checksums)))
                raise self._file.unlike(0, 0)  # each block matches its checksum, but the whole array does not
            self._is_checked = True
        return self._array

    def _check_blocks_of(self, rows: NDArray[np.intp]) -> None:
        firsts = rows * self._row // BLOCK
        lasts = (rows * self._row + max(0, self._row - 1)) // BLOCK
        if self._is_block_checked[firsts].all() and self._is_block_checked[lasts].all():
            return
        pairs = zip(firsts.tolist(), lasts.tolist(), strict=True)
        collect(partial(self._check, first, last + 1) for first, last in pairs)

    def _check(self, first: int, end: int) -> None:
        if self._checked.find(0, first, end) >= 0:
            collect(partial(self._check_block, block) for block in range(first, end) if not self._checked[block])
            self._is_checked = 0 not in self._checked

    def _check_block(self, block: int) -> None:
        content = self._bytes[block * BLOCK : (block + 1) * BLOCK]
        if zlib.crc32(content) != self._checksums[block]:
            begin = self._place + block * BLOCK
            raise self._file.unlike(begin, begin + len(content))
        self._checked[block] = 1


def collect(reads: Iterable[Callable[[], object]]) -> None:
    """Run all of these functions, even if pieces are missing."""
    missing: dict[StoredFile, set[int]] = {}
    for read in reads:
        try:
            read()
        except PiecesMissing as error:
            for file, pieces in error.pieces.items():
                missing.setdefault(file, set()).update(pieces)
    if missing:
        raise PiecesMissing(missing)


def in_parts(arrays: Mapping[str, NDArray[Any]], name: str) -> Any:
    """An array of a segment from which rows are read; of a file, only the parts with these rows are read."""
    return arrays.parts[name] if isinstance(arrays, StoredArrays) else arrays[name]


def with_rows(arrays: Mapping[str, NDArray[Any]], name: str, start: int, end: int) -> NDArray[Any]:
    """An array of a segment, in which the caller may read only these rows."""
    return arrays.parts[name].with_rows(start, end) if isinstance(arrays, StoredArrays) else arrays[name]


def checksums_of(content: Iterable[memoryview | bytes]) -> tuple[int, array[int]]:
    """The checksum of an array, given as pieces of its bytes, and the checksums of its blocks.

    Padding to a multiple of 64 bytes is part of the last block, since a block's size is a multiple of 64, too.
    """
    whole, of_block, filled = 0, 0, 0
    blocks = array("I")
    for piece in content:
        whole = zlib.crc32(piece, whole)
        start = 0
        while start < len(piece):
            some = piece[start : start + BLOCK - filled]
            of_block = zlib.crc32(some, of_block)
            start += len(some)
            filled += len(some)
            if filled == BLOCK:
                blocks.append(of_block)
                of_block = filled = 0
    if filled:
        blocks.append(of_block)
    return whole, blocks

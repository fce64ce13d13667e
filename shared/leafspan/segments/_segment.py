"""A segment: documents and the arrays of their leaves, in one file that is written once and mapped into memory.

The file has a head of fixed length (magic, format, checksum of the front), the front, then the arrays, each aligned to 64
bytes. The front has its own length and the file's length, a table in JSON (each array's name, type, shape, place and
checksum), the checksums of the arrays' blocks, and the documents' columns.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import uuid
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from leafspan.engines.local import NO_FOLLOW, open_file
from leafspan.flows import NDArray, np
from leafspan.segments._stored_arrays import ArrayInParts, DamagedSegment, StoredArrays, StoredFile, checksums_of
from leafspan.store import DocumentColumns, DocumentTable

Kept: TypeAlias = "tuple[NDArray[Any], NDArray[np.bool_] | None]"


UNFINISHED = ".writing"  # suffix of a file that is being written, or whose writer was killed

_MAGIC = b"leafseg\n"
_HEAD = struct.Struct("<8sII")  # magic, format, checksum of the front
_FORMAT = 3
_LENGTHS = struct.Struct("<QQ")  # lengths of the front and of the file
_TABLE = struct.Struct("<Q")  # length of the table
_ALIGNMENT = 64
HEAD_LENGTH = _HEAD.size + _LENGTHS.size  # number of bytes that written_lengths needs
_BYTES = 1 << 22  # of an array that is joined while it is written, at a time


class Damaged(Exception):
    """A segment's file is damaged. The message names the file and the reason. The index itself is whole."""


class Segment(NamedTuple):
    """Documents, and the arrays of their leaves. Arrays of a merged segment may be joined only when they are written."""

    documents: DocumentTable  # by stored id
    arrays: Mapping[str, Any]  # their rows follow the order of the documents and their leaves


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file to write. It gets its name when the context ends, so the whole file exists or nothing.

    A killed writer leaves a file whose name ends in ``UNFINISHED``. leafspan does not flush to the disk: a file that a
    power cut has torn is noticed when it is read.
    """
    unfinished = path.with_name(f"{path.name}.{uuid.uuid4().hex}{UNFINISHED}")
    try:
        with unfinished.open("xb") as file:
            yield file
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_segment(path: Path, segment: Segment) -> None:
    with new_file(path) as file:  # before the checksums, which take a while: a new folder must not stay empty
        for part in _parts(segment.documents, segment.arrays):
            file.write(part)


def read_segment(path: Path, *, whole: bool = False) -> Segment:
    """Map a segment from its file. Its arrays are read-only, and compared with checksums when they are first read."""
    try:
        descriptor = open_file(path, os.O_RDONLY | NO_FOLLOW)
    except IsADirectoryError:
        raise Damaged(f"{path}: a folder, where a file belongs: move the folder away") from None
    with open(descriptor, "rb") as file:
        length = os.fstat(file.fileno()).st_size
        if length < _HEAD.size + _LENGTHS.size:
            raise Damaged(f"{path}: of {length} bytes, too short for a segment")
        mapped = mmap.mmap(file.fileno(), length, access=mmap.ACCESS_READ)
    magic, format_, checksum = _HEAD.unpack_from(mapped)
    if magic != _MAGIC:
        raise Damaged(f"{path}: not a segment, it begins with {magic!r}")
    if format_ != _FORMAT:
        raise Damaged(f"{path}: of format {format_}, where this version of leafspan reads {_FORMAT}")
    front_length, file_length = _LENGTHS.unpack_from(mapped, _HEAD.size)
    if file_length != length:
        raise Damaged(f"{path}: of {length} bytes, where {file_length} were written")
    checked = memoryview(mapped)[_HEAD.size :][:front_length]
    if zlib.crc32(checked) != checksum:
        raise Damaged(f"{path}: its checksum does not match its content")
    segment = _read(mapped, checked, str(path))
    if whole:
        try:
            list(segment.arrays.values())
        except DamagedSegment as error:
            raise Damaged(str(error)) from None
    return segment


def segment_bytes(documents: DocumentTable, arrays: Mapping[str, Any]) -> bytes:
    return b"".join(_parts(documents, arrays))


def written_lengths(begin: bytes) -> tuple[int, int]:
    """The length of a file's head and front, and of the whole file, from the start of the file.

    ``begin`` must have at least ``HEAD_LENGTH`` bytes. A damaged length is noticed when the file is read.
    """
    front, whole = _LENGTHS.unpack_from(begin, _HEAD.size)
    return _HEAD.size + front, whole


def _parts(documents: DocumentTable, arrays: Mapping[str, Any]) -> Iterator[bytes | memoryview]:
    """The parts of a file, in order: head, front, arrays."""
    front = _front(documents, arrays)
    yield _HEAD.pack(_MAGIC, _FORMAT, zlib.crc32(front))
    yield front
    for array in arrays.values():
        yield from _padded_array(array)


def _padded_array(array: NDArray[Any] | PiecedArray) -> Iterator[memoryview | bytes]:
    for piece in array.pieces() if isinstance(array, PiecedArray) else [array]:
        yield np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data
    yield bytes(-array.nbytes % _ALIGNMENT)


def _front(documents: DocumentTable, arrays: Mapping[str, Any]) -> bytes:
    places, columns, end = [], [], 0
    for name, array in arrays.items():
        checksum, checksums = checksums_of(_padded_array(array))
        # The front precedes the arrays and has their places, so the places are counted from the front's end.
        places.append((name, array.dtype.str, array.shape, end, checksum, len(checksums)))
        columns.append(checksums.tobytes())
        end += array.nbytes + -array.nbytes % _ALIGNMENT
    columns += [column.tobytes() for column in documents.columns]
    lengths = [column.nbytes for column in documents.columns]
    table = json.dumps({"arrays": places, "documents": lengths}, separators=(",", ":")).encode()
    front = _TABLE.pack(len(table)) + b"".join(each + bytes(-len(each) % 8) for each in (table, *columns))
    front += bytes(-(HEAD_LENGTH + len(front)) % _ALIGNMENT)
    length = _LENGTHS.size + len(front)
    return _LENGTHS.pack(length, _HEAD.size + length + end) + front


def _read(mapped: mmap.mmap, front: memoryview, what: str) -> Segment:
    """Make a segment from its mapped file and the file's front."""
    table_length = _TABLE.unpack_from(front, _LENGTHS.size)[0]
    rest = front[_LENGTHS.size + _TABLE.size :]

    def column(length: int) -> memoryview:
        nonlocal rest
        first, rest = rest[:length], rest[length + -length % 8 :]
        return first

    table = json.loads(bytes(column(table_length)))
    file, arrays = StoredFile(what), {}
    for name, kind, shape, place, checksum, blocks in table["arrays"]:
        begin = _HEAD.size + len(front) + place
        array: NDArray[Any] = np.ndarray(tuple(shape), dtype=kind, buffer=mapped, offset=begin)
        content = memoryview(mapped)[begin : begin + array.nbytes + -array.nbytes % _ALIGNMENT]
        checksums = checksum, column(4 * blocks).cast("I")
        arrays[name] = ArrayInParts(file, array, content, checksums, begin)
    keys, order, id_ends, leaves, versions, ids = map(column, table["documents"])
    cast = keys.cast("Q"), order.cast("I"), id_ends.cast("Q"), leaves.cast("I")
    return Segment(DocumentTable(DocumentColumns(*cast, versions, ids)), StoredArrays(file, arrays))


class PiecedArray:
    """The rows of several arrays that their masks select, one array after the other. A mask of None selects all rows.

    They are joined piece by piece while they are written, so they are never in memory as a whole.
    """

    def __init__(self, parts: Sequence[Kept]) -> None:
        self._parts = parts
        first = parts[0][0]
        rows = sum(len(array) if mask is None else int(np.count_nonzero(mask)) for array, mask in parts)
        self.dtype: np.dtype[Any] = first.dtype
        self.shape = (rows, *first.shape[1:])
        self._row = first.dtype.itemsize * int(np.prod(first.shape[1:]))
        self.nbytes = rows * self._row

    def pieces(self) -> Iterator[NDArray[Any]]:
        rows = max(1, _BYTES // max(1, self._row))
        for array, mask in self._parts:
            for start in range(0, len(array), rows):
                some = array[start : start + rows]
                yield some if mask is None else some[mask[start : start + rows]]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        nothing = np.empty((0, *self.shape[1:]), self.dtype)
        return np.concatenate([nothing, *self.pieces()]).astype(dtype or self.dtype, copy=False)

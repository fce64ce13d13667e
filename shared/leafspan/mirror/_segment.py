"""A segment: documents and the arrays of their leaves, in one file that is written once and mapped into memory.

The file: a head of fixed length (magic, format, checksum of all that follows it; lengths of the table and of the file), a
table in JSON (documents; name, type, shape and place of each array), then the arrays, each from a multiple of 64 bytes on.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import uuid
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNFINISHED = ".writing"  # end of the name of a file that is being written, or whose writer was killed

_MAGIC = b"leafseg\n"
_FORMAT = 1
_HEAD = struct.Struct("<8sII")  # magic, format, checksum
_LENGTHS = struct.Struct("<QQ")  # of the table, of the file
_ALIGNMENT = 64


class Damaged(Exception):
    """A file of a mirror is not as it was written. The message names the file and the reason. The index itself is whole."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Documents and the arrays of their leaves.

    Attributes:
        documents: The documents as (stored id, version, number of leaves).
        arrays: Arrays by name, whose contents follow the order of the documents and their leaves.
    """

    documents: tuple[tuple[str, str, int], ...]
    arrays: Mapping[str, NDArray[Any]]


def write_segment(path: Path, segment: Segment) -> None:
    """Write a segment's file under another name first, and then rename it: so the whole file exists, or none of it.

    A writer that is killed leaves a file whose name ends in ``UNFINISHED``. Nothing waits for the disk: a file that a power
    cut has torn is noticed when it is read.
    """
    unfinished = path.with_name(f"{path.name}.{uuid.uuid4().hex}{UNFINISHED}")
    try:
        with unfinished.open("xb") as file:
            file.seek(_HEAD.size)
            checksum = 0
            for piece in _pieces(segment):
                file.write(piece)
                checksum = zlib.crc32(piece, checksum)
            file.seek(0)
            file.write(_HEAD.pack(_MAGIC, _FORMAT, checksum))
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def read_segment(path: Path) -> Segment:
    """A segment with read-only arrays that are mapped from its file. Every byte of the file is checked first.

    Raises:
        Damaged: if the file is not as it was written.
        FileNotFoundError: if there is no such file.
    """
    import numpy as np

    with path.open("rb") as file:
        length = os.fstat(file.fileno()).st_size
        if length < _HEAD.size + _LENGTHS.size:
            raise Damaged(f"{path}: of {length} bytes, too short for a segment")
        mapped = mmap.mmap(file.fileno(), length, access=mmap.ACCESS_READ)
    magic, format_, checksum = _HEAD.unpack_from(mapped)
    if magic != _MAGIC:
        raise Damaged(f"{path}: not a segment, it begins with {magic!r}")
    if format_ != _FORMAT:
        raise Damaged(f"{path}: of format {format_}, where this version of leafspan reads {_FORMAT}")
    table_length, file_length = _LENGTHS.unpack_from(mapped, _HEAD.size)
    if file_length != length:
        raise Damaged(f"{path}: of {length} bytes, where {file_length} were written")
    with memoryview(mapped) as content, content[_HEAD.size :] as checked:
        if zlib.crc32(checked) != checksum:
            raise Damaged(f"{path}: its checksum is not that of its content")
    begin = _HEAD.size + _LENGTHS.size
    table = json.loads(mapped[begin : begin + table_length])
    arrays = {
        name: np.ndarray(tuple(shape), dtype=kind, buffer=mapped, offset=begin + table_length + place)
        for name, kind, shape, place in table["arrays"]
    }
    return Segment(tuple(zip(*table["documents"], strict=True)), arrays)


def _pieces(segment: Segment) -> Iterator[bytes | memoryview]:
    """The parts of a file after its head, in order."""
    import numpy as np

    arrays = {name: np.ascontiguousarray(array) for name, array in segment.arrays.items()}
    # The table says where the arrays begin, and comes before them: so their places are counted from its end.
    places, end = [], 0
    for name, array in arrays.items():
        places.append((name, array.dtype.str, array.shape, end))
        end = _aligned(end + array.nbytes)
    # By column, since that takes a third of the time to read.
    documents = [[document[column] for document in segment.documents] for column in range(3)]
    table = json.dumps({"documents": documents, "arrays": places}, separators=(",", ":")).encode()
    begin = _HEAD.size + _LENGTHS.size
    table += b" " * (_aligned(begin + len(table)) - begin - len(table))
    yield _LENGTHS.pack(len(table), begin + len(table) + end)
    yield table
    for array in arrays.values():
        yield array.reshape(-1).view(np.uint8).data
        yield bytes(_aligned(array.nbytes) - array.nbytes)


def _aligned(length: int) -> int:
    return -(-length // _ALIGNMENT) * _ALIGNMENT

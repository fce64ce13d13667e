"""Segments that are stored with an index behind a client. Each record of a table has a piece of a segment's file."""

from __future__ import annotations

import base64
import binascii
import re
import time
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from leafspan.engines import FlowTable, Record
from leafspan.flows import Flow
from leafspan.segments._stored_arrays import PIECE

_KIND = "kind"  # metadata key of a head for the segment's kind
_UNFINISHED = "unfinished"  # kind of a segment that is being written, or whose writer was killed
_ABANDONED_SECONDS = 86_400.0  # an unfinished segment that is older than this belongs to a killed writer
_NAME = re.compile(r"[0-9a-f]{32}")
_AT_ONCE = 128  # pieces per call: a megabyte


class Piece(NamedTuple):
    """A piece of a segment: the segment's name, and the piece's number in its file."""

    name: str
    number: int


class Shelf:
    """An index's segments of one kind.

    A segment's head is written last and deleted first, so the segment exists as a whole or not at all. A segment never
    changes. Any number of writers may put and remove segments at the same time.
    """

    def __init__(self, table: Callable[[bool], Flow[FlowTable | None]], index_id: str, kind: str) -> None:
        self._table = table
        self._own_kind = f"{index_id}/{kind}"

    def names(self) -> Flow[set[str]]:
        """The names of all segments. They become file names on this machine, so other names in the table are ignored."""
        table = yield from self._table(False)
        found: set[str] = set() if table is None else (yield from table.find(_KIND, [self._own_kind]))
        return {name for name in found if _NAME.fullmatch(name)}

    def lengths(self, names: Collection[str]) -> Flow[dict[str, int]]:
        """The file lengths of segments, in bytes. Missing segments and damaged heads are left out."""
        table = yield from self._table(False)
        records = {} if table is None or not names else (yield from table.get(list(names), ["metadata"]))
        lengths = {name: (record.metadata or {}).get("length") for name, record in records.items()}
        return {name: length for name, length in lengths.items() if isinstance(length, int) and length > 0}

    def pieces(self, wanted: Sequence[Piece]) -> Flow[dict[Piece, bytes]]:
        """Read pieces of segments. Missing or damaged pieces are left out."""
        table = yield from self._table(False)
        found: dict[Piece, bytes] = {}
        for start in range(0, len(wanted) if table is not None else 0, _AT_ONCE):
            ids = {_id(piece): piece for piece in wanted[start : start + _AT_ONCE]}
            assert table is not None
            records = yield from table.get(list(ids), ["text"])
            for id_, record in records.items():
                if (content := _unpacked(record.text)) is not None:
                    found[ids[id_]] = content
        return found

    def put(self, name: str, content: bytes) -> Flow[None]:
        """Store a segment's file."""
        table = yield from self._table(True)
        assert table is not None
        head = {_KIND: _UNFINISHED, "length": len(content), "begun": time.time()}
        yield from table.put([Record(name, metadata=head)])
        records = _records(name, content)
        while some := [record for _, record in zip(range(_AT_ONCE), records, strict=False)]:
            yield from table.put(some)
        yield from table.put([Record(name, metadata={**head, _KIND: self._own_kind})])

    def remove(self, names: Collection[str]) -> Flow[None]:
        """Delete segments, and remains of other segments that killed writers have left."""
        table = yield from self._table(True)
        assert table is not None
        unfinished = yield from table.find(_KIND, [_UNFINISHED])
        records = yield from table.get([*names, *unfinished], ["metadata"])
        heads = {id_: record.metadata or {} for id_, record in records.items()}
        before = time.time() - _ABANDONED_SECONDS
        gone = [name for name in heads if name in names or heads[name].get("begun", 0) < before]
        yield from table.delete(gone)
        for name in gone:
            count = -(-int(heads[name].get("length", 0)) // PIECE)
            yield from table.delete([_id(Piece(name, number)) for number in range(count)])


def _id(piece: Piece) -> str:
    return f"{piece.name}#{piece.number}"


def _records(name: str, content: bytes) -> Iterator[Record]:
    for number, start in enumerate(range(0, len(content), PIECE)):
        packed = base64.b64encode(zlib.compress(content[start : start + PIECE])).decode()
        yield Record(_id(Piece(name, number)), packed)


def _unpacked(text: str | None) -> bytes | None:
    """The bytes of a piece, or None if they cannot be unpacked. The segment's checksums say whether they are right."""
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(base64.b64decode(text or "", validate=True), PIECE)
    except (binascii.Error, ValueError, zlib.error):
        return None
    return content if unpacking.eof else None  # otherwise it is longer than a piece can be

"""Segments that are stored with an index behind a client: records of a table, each with a piece of a segment's file."""

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

_KIND = "kind"  # of segments, in the metadata of their heads
_UNFINISHED = "unfinished"  # kind of a segment that is being written, or whose writer was killed
_ABANDONED_SECONDS = 86_400.0  # after which an unfinished segment was left by a killed writer
_NAME = re.compile(r"[0-9a-f]{32}")
_AT_ONCE = 128  # pieces in a call: a megabyte


class Piece(NamedTuple):
    """A piece of a segment: the name of the segment, and the number of the piece in its file."""

    name: str
    number: int


class Shelf:
    """The segments of one kind of one index.

    A segment has a head, which is written last and deleted first, so it is there as a whole or not at all. It never
    changes. Any number of writers may put and remove segments at the same time.
    """

    def __init__(self, table: Callable[[bool], Flow[FlowTable | None]], index_id: str, kind: str) -> None:
        self._table = table
        self._own_kind = f"{index_id}/{kind}"

    def names(self) -> Flow[set[str]]:
        """The names of all segments. They become names of files here, so no other ones are taken from a table."""
        table = yield from self._table(False)
        found: set[str] = set() if table is None else (yield from table.find(_KIND, [self._own_kind]))
        return {name for name in found if _NAME.fullmatch(name)}

    def lengths(self, names: Collection[str]) -> Flow[dict[str, int]]:
        """The lengths of the files of segments, in bytes. Segments that are gone, and damaged heads, are left out."""
        table = yield from self._table(False)
        records = {} if table is None or not names else (yield from table.get(list(names), ["metadata"]))
        lengths = {name: (record.metadata or {}).get("length") for name, record in records.items()}
        return {name: length for name, length in lengths.items() if isinstance(length, int) and length > 0}

    def pieces(self, wanted: Sequence[Piece]) -> Flow[dict[Piece, bytes]]:
        """Pieces of segments. Those that are gone or damaged are left out."""
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
        """Store the file of a segment."""
        table = yield from self._table(True)
        assert table is not None
        head = {_KIND: _UNFINISHED, "length": len(content), "begun": time.time()}
        yield from table.put([Record(name, metadata=head)])
        records = _records(name, content)
        while some := [record for _, record in zip(range(_AT_ONCE), records, strict=False)]:
            yield from table.put(some)
        yield from table.put([Record(name, metadata={**head, _KIND: self._own_kind})])

    def remove(self, names: Collection[str]) -> Flow[None]:
        """Delete segments, and what killed writers have left of others."""
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
    """The bytes of a piece; None if it is damaged. Whether they are right, the checksums of the segment tell."""
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(base64.b64decode(text or "", validate=True), PIECE)
    except (binascii.Error, ValueError, zlib.error):
        return None
    return content if unpacking.eof else None  # or it is longer than a piece can be

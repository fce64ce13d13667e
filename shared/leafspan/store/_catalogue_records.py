"""The format of the records in a file of catalogues.

A record has a head of fixed length, an index's name, and a body. An index's body is a line of JSON, then columns of its
documents, then their manifest rows. A reader checks all but the rows at once. Each row has its own checksum.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO, NamedTuple
from zlib import crc32

from leafspan.store._catalogue import Catalogue
from leafspan.store._row_block import PackedRow, RowBlock, RowSource, pack_rows
from leafspan.store._stored_rows import StoredRows

NAMES, WHOLE, CHANGE = b"n", b"w", b"c"
"""Kinds of records: the names of all indexes, a whole index, and a change of an index."""

_MAGIC = b"lsc2" if sys.byteorder == "little" else b"LSC2"  # numbers are in the processor's byte order
_HEAD = struct.Struct(
    "<4sIcHQQQQI"
)  # magic, checksum of the rest with the name, kind, length of the name; for the others see Head
_LENGTH = struct.Struct("<Q")  # length of the JSON


class KnownIndex(NamedTuple):
    """An index as the file of catalogues knows it.

    Attributes:
        id: Id of the collection of the leaves.
        settings: The index's settings.
        embedder: The stored record of the index's embedder, or None before the first embedding.
        catalogue: The index's documents.
    """

    id: str
    settings: Mapping[str, Any]
    embedder: str | None
    catalogue: Catalogue

    @property
    def has_damage(self) -> bool:
        """Whether a row is damaged."""
        return bool(self.catalogue.damaged)

    def has_damage_in(self, documents: Iterable[str]) -> bool:
        """Whether the row of one of these documents is damaged. Unknown ids are ignored."""
        rows = self.catalogue.rows
        return any(rows[id_].damage is not None for id_ in documents if id_ in rows)

    def changed_by(self, changes: Iterable[ChangedRows]) -> KnownIndex:
        """Return the index after some changes."""
        known = self
        blocks = []
        for head, block in changes:
            known = known._replace(embedder=head.get("embedder", known.embedder))
            if len(block.documents) or head["gone"]:
                blocks.append((block, head["gone"]))
        rows = self.catalogue.rows
        if not blocks:
            return known  # with the same catalogue, whose caches stay useful
        assert isinstance(rows, StoredRows)
        return known._replace(catalogue=Catalogue(rows.changed_by(blocks)))


class ChangedRows(NamedTuple):
    """The content of a change record.

    Attributes:
        head: Ids of deleted documents under ``gone``, and the embedder if it has changed.
        block: The changed rows.
    """

    head: Mapping[str, Any]
    block: RowBlock

    @classmethod
    def read(cls, content: bytes, source: RowSource, start: int) -> ChangedRows:
        """Read a change from the body of a record."""
        end = _LENGTH.size + _LENGTH.unpack_from(content)[0]
        return cls(json.loads(content[_LENGTH.size : end]), RowBlock.read(memoryview(content)[end:], source, start))


class Head(NamedTuple):
    """The head of a record.

    Attributes:
        kind: Kind of record.
        name: Name of the index.
        before: The change count before the record.
        after: The change count after the record.
        length: Length of the body in bytes.
        checked: Length of the body without the rows.
        checksum: CRC-32 of the body without the rows.
    """

    kind: bytes
    name: str
    before: int
    after: int
    length: int
    checked: int
    checksum: int

    @classmethod
    def read(cls, file: BinaryIO) -> Head | None:
        """Read the next head of a file, or return None if the file has no whole one."""
        start = file.read(_HEAD.size)
        if len(start) < _HEAD.size:
            return None
        magic, checksum, kind, name_length, *numbers = _HEAD.unpack(start)
        name = file.read(name_length)
        if magic != _MAGIC or len(name) < name_length or crc32(start[8:] + name) != checksum:
            return None
        return cls(kind, name.decode(), *numbers)


class Record(NamedTuple):
    """A record to write: see ``Head``. The second part of its body is rows."""

    kind: bytes
    name: str
    before: int
    after: int
    checked: bytes
    rows: bytes = b""

    @classmethod
    def of_names(cls, names: Iterable[str], count: int) -> Record:
        """The record with the names of all indexes, which is the first one of a file."""
        return cls(NAMES, "", count, count, json.dumps(sorted(set(names))).encode())

    @classmethod
    def whole(cls, name: str, count: int, known: KnownIndex) -> Record:
        """The record of a whole index at a change count.

        Raises:
            DamagedCatalogue: if the rows would have to be copied from a file that no longer has them.
        """
        head = {"id": known.id, "settings": dict(known.settings), "embedder": known.embedder}
        rows = known.catalogue.rows
        packed = rows.packed() if isinstance(rows, StoredRows) else map(PackedRow.of, rows.values())
        return cls(WHOLE, name, count, count, *_body(head, packed))

    @classmethod
    def change(
        cls, name: str, counts: tuple[int, int], known: KnownIndex, old: KnownIndex, changed: Iterable[str]
    ) -> Record:
        """The record of a change."""
        rows = known.catalogue.rows
        changed = list(changed)
        head: dict[str, Any] = {"gone": [id_ for id_ in changed if id_ not in rows]}
        if known.embedder != old.embedder:
            head["embedder"] = known.embedder
        return cls(CHANGE, name, *counts, *_body(head, [PackedRow.of(rows[id_]) for id_ in changed if id_ in rows]))

    def pack(self) -> bytes:
        """The bytes to write."""
        name = self.name.encode()
        lengths = (len(self.checked) + len(self.rows), len(self.checked))
        numbers = (self.before, self.after, *lengths, crc32(self.checked))
        rest = _HEAD.pack(_MAGIC, 0, self.kind, len(name), *numbers)[8:] + name
        return _MAGIC + crc32(rest).to_bytes(4, "little") + rest + self.checked + self.rows


def whole_index(content: bytes, source: RowSource, start: int) -> KnownIndex:
    """Read a whole index from the body of its record: see ``ChangedRows.read``."""
    head, block = ChangedRows.read(content, source, start)
    return KnownIndex(head["id"], head["settings"], head["embedder"], Catalogue(StoredRows(block)))


def _body(head: Mapping[str, Any], rows: Iterable[PackedRow]) -> tuple[bytes, bytes]:
    """Return the two parts of a body."""
    line = json.dumps(head).encode()
    line = line.ljust(-(-len(line) // 8) * 8)  # aligns the columns for the processor
    columns, content = pack_rows(rows)
    return _LENGTH.pack(len(line)) + line + columns, content

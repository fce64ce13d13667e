"""The records of a file of catalogues, as they are stored.

A record has a head of fixed length, the name of an index, and a body. That of an index is a line of JSON, then columns of
its documents, then their rows as the manifest has them. All but the rows, which have checksums of their own, is read and
checked at once.
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
"""Kinds of records: the names of all indexes, an index whole, and what has changed of one."""

_MAGIC = b"lsc2" if sys.byteorder == "little" else b"LSC2"  # numbers are as the processor has them
_HEAD = struct.Struct(
    "<4sIcHQQQQI"
)  # magic, checksum of all that follows with the name, kind, length of the name; see Head
_LENGTH = struct.Struct("<Q")  # of the JSON


class KnownIndex(NamedTuple):
    """What is known of an index.

    Attributes:
        id: Id of the collection of the leaves.
        settings: What the index was made with.
        embedder: The embedder that it was made with, as it is stored; None before the first embedding.
        catalogue: Its documents.
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
        """Whether the row of one of these documents is damaged. They need not be there."""
        rows = self.catalogue.rows
        return any(rows[id_].damage is not None for id_ in documents if id_ in rows)

    def changed_by(self, changes: Iterable[ChangedRows]) -> KnownIndex:
        """The same after some changes."""
        known = self
        blocks = []
        for head, block in changes:
            known = known._replace(embedder=head.get("embedder", known.embedder))
            if len(block.documents) or head["gone"]:
                blocks.append((block, head["gone"]))
        rows = self.catalogue.rows
        if not blocks:
            return known  # with the same catalogue, which has caches
        assert isinstance(rows, StoredRows)
        return known._replace(catalogue=Catalogue(rows.changed_by(blocks)))


class ChangedRows(NamedTuple):
    """What a record of a change says.

    Attributes:
        head: The ids of documents that are gone, under ``gone``, and the embedder if it has changed.
        block: The rows that have changed.
    """

    head: Mapping[str, Any]
    block: RowBlock

    @classmethod
    def read(cls, content: bytes, source: RowSource, start: int) -> ChangedRows:
        """What a record says."""
        end = _LENGTH.size + _LENGTH.unpack_from(content)[0]
        return cls(json.loads(content[_LENGTH.size : end]), RowBlock.read(memoryview(content)[end:], source, start))


class Head(NamedTuple):
    """The head of a record.

    Attributes:
        kind: Its kind.
        name: Name of the index.
        before: The count of changes that it goes on from.
        after: The count of changes that it belongs to.
        length: Length of its body in bytes.
        checked: Length of the body without the rows.
        checksum: CRC-32 of that.
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
        """The head that comes next in a file; None if there is no whole one."""
        start = file.read(_HEAD.size)
        if len(start) < _HEAD.size:
            return None
        magic, checksum, kind, name_length, *numbers = _HEAD.unpack(start)
        name = file.read(name_length)
        if magic != _MAGIC or len(name) < name_length or crc32(start[8:] + name) != checksum:
            return None
        return cls(kind, name.decode(), *numbers)


class Record(NamedTuple):
    """A record to write: see ``Head``. Its body has two parts, of which the second one is rows."""

    kind: bytes
    name: str
    before: int
    after: int
    checked: bytes
    rows: bytes = b""

    @classmethod
    def of_names(cls, names: Iterable[str], count: int) -> Record:
        """One that begins a file."""
        return cls(NAMES, "", count, count, json.dumps(sorted(set(names))).encode())

    @classmethod
    def whole(cls, name: str, count: int, known: KnownIndex) -> Record:
        """One of an index as it is at a count of changes.

        Raises:
            DamagedCatalogue: if the rows are to be copied from a file that does not have them any more.
        """
        head = {"id": known.id, "settings": dict(known.settings), "embedder": known.embedder}
        rows = known.catalogue.rows
        packed = rows.packed() if isinstance(rows, StoredRows) else map(PackedRow.of, rows.values())
        return cls(WHOLE, name, count, count, *_body(head, packed))

    @classmethod
    def change(
        cls, name: str, counts: tuple[int, int], known: KnownIndex, old: KnownIndex, changed: Iterable[str]
    ) -> Record:
        """One of a change."""
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
    """An index, from the body of a record that has it whole: see ``ChangedRows.read``."""
    head, block = ChangedRows.read(content, source, start)
    return KnownIndex(head["id"], head["settings"], head["embedder"], Catalogue(StoredRows(block)))


def _body(head: Mapping[str, Any], rows: Iterable[PackedRow]) -> tuple[bytes, bytes]:
    """The two parts of a body."""
    line = json.dumps(head).encode()
    line = line.ljust(-(-len(line) // 8) * 8)  # so that the columns begin where a processor reads them at once
    columns, content = pack_rows(rows)
    return _LENGTH.pack(len(line)) + line + columns, content

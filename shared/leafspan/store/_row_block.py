"""A block of manifest rows in the file of catalogues: first columns that every query needs, then the rows.

The columns are in memory, and their reader has checked them. A row is a line of JSON with its own checksum, and is read
from the file when it is needed.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple
from zlib import crc32

from leafspan.engines import StaleRead
from leafspan.engines.local import OpenFile
from leafspan.store._document_table import DocumentTable
from leafspan.store._manifest import Row, packed_row
from leafspan.store._row_head import RowHead, read_title

_COUNTS = struct.Struct("<QQ")  # rows, bytes of a version
_PORTION = 1 << 20  # bytes of rows per read


class DamagedCatalogue(StaleRead):
    """A row in the file of catalogues is damaged. Reading starts again, without the file."""


class PackedRow(NamedTuple):
    """A row that is still packed.

    Attributes:
        document_id: Stored id of its document.
        version: The current version, or None.
        leaves: Number of leaves of the current version.
        packed: The row as a line of JSON.
    """

    document_id: str
    version: str | None
    leaves: int
    packed: bytes

    @classmethod
    def of(cls, row: Row) -> PackedRow:
        """Pack a row."""
        return cls(row.document_id, row.version, row.leaves, row.packed.encode())


class RowSource:
    """The file that rows are read from.

    Attributes:
        is_damaged: Whether a damaged row was found.
    """

    def __init__(self, file: OpenFile) -> None:
        self.file = file
        self.is_damaged = False

    def damaged(self, what: str) -> DamagedCatalogue:
        """Mark the file as damaged, and return the error."""
        self.is_damaged = True
        return DamagedCatalogue(what)


class RowBlock:
    """Rows, numbered from 0."""

    def __init__(
        self, documents: DocumentTable, ends: memoryview, checksums: memoryview, source: RowSource, start: int
    ) -> None:
        self.documents = documents
        self.source = source
        self._ends = ends
        self._checksums = checksums
        self._start = start

    @classmethod
    def read(cls, columns: memoryview, source: RowSource, start: int) -> RowBlock:
        """Read a block from its columns, which ``pack_rows`` made; ``start`` is the place of its rows in the file."""
        rows, width = _COUNTS.unpack_from(columns)
        rest = columns[_COUNTS.size :]

        def column(size: int) -> memoryview:
            nonlocal rest
            found, rest = rest[: rows * size], rest[rows * size :]
            return found

        keys, id_ends, ends = (column(8).cast("Q") for _ in range(3))
        order, leaves, checksums = (column(4).cast("I") for _ in range(3))
        versions = column(width)
        documents = DocumentTable(keys, order, id_ends, leaves, versions, rest)
        return cls(documents, ends, checksums, source, start)

    def row(self, number: int) -> Row:
        """Read a row.

        Raises:
            DamagedCatalogue: if the row is damaged.
        """
        return self._unpacked(number, self._packed(number))

    def rows(self) -> Iterator[Row]:
        """Read all rows, in order.

        Raises:
            DamagedCatalogue: if a row is damaged.
        """
        for number, packed in enumerate(self._all_packed()):
            yield self._unpacked(number, packed)

    def heads(self) -> Iterator[RowHead]:
        """Read the heads of all rows, in order.

        Raises:
            DamagedCatalogue: if a row is damaged.
        """
        for document, packed in zip(self.documents, self._all_packed(), strict=True):
            yield RowHead(*document, *read_title(packed))

    def packed(self) -> Iterator[PackedRow]:
        """Read all rows without unpacking them.

        Raises:
            DamagedCatalogue: if a row is damaged.
        """
        return (PackedRow(*each, packed) for each, packed in zip(self.documents, self._all_packed(), strict=True))

    def packed_row(self, number: int) -> PackedRow:
        """Read a row without unpacking it.

        Raises:
            DamagedCatalogue: if the row is damaged.
        """
        return PackedRow(*self.documents.document(number), self._packed(number))

    def _all_packed(self) -> Iterator[bytes]:
        first = start = 0
        content = b""
        for number, end in enumerate(self._ends):
            if end > start + len(content):
                start = first
                content = self._read(start, max(end, min(start + _PORTION, self._ends[-1])))
            yield self._checked(number, content[first - start : end - start])
            first = end

    def _packed(self, number: int) -> bytes:
        start = self._ends[number - 1] if number else 0
        return self._checked(number, self._read(start, self._ends[number]))

    def _checked(self, number: int, packed: bytes) -> bytes:
        if crc32(packed) != self._checksums[number]:
            raise self.source.damaged("the checksum of a row in the catalogue does not match its content")
        return packed

    def _unpacked(self, number: int, packed: bytes) -> Row:
        row = Row.unpack(self.documents.id(number), packed_row(packed.decode()))
        if row.damage is not None:
            raise self.source.damaged(row.damage.problem)
        return row

    def _read(self, start: int, end: int) -> bytes:
        try:
            content = self.source.file.read(end - start, self._start + start)
        except OSError as error:
            raise self.source.damaged(str(error)) from error
        if len(content) < end - start:
            raise self.source.damaged("the catalogue is cut off")
        return content


def pack_rows(rows: Iterable[PackedRow]) -> tuple[bytes, bytes]:
    """Pack rows as columns and content."""
    rows = list(rows)
    documents = DocumentTable.of([row[:3] for row in rows]).columns
    ends = array("Q", accumulate(len(row.packed) for row in rows))
    checksums = array("I", [crc32(row.packed) for row in rows])
    width = len(documents["versions"]) // len(rows) if rows else 0
    long = [documents["keys"], documents["id_ends"], memoryview(ends)]
    short = [documents["order"], documents["leaves"], memoryview(checksums)]
    columns = b"".join([_COUNTS.pack(len(rows), width), *long, *short, documents["versions"], documents["ids"]])
    return columns, b"".join(row.packed for row in rows)

"""The rows of an index in a folder, as they were at one moment. Each row is unpacked when it is asked for."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Collection, ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from functools import cached_property
from itertools import chain, islice
from typing import Any, NamedTuple
from zlib import crc32

from leafspan.engines import StaleRead
from leafspan.flows import NDArray, np
from leafspan.store._document_table import DocumentColumns, DocumentTable, KeyedVersions, decoded
from leafspan.store._manifest import ROW_KEY, Damage, Row, RowHead, read_title, row_is_as_written

_CACHED = 5_000  # unpacked rows to keep: a few megabytes
_AT_ONCE = 2_000  # rows to read at a time
_HEAD = struct.Struct("<QQQQ")  # checksum of what follows; numbers of documents, bytes of a version, documents in progress
_SAME = object()  # the row is unchanged in the block


class Place(NamedTuple):
    """A row in the file: its number, and what its columns say of it."""

    number: int
    version: str | None
    leaves: int
    is_open: bool  # whether a writer is at work on the document, or was killed


class RowBlock:
    """The columns of an index's documents, up to a row's number. The rows stay in the file."""

    def __init__(self, documents: DocumentTable, numbers: memoryview, opened: Sequence[int], upto: int) -> None:
        self.documents = documents
        self.numbers = numbers
        self.opened = opened  # documents on which a writer was at work
        self.upto = upto
        self.is_stale = False  # whether a row is gone that newer rows have replaced
        self.is_damaged = False  # whether a damaged row was read

    @classmethod
    def read(cls, content: bytes, upto: int) -> RowBlock | None:
        """Read a block that ``pack`` made, or return None if it is damaged."""
        if len(content) < _HEAD.size or crc32(memoryview(content)[8:]) != _HEAD.unpack_from(content)[0]:
            return None
        _, rows, width, opened = _HEAD.unpack_from(content)
        rest = memoryview(content)[_HEAD.size :]

        def column(size: int, length: int = rows) -> memoryview:
            nonlocal rest
            piece, rest = rest[: length * size], rest[length * size :]
            return piece

        keys, id_ends, numbers = (column(8).cast("Q") for _ in range(3))
        in_progress = column(8, opened).cast("Q")
        order, leaves = (column(4).cast("I") for _ in range(2))
        versions = column(width)
        documents = DocumentTable(DocumentColumns(keys, order, id_ends, leaves, versions, rest))
        return cls(documents, numbers, in_progress.tolist(), upto)

    @staticmethod
    def pack(rows: Sequence[tuple[str, Place]]) -> bytes:
        """Pack documents in the order of their rows' numbers."""
        documents = DocumentTable.of([(id_, each.version, each.leaves) for id_, each in rows]).columns
        numbers = array("Q", [each.number for _, each in rows])
        opened = array("Q", [at for at, (_, each) in enumerate(rows) if each.is_open])
        width = len(documents.versions) // len(rows) if rows else 0
        long = [documents.keys, documents.id_ends, memoryview(numbers), memoryview(opened)]
        short = [documents.order, documents.leaves, documents.versions, documents.ids]
        body = _HEAD.pack(0, len(rows), width, len(opened))[8:] + b"".join([*long, *short])
        return crc32(body).to_bytes(8, "little") + body

    def place(self, at: int) -> Place:
        return Place(self.numbers[at], self.documents.version(at), self.documents.leaves(at), False)


class StoredRows(Mapping[str, Row]):
    """Rows by stored id: one block, and what has changed since. The mapping itself does not change.

    It keeps a limited number of rows that were asked for, so its memory use is limited.
    """

    def __init__(
        self,
        block: RowBlock,
        owner: int,
        packed: Callable[[Collection[int]], Mapping[int, bytes]],
        changes: Mapping[str, Place | Row | None] | None = None,
        upto: int | None = None,
        *,
        for_writer: bool = False,
    ) -> None:
        self.block = block
        self.owner = owner  # number of the index in the file
        self.upto = block.upto if upto is None else upto  # number of the newest row
        self._packed = packed  # the packed rows with these numbers, without those that are gone
        self._changes = changes or {}
        self._kept: dict[str, Row] = {}
        self._is_for_writer = for_writer

    def changed_by(self, rows: Sequence[tuple[int, bytes, str | None, int, bool, bool]]) -> StoredRows:
        """Return the rows after newer ones, which are given with their columns, and whether they delete a document."""
        if not rows:
            return self
        changes = dict(self._changes)
        for number, document, version, leaves, is_open, is_gone in rows:
            changes[decoded(document)] = None if is_gone else Place(number, version, leaves, bool(is_open))
        return StoredRows(self.block, self.owner, self._packed, changes, rows[-1][0])

    def with_rows(self, rows: Mapping[str, Row | None]) -> StoredRows:
        """Return the rows with these ones replaced; None deletes a row."""
        changes = {**self._changes, **rows}
        return StoredRows(self.block, self.owner, self._packed, changes, self.upto, for_writer=self._is_for_writer)

    def for_writer(self) -> StoredRows:
        """The same rows for a writer: a damaged row is returned with its damage, and reading does not start again."""
        return StoredRows(self.block, self.owner, self._packed, self._changes, self.upto, for_writer=True)

    def checked(self) -> StoredRows:
        """Read every row, and return the rows with the damaged ones known."""
        rows = {row.document_id: row for row in self.for_writer().values() if row.damage is not None}
        return self.with_rows(rows)

    def changed_since(self, earlier: StoredRows) -> set[str] | None:
        """The ids of the documents whose rows differ, or None if only comparing all rows would tell."""
        if self.block is not earlier.block:
            return None
        now, before = self._changes, earlier._changes
        return {id_ for id_ in now.keys() | before.keys() if now.get(id_, _SAME) is not before.get(id_, _SAME)}

    @property
    def is_stale(self) -> bool:
        return self.block.is_stale or self.block.is_damaged

    @property
    def damaged(self) -> dict[str, Damage]:
        return {id_: row.damage for id_, row in self._changes.items() if isinstance(row, Row) and row.damage is not None}

    @property
    def half_done(self) -> list[Row]:
        """The rows of documents that a writer has begun to write or delete."""
        ids = [id_ for at in self.block.opened if (id_ := self.block.documents.id(at)) not in self._changes]
        ids += [id_ for id_, each in self._changes.items() if each is not None and (isinstance(each, Row) or each.is_open)]
        return [row for id_ in ids if (row := self.get(id_)) is not None and row.is_half_done]

    def get(self, document_id: str, default: Row | None = None) -> Row | None:  # type: ignore[override]
        """The row of a document, or the default if it has no row. A row that is damaged or gone is a StaleRead."""
        row = self._kept.get(document_id)
        if row is None and (row := self._read(document_id)) is not None:
            if len(self._kept) >= _CACHED:
                self._kept.clear()
            self._kept[document_id] = row
        return default if row is None else row

    def __getitem__(self, document_id: str) -> Row:
        row = self.get(document_id)
        if row is None:
            raise KeyError(document_id)
        return row

    def __contains__(self, document_id: object) -> bool:
        if not isinstance(document_id, str):
            return False
        if document_id in self._changes:
            return self._changes[document_id] is not None
        return self.block.documents.find(document_id) is not None

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[str]:
        return (id_ for id_, _, _ in self.versions())

    def values(self) -> ValuesView[Row]:
        """All rows. Each is unpacked every time, and not kept."""
        return _Values(self)

    def items(self) -> ItemsView[str, Row]:
        return _Items(self)

    def all_rows(self) -> Iterator[Row]:
        """All rows, in the order of ``versions``."""
        for id_, each, packed in self._all_packed():
            yield each if isinstance(each, Row) else self._unpacked(id_, each, packed)

    def heads(self) -> Iterator[Row | RowHead]:
        """The heads of all rows, or whole rows, in the order of ``versions``."""
        for id_, each, packed in self._all_packed():
            if isinstance(each, Row):
                yield each
            elif packed is None or not row_is_as_written(id_, packed):
                yield self._unpacked(id_, each, packed)
            else:
                yield RowHead(id_, each.version, each.leaves, *read_title(packed))

    def versions(self) -> Iterator[tuple[str, str | None, int]]:
        """Each document with its current version and number of leaves. This unpacks no row."""
        for document in self.block.documents:
            if document[0] not in self._changes:
                yield document
        yield from self._changed_versions()

    def _changed_versions(self) -> Iterator[tuple[str, str | None, int]]:
        return ((id_, each.version, each.leaves) for id_, each in self._changes.items() if each is not None)

    @property
    def leaves(self) -> int:
        current = self._by_key
        return int(current.leaves[current.versions != b""].sum())

    def current(self, documents: DocumentTable) -> NDArray[np.bool_]:
        """Whether each of these documents is current: the same version with the same number of leaves.

        Documents are compared by 64 bits of their ids' hashes, and by their versions, which are hashes of their content.
        """
        mine, others = self._by_key, documents.by_key()
        if not len(mine.keys):
            return np.zeros(len(documents), dtype=bool)
        if self._has_equal_keys:
            return are_current(self.versions(), documents)
        at = np.minimum(np.searchsorted(mine.keys, others.keys), len(mine.keys) - 1)
        same = (mine.keys[at] == others.keys) & (mine.versions[at] == others.versions) & (mine.leaves[at] == others.leaves)
        result = np.empty(len(documents), dtype=bool)
        result[others.places] = same & (others.versions != b"")
        return result

    @cached_property
    def _by_key(self) -> KeyedVersions:
        block = self.block.documents.by_key()
        if not self._changes:
            return block
        numbers = (self.block.documents.find(id_) for id_ in self._changes)
        replaced = np.array([number for number in numbers if number is not None], dtype=np.uint32)
        kept = ~np.isin(block.places, replaced)
        mine: Sequence[NDArray[Any]] = block
        others: Sequence[NDArray[Any]] = DocumentTable.of(list(self._changed_versions())).by_key()
        columns = [np.concatenate([column[kept], other]) for column, other in zip(mine, others, strict=True)]
        order = np.argsort(columns[0], kind="stable")
        return KeyedVersions(*(column[order] for column in columns))

    @cached_property
    def _has_equal_keys(self) -> bool:
        keys = self._by_key.keys
        return bool((keys[1:] == keys[:-1]).any())

    @cached_property
    def _length(self) -> int:
        replaced = sum(self.block.documents.find(id_) is not None for id_ in self._changes)
        return len(self.block.documents) - replaced + sum(each is not None for each in self._changes.values())

    def _read(self, document_id: str) -> Row | None:
        if document_id in self._changes:
            each = self._changes[document_id]
        else:
            at = self.block.documents.find(document_id)
            each = None if at is None else self.block.place(at)
        if each is None or isinstance(each, Row):
            return each
        return self._unpacked(document_id, each, self._packed([each.number]).get(each.number))

    def _all_packed(self) -> Iterator[tuple[str, Place | Row, bytes | None]]:
        """All rows, packed; a row in memory is its own place."""
        unchanged = (
            (id_, self.block.place(at)) for at, (id_, _, _) in enumerate(self.block.documents) if id_ not in self._changes
        )
        changed = ((id_, each) for id_, each in self._changes.items() if each is not None)
        rest: Iterator[tuple[str, Place | Row]] = chain(unchanged, changed)
        while some := list(islice(rest, _AT_ONCE)):
            packed = self._packed([each.number for _, each in some if isinstance(each, Place)])
            for id_, each in some:
                yield id_, each, None if isinstance(each, Row) else packed.get(each.number)

    def _unpacked(self, document_id: str, place: Place, packed: bytes | None) -> Row:
        if packed is None:
            self.block.is_stale = True
            raise StaleRead
        row = Row.unpack(document_id, {ROW_KEY: packed.decode(errors="replace")})
        if row.damage is None and (row.version, row.leaves) != (place.version, place.leaves):
            row = row.with_damage(Damage("its row in the manifest is damaged: its columns say something else", in_row=True))
        if row.damage is not None and not self._is_for_writer:
            self.block.is_damaged = True
            raise StaleRead(document_id)  # reading starts again, with all damaged rows known
        return row


class _Values(ValuesView[Row]):
    def __init__(self, rows: StoredRows) -> None:
        super().__init__(rows)
        self._rows = rows

    def __iter__(self) -> Iterator[Row]:
        return self._rows.all_rows()


class _Items(ItemsView[str, Row]):
    def __init__(self, rows: StoredRows) -> None:
        super().__init__(rows)
        self._rows = rows

    def __iter__(self) -> Iterator[tuple[str, Row]]:
        return ((row.document_id, row) for row in self._rows.all_rows())


def are_current(versions: Iterable[tuple[str, str | None, int]], documents: DocumentTable) -> NDArray[np.bool_]:
    """Whether each of these documents is current among the given versions: the same version and number of leaves."""
    current = {id_: (version, leaves) for id_, version, leaves in versions if version is not None}
    return np.array([current.get(id_) == (version, leaves) for id_, version, leaves in documents], dtype=bool)

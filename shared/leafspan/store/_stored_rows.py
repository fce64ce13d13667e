"""The rows of an index in the file of catalogues. Each row is unpacked when it is asked for."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from leafspan.store._document_table import DocumentTable, KeyedVersions, keyed_versions
from leafspan.store._manifest import Damage, Row
from leafspan.store._row_block import PackedRow, RowBlock
from leafspan.store._row_head import RowHead

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CACHED = 5_000  # unpacked rows to keep: a few megabytes


_SAME = object()  # the row is unchanged in the block


class _Place(NamedTuple):
    """Where a row is."""

    block: RowBlock
    number: int


class StoredRows(Mapping[str, Row]):
    """Rows by stored id: one block, and what has changed since. The mapping itself does not change.

    It keeps a limited number of rows that were asked for, so its memory use is limited.
    """

    def __init__(self, block: RowBlock, changes: Mapping[str, _Place | Row | None] | None = None) -> None:
        self._block = block
        self._changes = changes or {}
        self._kept: dict[str, Row] = {}

    def changed_by(self, blocks: Iterable[tuple[RowBlock, Iterable[str]]]) -> StoredRows:
        """Return the rows after some changes, each given as changed rows and ids of deleted documents."""
        changes = dict(self._changes)
        for block, gone in blocks:
            for number in range(len(block.documents)):
                changes[block.documents.id(number)] = _Place(block, number)
            changes.update(dict.fromkeys(gone))
        return StoredRows(self._block, changes)

    def with_rows(self, rows: Mapping[str, Row | None]) -> StoredRows:
        """Return the rows with these ones replaced; None deletes a row."""
        return StoredRows(self._block, {**self._changes, **rows})

    def changed_since(self, earlier: StoredRows) -> set[str] | None:
        """The ids of the documents whose rows differ, or None if only comparing all rows would tell."""
        if self._block is not earlier._block:
            return None
        now, before = self._changes, earlier._changes
        return {id_ for id_ in now.keys() | before.keys() if now.get(id_, _SAME) is not before.get(id_, _SAME)}

    @property
    def is_damaged(self) -> bool:
        """Whether a damaged row was found, so that the file cannot be used any more."""
        return self._block.source.is_damaged

    @property
    def damaged(self) -> dict[str, Damage]:
        """The damage of each damaged document, by stored id. The file itself has no damaged documents."""
        return {id_: row.damage for id_, row in self._changes.items() if isinstance(row, Row) and row.damage is not None}

    def get(self, document_id: str, default: Row | None = None) -> Row | None:  # type: ignore[override]
        """The row of a document, or the default if there is no such document.

        Raises:
            DamagedCatalogue: if the row is damaged.
        """
        row = self._kept.get(document_id)
        return self._find(document_id, default) if row is None else row

    def __getitem__(self, document_id: str) -> Row:
        row = self.get(document_id)
        if row is None:
            raise KeyError(document_id)
        return row

    def __contains__(self, document_id: object) -> bool:
        if not isinstance(document_id, str):
            return False
        if document_id in self._kept:
            return True
        if document_id in self._changes:
            return self._changes[document_id] is not None
        return self._block.documents.find(document_id) is not None

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[str]:
        return (id_ for id_, _, _ in self.versions())

    def values(self) -> ValuesView[Row]:
        """All rows. Each is unpacked every time, and not kept."""
        return _Values(self)

    def items(self) -> ItemsView[str, Row]:
        """All rows with their ids. Each is unpacked every time, and not kept."""
        return _Items(self)

    def all_rows(self) -> Iterator[Row]:
        """All rows, in the order of ``versions``."""
        unchanged = (row for row in self._block.rows() if row.document_id not in self._changes)
        return chain(unchanged, self._changed_rows())

    def _changed_rows(self) -> Iterator[Row]:
        return (row for each in self._changes.values() if (row := _row(each)) is not None)

    def heads(self) -> Iterator[Row | RowHead]:
        """The heads of all rows, or whole rows, in the order of ``versions``.

        Raises:
            DamagedCatalogue: if a row is damaged.
        """
        unchanged = (head for head in self._block.heads() if head.document_id not in self._changes)
        return chain(unchanged, self._changed_rows())

    def versions(self) -> Iterator[tuple[str, str | None, int]]:
        """Each document with its current version and number of leaves. This unpacks no row."""
        for document in self._block.documents:
            if document[0] not in self._changes:
                yield document
        yield from self._changed_versions()

    def _changed_versions(self) -> Iterator[tuple[str, str | None, int]]:
        for id_, each in self._changes.items():
            if isinstance(each, Row):
                yield id_, each.version, each.leaves
            elif each is not None:
                yield each.block.documents.document(each.number)

    def packed(self) -> Iterator[PackedRow]:
        """All rows, packed.

        Raises:
            DamagedCatalogue: if a row is damaged.
        """
        for row in self._block.packed():
            if row.document_id not in self._changes:
                yield row
        for each in self._changes.values():
            if isinstance(each, Row):
                yield PackedRow.of(each)
            elif each is not None:
                yield each.block.packed_row(each.number)

    @property
    def leaves(self) -> int:
        """Number of leaves of all current versions."""
        current = self._by_key
        return int(current.leaves[current.versions != b""].sum())

    def current(self, documents: DocumentTable) -> NDArray[np.bool_]:
        """Whether each of these documents is current: the same version with the same number of leaves.

        Documents are compared by 64 bits of their ids' hashes, and by their versions, which are hashes of their content.
        """
        import numpy as np

        mine, others = self._by_key, documents.by_key()
        if not len(mine.keys):
            return np.zeros(len(documents), dtype=bool)
        if self._has_equal_keys:
            return are_current(self, documents)
        at = np.minimum(np.searchsorted(mine.keys, others.keys), len(mine.keys) - 1)
        same = (mine.keys[at] == others.keys) & (mine.versions[at] == others.versions) & (mine.leaves[at] == others.leaves)
        found = np.empty(len(documents), dtype=bool)
        found[others.places] = same & (others.versions != b"")
        return found

    @cached_property
    def _by_key(self) -> KeyedVersions:
        """The versions of all documents, sorted by key."""
        import numpy as np

        block = self._block.documents.by_key()
        if not self._changes:
            return block
        numbers = (self._block.documents.find(id_) for id_ in self._changes)
        replaced = np.array([number for number in numbers if number is not None], dtype=np.uint32)
        kept = ~np.isin(block.places, replaced)
        mine: Sequence[NDArray[Any]] = block
        others: Sequence[NDArray[Any]] = keyed_versions(self._changed_versions())
        columns = [np.concatenate([column[kept], other]) for column, other in zip(mine, others, strict=True)]
        order = np.argsort(columns[0], kind="stable")
        return KeyedVersions(*(column[order] for column in columns))

    @cached_property
    def _has_equal_keys(self) -> bool:
        keys = self._by_key.keys
        return bool((keys[1:] == keys[:-1]).any())

    @cached_property
    def _length(self) -> int:
        replaced = sum(self._block.documents.find(id_) is not None for id_ in self._changes)
        return len(self._block.documents) - replaced + sum(each is not None for each in self._changes.values())

    def _find(self, document_id: str, default: Row | None) -> Row | None:
        if document_id in self._changes:
            row = _row(self._changes[document_id])
        else:
            number = self._block.documents.find(document_id)
            row = None if number is None else self._block.row(number)
        if row is None:
            return default
        if len(self._kept) >= _CACHED:
            self._kept.clear()
        self._kept[document_id] = row
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


def _row(each: _Place | Row | None) -> Row | None:
    return each.block.row(each.number) if isinstance(each, _Place) else each


def are_current(rows: Mapping[str, Row], documents: DocumentTable) -> NDArray[np.bool_]:
    """Whether each of these documents is current in ``rows``: the same version with the same number of leaves."""
    import numpy as np

    return np.array(
        [
            version is not None and (row := rows.get(id_)) is not None and row.version == version and row.leaves == leaves
            for id_, version, leaves in documents
        ],
        dtype=bool,
    )

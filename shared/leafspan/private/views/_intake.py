"""Masks documents on their way into an index, and saves the originals in the vault before the index gets any document."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from leafspan.documents import ForeignDocument
from leafspan.errors import InvalidArgument
from leafspan.files import FileDocument, FileReading, without_names
from leafspan.filters import (
    DOCUMENT_ID,
    Condition,
    Contains,
    Equal,
    Exists,
    OneOf,
    Ordered,
    TextMatch,
    Where,
    any_of,
    with_conditions,
)
from leafspan.indexing import FILE_KEY, IngestRules
from leafspan.private.pseudonyms import (
    RECORD_KEY,
    Disguise,
    MaskedPlace,
    Notes,
    Restoring,
    VaultRecord,
    mask_document,
    places_of,
)
from leafspan.private.views._privacy import Privacy
from leafspan.store import Row
from leafspan.values import Document

_AT_ONCE = 64  # documents whose records are saved in one transaction


class PrivateIntake:
    """Masks the documents of one call."""

    def __init__(
        self,
        privacy: Privacy,
        home: str,
        stored_ids: Callable[[str], Sequence[str]],
        root: Path | None,
        originals: Mapping[str, str],
        *,
        admit: Callable[[Document], Document],
        save: bool,
        volatile_keys: Collection[str],
    ) -> None:
        self._privacy = privacy
        self._home = home
        self._stored_ids = stored_ids
        self._originals = originals
        self._admit = admit
        self._save = save
        self._volatile_keys = volatile_keys
        self._masked: dict[str, Notes] = {}  # for the document that is being read, by its masked id
        self._file_names: dict[str, str] = {}  # by their masked names
        reading = FileReading(self._check, root, self._stored_name)
        # The list of a long document's entities is long, and filters read whole rows.
        self.rules = IngestRules(
            reading, self._keep, self._with_files, frozenset({privacy.entities_field}), remembers_files=False
        )

    def _check(self, document: Document | ForeignDocument, *, flatten_metadata: bool = False) -> Document:
        disguise, field = self._privacy.disguise, self._privacy.entities_field
        masked, notes = mask_document(
            document, disguise, field, flatten_metadata=flatten_metadata, volatile_keys=self._volatile_keys
        )
        admitted = self._admit(masked)
        self._masked[masked.id] = notes
        return admitted

    def _stored_name(self, file: str) -> str:
        masked = self._privacy.disguise.name(file)
        self._file_names[masked] = file
        return masked

    def _keep(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield the documents with their records' ids, and save the records in groups."""
        noted = map(self._noted, documents)  # one by one, so that the notes belong to the document just read
        while group := list(islice(noted, _AT_ONCE)):
            if self._save:
                self._privacy.vault.save(record for _, record in group)
            yield from (document for document, _ in group)

    def _noted(self, document: Document) -> tuple[Document, VaultRecord]:
        notes = self._masked.pop(document.id)
        if isinstance(document, FileDocument) and self._file_names[document.file] != document.file:
            notes.parts["file"] = self._file_names[document.file]
        if isinstance(document, FileDocument):
            document = replace(document, parts=without_names(document.parts))
        if self._originals:
            notes.parts["scope"] = True
            notes.originals.update(self._originals)
        stored_ids = tuple(self._stored_ids(document.id))
        if not notes.parts:
            return document, VaultRecord("", self._home, stored_ids, {}, {})
        vault = self._privacy.vault
        id_ = vault.record_id([self._home, stored_ids[0], notes.parts])
        alias = ""
        if note := notes.parts.get("id"):
            alias = vault.alias(Restoring(places_of(note)).text(document.id))
        record = VaultRecord(id_, self._home, stored_ids, notes.parts, notes.originals, document.id, alias)
        return replace(document, metadata={**document.metadata, RECORD_KEY: id_}), record

    def _with_files(self, rows: Sequence[Row]) -> list[Row]:
        """Rows of the index with the files' real names on disk."""
        records = {row.metadata[RECORD_KEY] for row in rows if FILE_KEY in row.extra and RECORD_KEY in row.metadata}
        notes = self._privacy.vault.notes({str(each) for each in records}) if records else {}
        return [_with_file(row, notes.get(str(row.metadata.get(RECORD_KEY)), {}).get("file")) for row in rows]


def _with_file(row: Row, file: str | None) -> Row:
    return row if file is None else replace(row, extra={**row.extra, FILE_KEY: file})


def masked_filter(
    where: Where | None,
    disguise: Disguise,
    masked_id: Callable[[str], str],
    note: Callable[[tuple[MaskedPlace, ...]], object] = lambda _: None,
) -> Where | None:
    """Replace entities in the filter's keys and values by pseudonyms. Masking twice gives the same filter."""

    def value(clear: object) -> object:
        masked, places = disguise.value(clear)
        for each in places:
            note(each)
        return masked

    def change(condition: Condition) -> Where:
        if condition.key in disguise.clear:
            return condition
        if condition.key != DOCUMENT_ID:
            return _masked(condition, disguise.name(condition.key), disguise, value)
        return _with_values(condition, condition.key, lambda value: masked_id(value) if isinstance(value, str) else value)

    return None if where is None else with_conditions(where, change)


def _masked(condition: Condition, key: str, disguise: Disguise, value: Callable[[object], object]) -> Where:
    match condition:
        case Ordered():
            if isinstance(condition.bound, str) and disguise.name(condition.bound) != condition.bound:
                raise InvalidArgument(
                    f"F({key!r}) {condition.operator}: pseudonyms have no order, so a private view cannot compare with a "
                    "text that has an entity"
                )
            return Ordered(key, condition.operator, condition.bound)
        case TextMatch():
            return TextMatch(key, disguise.name(condition.part), condition.ignore_case)
        case Exists():
            return Exists(key)
    return _with_values(condition, key, value)


def _with_values(condition: Condition, key: str, change: Callable[[object], object]) -> Where:
    match condition:
        case Equal():
            value = change(condition.value)
            return Equal(key, tuple(value) if isinstance(value, list) else value)  # type: ignore[arg-type]
        case OneOf():
            values = tuple(map(change, condition.values))
            if values == condition.values:
                return OneOf(key, condition.values)
            return any_of(Equal(key, value) for value in values)  # type: ignore[arg-type]
        case Contains():
            return Contains(key, change(condition.member))  # type: ignore[arg-type]
    return condition

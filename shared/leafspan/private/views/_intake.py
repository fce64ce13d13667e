"""Masks documents on their way into an index, and saves the originals in the vault before the index gets any document."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from leafspan.documents import ForeignDocument
from leafspan.files import FileDocument, FileReading, without_names
from leafspan.indexing import FILE_KEY, IngestRules
from leafspan.private.pseudonyms import RECORD_KEY, Notes, Record, Restoring, mask_document, places_of
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
            reading, self._keep, self._known, frozenset({privacy.entities_field}), remembers_files=False
        )

    def _check(self, given: Document | ForeignDocument, *, flatten_metadata: bool = False) -> Document:
        disguise, field = self._privacy.disguise, self._privacy.entities_field
        masked, notes = mask_document(
            given, disguise, field, flatten_metadata=flatten_metadata, volatile_keys=self._volatile_keys
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

    def _noted(self, document: Document) -> tuple[Document, Record]:
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
            return document, Record("", self._home, stored_ids, {}, {})
        vault = self._privacy.vault
        id_ = vault.record_id([self._home, stored_ids[0], notes.parts])
        alias = ""
        if note := notes.parts.get("id"):
            alias = vault.alias(Restoring(places_of(note)).text(document.id))
        record = Record(id_, self._home, stored_ids, notes.parts, notes.originals, document.id, alias)
        return replace(document, metadata={**document.metadata, RECORD_KEY: id_}), record

    def _known(self, rows: Sequence[Row]) -> list[Row]:
        """Rows of the index with the files' real names on disk."""
        records = {row.metadata[RECORD_KEY] for row in rows if FILE_KEY in row.extra and RECORD_KEY in row.metadata}
        notes = self._privacy.vault.notes({str(each) for each in records}) if records else {}
        return [_with_file(row, notes.get(str(row.metadata.get(RECORD_KEY)), {}).get("file")) for row in rows]


def _with_file(row: Row, file: str | None) -> Row:
    return row if file is None else replace(row, extra={**row.extra, FILE_KEY: file})

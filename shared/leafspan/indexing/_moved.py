"""New documents with the same text as documents whose files are gone, as after a folder was renamed."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from leafspan.documents import content_hash
from leafspan.files import FileDocument, FileNames
from leafspan.indexing._known_files import content_in_file, file_name, file_path
from leafspan.store import Row
from leafspan.values import Document


class Moved:
    """Watches a source's documents that are read from files.

    It compares the hashes in rows, so that it need not read any text of the index. Files keep their names when their
    folder is renamed, so it compares only documents of files with the same name.
    """

    def __init__(self, rows: Mapping[str, Row]) -> None:
        self._rows = rows
        self._by_shape: dict[tuple[str, int], list[Row]] | None = None
        self._found: list[tuple[str, str]] = []  # the new id, and the existing one

    def watching(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield the documents, and watch them."""
        for document in documents:
            if isinstance(document, FileDocument) and document.id not in self._rows and document.text.strip():
                self._found += [
                    (document.id, row.document_id) for row in self._with_its_shape(document) if _same(document, row)
                ]
            yield document

    def pairs(self, added: Collection[str], left: Sequence[Row], names: FileNames) -> tuple[tuple[str, str], ...]:
        """Return for each new document the stored document with the same text whose file is gone, as a pair of ids."""
        if not self._found:
            return ()
        new, old = set(added), {row.document_id: row for row in left}
        return tuple((a, b) for a, b in self._found if a in new and b in old and not _is_there(old[b], names))

    def _with_its_shape(self, document: Document) -> Sequence[Row]:
        if self._by_shape is None:
            self._by_shape = defaultdict(list)
            for row in self._rows.values():
                if row.version is not None and file_name(row) is not None:
                    self._by_shape[_name(row.document_id), row.characters].append(row)
        return self._by_shape.get((_name(document.id), len(document.text)), ())


def moved_warning(pairs: Sequence[tuple[str, str]]) -> str:
    """Return the warning about new documents that have the text of others."""
    (new, old), count = pairs[0], len({new for new, _ in pairs})
    what = (
        "1 new document has the same text as a document"
        if count == 1
        else f"{count:,} new documents have the same texts as"
    )
    which = "whose file is" if count == 1 else "documents whose files are"
    return (
        f"{what} {which} no longer there, such as {new!r} and {old!r}; if a folder was renamed or moved, delete the old "
        "ones: sync the old path with allow_empty=True (--allow-empty), or delete them by their ids"
    )


def _name(id_: str) -> str:
    return PurePosixPath(id_).name


def _same(document: Document, row: Row) -> bool:
    renamed = Document("", document.text, row.title, row.metadata, hidden=row.hidden)
    return content_hash(renamed, content_in_file(row.extra)) == row.hash


def _is_there(row: Row, names: FileNames) -> bool:
    path = file_path(row, names)
    return path is not None and os.path.exists(path)  # returns False for an id that is too long for a path

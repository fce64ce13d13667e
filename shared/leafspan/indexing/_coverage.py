"""What a source covers: the index's documents that a sync deletes when the source no longer has them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from leafspan.checks import check_text, shown
from leafspan.documents import language_of, read_documents, to_document, with_language
from leafspan.errors import InvalidArgument, InvalidDocument
from leafspan.files import FileNames, FileReading, Files, below_folder, check_paths, is_there, real_path
from leafspan.filters import Where, constant, to_filter
from leafspan.indexing._known_files import file_path
from leafspan.store import Row, Scope
from leafspan.text import UnicodeErrors
from leafspan.values import Document

EVERYTHING = "everything"
"""The value of ``within`` for a source that covers the whole index or view."""


_REMEDY = "; to delete the documents that were read there, pass allow_empty=True (--allow-empty)"


class Coverage(Protocol):
    """A source of documents that knows what it covers."""

    def read(self, known: Callable[[], Collection[Row]]) -> Iterator[Document]:
        """Yield the source's documents."""
        ...

    def covers(self, row: Row) -> bool:
        """Whether the source would have this row's document, unless it was deleted there."""
        ...

    def empty_parts(self, doomed: Collection[Row]) -> list[str]:
        """Return, after reading, the empty parts of the source whose documents would be deleted."""
        ...


def to_coverage(
    source: Any,
    reading: FileReading,
    scope: Scope | None,
    *,
    within: object,
    source_key: str | None,
    allow_empty: bool,
    flatten_metadata: bool,
    unicode_errors: UnicodeErrors,
) -> Coverage:
    """Return what a user's source covers.

    Raises:
        InvalidArgument: if the source does not say what it covers, or says it twice.
        InvalidDocument: if it has a text where a path belongs.
    """
    _refuse_texts(source)
    if (files := _as_files(source)) is not None:
        if within is not None or source_key is not None:
            raise InvalidArgument("files already say what they cover: leave out within and source_key")
        return FileCoverage(files, reading, allow_empty=allow_empty)
    if (within is None) == (source_key is None):
        raise InvalidArgument(
            "a sync of documents must say what they cover: give either within, a filter or 'everything', or source_key, "
            f"got within={shown(within)} and source_key={shown(source_key)}"
        )
    how: dict[str, Any] = {"flatten_metadata": flatten_metadata, "unicode_errors": unicode_errors}
    documents = read_documents(source, reading, **how, skip_bad=True)
    if source_key is not None:
        check_text("source_key", source_key)
        return SourceKeyCoverage(documents, source_key)
    if isinstance(within, str) and within == EVERYTHING:
        return FilterCoverage(documents, None, scope)
    if isinstance(within, str):
        raise InvalidArgument(f"within must be a filter or 'everything', got {shown(within)}")
    condition = to_filter(within)
    if condition is None or constant(condition):
        raise InvalidArgument(f"within must be a filter with a condition, or 'everything', got {shown(within)}")
    return FilterCoverage(documents, condition, scope)


def _refuse_texts(source: object) -> None:
    """Check for texts where paths belong, before a missing file is reported.

    Raises:
        InvalidDocument: if there is such a text; the message says how to give a path.
    """
    for each in source if isinstance(source, list | tuple) else [source]:
        if isinstance(each, str):
            to_document(each)


def _as_files(source: Any) -> list[Files] | None:
    """Return the files if the source consists of files only, else None."""
    things = [source] if isinstance(source, Path | Files) else source
    if not isinstance(things, Sequence) or not things or not all(isinstance(each, Path | Files) for each in things):
        return None
    return [each if isinstance(each, Files) else Files(each) for each in things]


class FileCoverage:
    """Files cover the documents that were read from the same paths, and would be read from there again."""

    def __init__(self, files: Sequence[Files], reading: FileReading, *, allow_empty: bool) -> None:
        self._reading = reading
        self._parts = [
            _Part(path, real_path(path), replace(each, paths=path), reading.names(each))
            for each in files
            for path in each.named
        ]
        self._allow_empty = allow_empty

    def read(self, known: Callable[[], Collection[Row]]) -> Iterator[Document]:
        """See Coverage. A missing path is an error before anything is read."""
        present = [part for part in self._parts if not self._allow_empty or is_there(part.given)]
        for part in present:
            remedy = "" if is_there(part.given) or not any(map(part.has, known())) else _REMEDY
            check_paths(part.files, remedy=remedy)
        for part in present:
            yield from self._reading.read(part.files)

    def covers(self, row: Row) -> bool:
        """See Coverage. Documents of files that could not be read stay in the index."""
        parts = [part for part in self._parts if part.has(row)]
        return bool(parts) and not any(self._reading.may_be_unread(path) for path in (part.path_of(row) for part in parts))

    def empty_parts(self, doomed: Collection[Row]) -> list[str]:
        """See Coverage."""
        return [
            repr(str(part.given))
            for part in self._parts
            if not self._reading.found_below(part.real) and any(part.has(row) for row in doomed)
        ]


@dataclass(frozen=True, slots=True)
class _Part:
    """One of a source's paths, as the user gave it and with links resolved, and how it is read."""

    given: Path
    real: Path
    files: Files
    names: FileNames

    def path_of(self, row: Row) -> Path | None:
        return file_path(row, self.names)

    def has(self, row: Row) -> bool:
        path = self.path_of(row)
        if path is None or path == self.real:
            return path is not None
        relative = below_folder(path, self.real)
        return relative is not None and self.files.takes(relative)


@dataclass(slots=True)
class FilterCoverage:
    """Documents that cover all matches of a filter. Each of them must match it, too."""

    documents: Iterator[Document]
    within: Where | None
    scope: Scope | None
    is_empty: bool = True

    def read(self, known: Callable[[], Collection[Row]]) -> Iterator[Document]:
        """See Coverage."""
        for document in self.documents:
            self.is_empty = False
            stamped = document if self.scope is None else self.scope.stamped(document, document.id)
            if self.within is not None and not self.within.matches(_filterable(stamped), document.id):
                raise InvalidDocument(
                    f"document {document.id!r} must match within, {self.within!r}, got metadata {dict(stamped.metadata)!r}"
                )
            yield document

    def covers(self, row: Row) -> bool:
        """See Coverage."""
        return self.within is None or self.within.matches(row.filterable, row.document_id)

    def empty_parts(self, doomed: Collection[Row]) -> list[str]:
        """See Coverage."""
        return ["the source"] if self.is_empty and doomed else []


@dataclass(slots=True)
class SourceKeyCoverage:
    """Documents that cover everything with the same value of a metadata key as one of them."""

    documents: Iterator[Document]
    key: str
    values: set[object] = field(default_factory=set)

    def read(self, known: Callable[[], Collection[Row]]) -> Iterator[Document]:
        """See Coverage."""
        for document in self.documents:
            value = document.metadata.get(self.key)
            if not _is_key(value):
                raise InvalidDocument(
                    f"document {shown(document.id)} must have a string or a whole number under the source_key "
                    f"{shown(self.key)}, "
                    f"got {shown(value)}"
                )
            self.values.add(value)
            yield document

    def covers(self, row: Row) -> bool:
        """See Coverage."""
        value = row.metadata.get(self.key)
        return _is_key(value) and value in self.values

    def empty_parts(self, doomed: Collection[Row]) -> list[str]:
        """See Coverage. A source without documents covers nothing."""
        return []


def _is_key(value: object) -> bool:
    """Whether a value can group documents: a string or a whole number."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def _filterable(document: Document) -> Mapping[str, object]:
    return with_language(document.metadata, language_of(document))

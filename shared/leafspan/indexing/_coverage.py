"""What a source covers: the documents of an index that a sync deletes if the source no longer has them."""

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
"""What ``within`` is for a source that covers the whole index or view."""


_REMEDY = "; if the documents that were read there are to be deleted, say allow_empty=True (--allow-empty)"


class Coverage(Protocol):
    """A source of documents that knows what it covers."""

    def read(self, known: Callable[[], Collection[Row]]) -> Iterator[Document]:
        """The documents of the source."""
        ...

    def covers(self, row: Row) -> bool:
        """Whether the document of this row is one that the source would have, if it had not been deleted there."""
        ...

    def empty_parts(self, doomed: Collection[Row]) -> list[str]:
        """After reading: the parts of the source that have nothing, but documents that would be deleted."""
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
    """What a user's source covers.

    Raises:
        InvalidArgument: if it does not say, or says twice, what it covers.
        InvalidDocument: if it has a text in place of a path.
    """
    _refuse_texts(source)
    if (files := _as_files(source)) is not None:
        if within is not None or source_key is not None:
            raise InvalidArgument("files say by themselves what they cover: leave out within and source_key")
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
    """Check that no text stands where a path is meant, before anything else is found missing.

    Raises:
        InvalidDocument: if one does; the message says how a path is given.
    """
    for each in source if isinstance(source, list | tuple) else [source]:
        if isinstance(each, str):
            to_document(each)


def _as_files(source: Any) -> list[Files] | None:
    """The files, if the source is nothing else."""
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
        """See Coverage. A path that is not there is an error before anything is read."""
        present = [part for part in self._parts if not self._allow_empty or is_there(part.given)]
        for part in present:
            remedy = "" if is_there(part.given) or not any(map(part.has, known())) else _REMEDY
            check_paths(part.files, remedy=remedy)
        for part in present:
            yield from self._reading.read(part.files)

    def covers(self, row: Row) -> bool:
        """See Coverage. What could not be read stays as it is."""
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
    """One of the paths of a source, as it was given and without links, and how it is read."""

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
    """Documents that cover what matches a filter. Each of them must match it, too."""

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
    """Documents that cover what has the same value of a metadata key as one of them."""

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
    """Whether a value can say which documents belong together: a string or a whole number."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def _filterable(document: Document) -> Mapping[str, object]:
    return with_language(document.metadata, language_of(document))

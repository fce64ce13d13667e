"""Reads a source's files as documents, and skips and reports unreadable ones."""

from __future__ import annotations

import os
import warnings
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from leafspan.checks import shown, storable_fields
from leafspan.errors import InvalidDocument
from leafspan.files._formats import suffixes_of, what_leafspan_wrote
from leafspan.files._opening import whole_characters
from leafspan.files._pages import PICTURES, can_recognize
from leafspan.files._reader_process import LimitedReading
from leafspan.files._record import BadRecord, FileDocument, Record
from leafspan.files._source import AN_INDEX, FileNames, Files, LeftOut, NotRead, find_files
from leafspan.values import Document

_AHEAD = 16  # files that are read before they are needed
_LONGEST_TITLE = 1_000  # characters; each leaf is indexed with the title


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was not read, or not completely, because it is unreadable or written by leafspan itself; or a document
    of a ``sync`` that cannot be stored.

    Attributes:
        path: The file's name, which is its id; for an unreadable folder, its path in the same form; for a document, its
            id, or "" if the id is the problem.
        reason: Why, or what was left out. If there are several reasons, the first one and their number.
    """

    path: str
    reason: str


FileStatus = tuple[int, int, int, int]
"""A file's size, the times of its last modification and change in nanoseconds, and its inode."""


def file_status(path: Path) -> FileStatus | None:
    """Return a file's status, or None if there is no file, or it cannot be looked at."""
    with suppress(OSError):
        seen = os.stat(path)
        return seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino
    return None


class Step(NamedTuple):
    """The next step for something that was found."""

    item: Path | NotRead | LeftOut
    ids: Sequence[str] | None = None  # of an unchanged file; empty for a file that was read before; None for all others
    what: str | None = None  # what leafspan has written there. None for all other files

    @property
    def is_to_be_read(self) -> bool:
        return isinstance(self.item, Path) and self.ids is None and self.what is None


def read_ahead(
    steps: Iterable[Step], begin: Callable[[Path], Iterable[Record | BadRecord]], most: int
) -> Iterator[tuple[Step, Iterable[Record | BadRecord]]]:
    """Yield each step with the documents of its file, in order, and begin to read up to ``most`` files before."""
    waiting: deque[tuple[Step, Iterable[Record | BadRecord]]] = deque()
    reading = 0
    for step in steps:
        if isinstance(step.item, Path) and step.is_to_be_read:
            waiting.append((step, begin(step.item)))
            reading += 1
        else:
            waiting.append((step, ()))
        while waiting and (reading > most or not waiting[0][0].is_to_be_read):
            reading -= waiting[0][0].is_to_be_read
            yield waiting.popleft()
    yield from waiting


def in_limits(steps: Iterable[Step], files: Files) -> Iterator[tuple[Step, Iterable[Record | BadRecord]]]:
    """Yield each step with the documents of its file, which are read with limits, some of them ahead."""
    with closing(LimitedReading(files)) as reading:
        yield from read_ahead(steps, reading.begin, _AHEAD)


class FileReading:
    """Reads files for one call of an index. A file that is found twice is read once."""

    def __init__(
        self, check: Callable[..., Document], root: Path | None = None, stored_name: Callable[[str], str] = str
    ) -> None:
        self.check = check
        self._root = root
        self._stored_name = stored_name
        self._read: set[Path] = set()
        self._unread: set[Path] = set()
        self._own: dict[Path, Skipped] = {}  # files that leafspan itself has written
        self._left_out: dict[Path, str] = {}  # files that are not read, with their kind
        self._unread_documents: set[str] = set()
        self._reasons: dict[str, list[str]] = {}  # the first reason, and an empty text for each further one
        self._noted: set[Path] = set()  # files that were not read completely
        self.seen: Mapping[Path, FileStatus] | None = None  # files that have changed since are left out
        self.missing: dict[Path, list[str]] = defaultdict(list)  # notes that another reading would repeat
        # The ids and the notes of an unchanged file
        self.unchanged: Callable[[Path, str, Files], tuple[list[str], list[str]] | None] = lambda path, name, files: None
        self.ahead: Callable[[Iterable[Step], Files], Iterator[tuple[Step, Iterable[Record | BadRecord]]]] = in_limits
        self.passed: list[str] = []  # document ids of unchanged files, which were not read
        self.order: dict[str, int] = {}  # of the ids of all documents

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """The files and documents that were skipped so far."""
        unread = [
            Skipped(name, first + (f" (and {len(others)} more)" if others else ""))
            for name, (first, *others) in self._reasons.items()
        ]
        return (*unread, *self._own.values())

    @property
    def left_out(self) -> dict[str, int]:
        """The number of unread files of each kind, highest first."""
        counts = Counter(kind for path, kind in self._left_out.items() if path not in self._read)
        return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))

    def names(self, files: Files) -> FileNames:
        root = self._root if files.root is None else Path(files.root).expanduser()
        return FileNames(None if root is None else real_path(root))

    @property
    def unread(self) -> set[Path]:
        """The files that could not be read, or not completely."""
        return self._unread | self._noted

    def may_be_unread(self, path: Path | None) -> bool:
        """Whether the file with this path may exist but was unreadable."""
        if path is None:
            return False
        is_gone = self.seen is not None and path in self.seen and path not in self._read and path not in self._own
        return is_gone or any(each in self._unread for each in (path, *path.parents))

    def keeps(self, document: Document, stored: Mapping[str, object]) -> bool:
        """Whether the index keeps a PDF's document with recognised text, since no picture in the PDF could be read now."""
        had_scans = "ocr" in stored.keys() - document.metadata.keys()
        if is_kept := had_scans and isinstance(document, FileDocument) and document.path in self.missing:
            self._unread.add(document.path)
        return is_kept

    def skip_document(self, id_: str, reason: str) -> None:
        """Record that a user's document could not be stored."""
        self._unread_documents.add(self._stored_name(id_))
        self._reasons.setdefault(self._stored_name(id_), []).append(reason)

    def is_skipped_document(self, id_: str) -> bool:
        """Whether the document with this id, or one with an unknown id, was skipped."""
        return id_ in self._unread_documents or "" in self._unread_documents

    def found_below(self, path: Path) -> bool:
        """Whether a file was found at this path or below it, even if it was not read."""
        return any(each.is_relative_to(path) for each in (*self._read, *self._unread, *self._own))

    def read(self, files: Files) -> Iterator[FileDocument]:
        """Yield a source's documents, in the order of their paths.

        Files in a folder that leafspan itself has written are skipped. A file that the user names is always read.
        """
        check_paths(files)
        names = self.names(files)
        named = frozenset(map(real_path, files.named))
        is_any = False
        for (item, ids, what), records in self.ahead(self._steps(files, names, named), files):
            is_any = is_any or not isinstance(item, LeftOut)
            if isinstance(item, NotRead):
                self._skip(item.path, names.name(item.path), item.reason, strict=files.strict)
            elif isinstance(item, LeftOut):
                name = f" {self._stored_name(names.name(item.path))}" if item.kind == AN_INDEX else ""
                self._left_out[item.path] = item.kind + name
            elif ids is not None:
                self.passed += ids
                self.order |= {id_: len(self.order) + number for number, id_ in enumerate(ids)}
            elif what is not None:
                self._own[item] = Skipped(names.name(item), f"{what}; name the file itself to read it")
            else:
                self._own.pop(item, None)
                yield from self._documents(item, names.name(item), records, strict=files.strict)
        if not is_any and files.glob:
            warnings.warn(no_match(files), RuntimeWarning, stacklevel=2)

    def _steps(self, files: Files, names: FileNames, named: frozenset[Path]) -> Iterator[Step]:
        """Yield the step for each file of a source before it is read."""
        for item in chain.from_iterable(files_at(path, files) for path in files.named):  # a file perhaps twice
            if isinstance(item, NotRead | LeftOut):
                yield Step(item)
            elif item in self._read:
                yield Step(item, ())
            elif self.seen is not None and self.seen.get(item) != file_status(item):
                self._unread.add(item)
                yield Step(item, ())
            else:
                ids, notes = self.unchanged(item, names.name(item), files) or (None, ())
                for note in notes:
                    self._note(names.name(item), note, strict=False)
                suffix = item.suffix.lower()
                if ids is None and item not in named and suffix in {*PICTURES} - {*files.readers} and not can_recognize():
                    self._unread.add(item)  # so its document stays
                    yield Step(LeftOut(item, f"{suffix} without the extra 'ocr'"))
                    continue
                what = None if ids is not None or item in named else what_leafspan_wrote(item)
                if what is None:
                    self._read.add(item)
                yield Step(item, ids, what)

    def _documents(
        self, path: Path, name: str, records: Iterable[Record | BadRecord], *, strict: bool
    ) -> Iterator[FileDocument]:
        for record in records:
            if isinstance(record, BadRecord):
                self._skip(path, name, record.reason, strict=strict)
                continue
            id_ = record.id or (f"{name}#{record.part}" if record.part else name)
            metadata, reasons = storable_fields(record.metadata)
            left_out = [*record.left_out, *(f"the field {key!r} is left out: {reason}" for key, reason in reasons.items())]
            title = record.title or path.stem
            if len(title) > _LONGEST_TITLE:
                title = path.stem
                left_out.append(f"its title is left out: it has more than {_LONGEST_TITLE:,} characters")
            document = Document(id_, whole_characters(record.text), whole_characters(title), {"source": name, **metadata})
            try:
                checked = self.check(document)
            except InvalidDocument as error:
                self._skip(path, name, str(error), strict=strict)
                continue
            for reason in left_out:
                self._note(name, reason, strict=strict)
                self._noted.add(path)
            for reason in record.missing:
                self._note(name, reason, strict=False)
                self.missing[path].append(reason)
            self.order.setdefault(checked.id, len(self.order))
            yield FileDocument(
                checked.id,
                checked.text,
                checked.title,
                checked.metadata,
                file=self._stored_name(name),
                path=path,
                lines_before=record.lines_before,
                markup=record.markup,
                parts=record.parts,
                layout=record.layout if checked.text == record.text else None,
            )

    def _skip(self, path: Path, name: str, reason: str, *, strict: bool) -> None:
        self._unread.add(path)
        if self.seen is None or path not in self.seen or self.seen[path] == file_status(path):
            self._note(name, reason, strict=strict)

    def _note(self, name: str, reason: str, *, strict: bool) -> None:
        if strict:
            raise InvalidDocument(f"file {name!r} cannot be read: {reason}")
        reasons = self._reasons.setdefault(name, [])
        reasons.append("" if reasons else reason)


def no_match(files: Files) -> str:
    """Return the message for a source whose patterns match no file."""
    folders = " and ".join(shown(str(path)) for path in files.named)
    without = f", without exclude={shown(files.exclude)}" if files.exclude else ""
    return (
        f"no file of a known kind ({', '.join(suffixes_of(files))}) in {folders} matches glob={shown(files.glob)}{without}"
    )


def check_paths(files: Files, *, remedy: str = "") -> None:
    """Check that each path of a source exists, and is a folder or a file of a known kind."""
    suffixes = suffixes_of(files)
    for path in files.named:
        if not is_there(path):
            raise InvalidDocument(f"there is no file or folder {str(path)!r}{remedy}")
        real = real_path(path)
        if not real.is_dir() and real.suffix.lower() not in suffixes:
            raise InvalidDocument(f"files must be of a known kind ({', '.join(suffixes)}), got {str(real)!r}")


def is_there(path: Path) -> bool:
    """Whether something exists at a path that the user named."""
    try:
        return path.exists()
    except OSError as error:
        problem = f"got {str(path)!r}: {error.strerror}"
        raise InvalidDocument(f"a file or folder must be one that can be looked at, {problem}") from None


def files_at(named: Path, files: Files) -> Iterator[Path | NotRead | LeftOut]:
    """Yield the files at one of a source's paths. Files that the patterns exclude are not reported."""
    real = real_path(named)
    if not real.is_dir():
        yield real
        return

    suffixes = {*suffixes_of(files)}

    def below(path: Path) -> PurePosixPath:
        return PurePosixPath(path.relative_to(real).as_posix())

    def takes(path: Path) -> bool:
        return path.suffix.lower() in suffixes and files.takes(below(path))

    def enters(path: Path) -> bool:
        return not path.name.startswith(".") and not files.leaves_out(below(path))

    for item in find_files(real, takes=takes, enters=enters):
        if not isinstance(item, LeftOut) or item.kind == AN_INDEX or files.matches(below(item.path)):
            yield item


def real_path(path: Path) -> Path:
    """Return the path, absolute and without links. It need not exist."""
    return Path(os.path.realpath(path))

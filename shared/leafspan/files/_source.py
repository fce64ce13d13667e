"""A source of files: the paths that a user names, the files there, and their names in an index."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from leafspan.checks import check_flag, check_text, shown
from leafspan.errors import InvalidArgument

_HIDDEN = (".", "~$")  # Office writes a file such as ~$report.docx beside an open one


@dataclass(frozen=True, slots=True)
class Files:
    """Files and folders as a source of documents: for ``Index.add``, and for ``Index.sync``.

    A folder stands for all files in it and below it whose kind is known: texts (Markdown, reStructuredText, AsciiDoc, Org),
    data (JSON, YAML, TOML, CSV), notebooks and mail; and with the extra ``files``, or the kind's own extra, HTML, EPUB,
    PDF, Word, Excel, PowerPoint, LibreOffice and source code; with the extra ``ocr``, scanned pages and pictures, too.
    docs/files-and-sync.md has all suffixes. Hidden files and folders are not read, and links are not followed. A linked
    file is read only in its own place, if that is in the folder.

    A file is a document, and so is a line of a ``.jsonl`` file and a message of a mailbox. The id of a file is its path
    relative to the folder in which the index's folder lies, or else its absolute path: see ``root``.

    Args:
        paths: A file or a folder, or several. A path that is a link is followed.
        glob: Patterns. A file in a folder must match at least one of them. ``*`` and ``?`` match within a name, ``**`` any
            number of folders. A pattern without a slash is matched against the name, any other one against the path below
            the folder: ``"*.md"``, ``"guide/**/*.md"``. Default: all files.
        exclude: Patterns of files and folders that are left out, such as ``"drafts"``. Default: none.
        encoding: Encoding of texts, HTML and JSON lines that are not UTF-8. A file that is valid UTF-8 with characters
            beyond ASCII is read as UTF-8 in any case. A byte order mark overrides this option. Default: UTF-8; for
            HTML, the encoding that the page declares.
        text_field: Field of a JSON line that has the text. Default: ``"text"``.
        id_field: Field of a JSON line that has the id, a string or a whole number. Default: none, the id has the line's
            number.
        title_field: Field of a JSON line that has the title. Default: none. All other fields become metadata.
            Dots join the names of nested fields.
        root: Folder that ids are relative to, for files below it. Default: the folder in which the index's folder lies;
            behind a client, none, so that ids are absolute paths.
        readers: Your own readers by file suffix, such as ``{".xyz": read}``, instead of leafspan's. A reader is a
            function from a ``Path`` to a text, or to one or more Documents of leafspan, LangChain or LlamaIndex; a
            LangChain loader class; or a LlamaIndex reader. A single document has its file's id. Several documents
            have this id with a number. Default: none.
        outputs: Whether the outputs of a notebook's code are read, as far as they are text. Default: False.
        checksum: Whether ``sync`` also reads files whose size and times have not changed since the last sync. Otherwise
            ``sync`` treats these files as unchanged. Default: False.
        strict: Whether an unreadable file, or a field that cannot be metadata, is an error. Otherwise it is skipped,
            and reported in the result. Default: False.

    Raises:
        InvalidArgument: if an option is of a wrong type, or the encoding is unknown.
    """

    paths: str | Path | Iterable[str | Path]
    glob: str | Sequence[str] = field(default=(), kw_only=True)
    exclude: str | Sequence[str] = field(default=(), kw_only=True)
    encoding: str | None = field(default=None, kw_only=True)
    text_field: str = field(default="text", kw_only=True)
    id_field: str | None = field(default=None, kw_only=True)
    title_field: str | None = field(default=None, kw_only=True)
    root: str | Path | None = field(default=None, kw_only=True)
    readers: Mapping[str, Any] = field(default_factory=dict, kw_only=True, hash=False)
    outputs: bool = field(default=False, kw_only=True)
    checksum: bool = field(default=False, kw_only=True)
    strict: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        paths = (self.paths,) if isinstance(self.paths, str | Path) else tuple(self.paths)
        if not paths or not all(isinstance(path, str | Path) and path != "" for path in paths):
            raise InvalidArgument(f"paths must be files or folders, at least one, got {shown(self.paths)}")
        object.__setattr__(self, "paths", tuple(Path(path).expanduser() for path in paths))
        for name in ("glob", "exclude"):
            value = getattr(self, name)
            patterns = (value,) if isinstance(value, str) else tuple(value)
            if not all(isinstance(pattern, str) and pattern for pattern in patterns):
                raise InvalidArgument(f"{name} must be one or more patterns such as '*.md', got {shown(value)}")
            object.__setattr__(self, name, patterns)
        for name in ("text_field", "id_field", "title_field"):
            if name == "text_field" or getattr(self, name) is not None:
                check_text(name, getattr(self, name))
        if self.encoding is not None:
            check_text("encoding", self.encoding)
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                rule = "encoding must be one that Python knows, such as 'latin-1'"
                raise InvalidArgument(f"{rule}, got {shown(self.encoding)}") from None
        _check_readers(self.readers)
        object.__setattr__(self, "readers", {suffix.lower(): reader for suffix, reader in self.readers.items()})
        check_flag("outputs", self.outputs)
        check_flag("checksum", self.checksum)
        check_flag("strict", self.strict)

    @property
    def named(self) -> tuple[Path, ...]:
        """The paths."""
        return self.paths  # type: ignore[return-value]

    def takes(self, relative: PurePosixPath) -> bool:
        """Whether a file with this path below a folder is read, if it is there and its kind is known."""
        return not any(part.startswith(_HIDDEN) for part in relative.parts) and self.matches(relative)

    def matches(self, relative: PurePosixPath) -> bool:
        """Whether ``glob`` and ``exclude`` allow a file with this path below a folder."""
        if self.leaves_out(relative):
            return False
        return not self.glob or any(_matches(relative, pattern) for pattern in self.glob)

    def leaves_out(self, relative: PurePosixPath) -> bool:
        """Whether ``exclude`` has a pattern that matches the path, or a folder above it."""
        return any(_matches(path, pattern) for path in (relative, *relative.parents) for pattern in self.exclude)


def _check_readers(readers: object) -> None:
    rule = "readers must be functions from a path to a text or documents, by suffixes such as '.xyz'"
    if not isinstance(readers, Mapping):
        raise InvalidArgument(f"{rule}, got {shown(readers)}")
    for suffix, reader in readers.items():
        if not isinstance(suffix, str) or not suffix.startswith(".") or suffix == "." or "/" in suffix:
            raise InvalidArgument(f"{rule}, got the suffix {shown(suffix)}")
        if not callable(reader) and not hasattr(reader, "load_data"):
            raise InvalidArgument(f"{rule}, got {shown(reader)} for {suffix}")


def _matches(path: PurePosixPath, pattern: str) -> bool:
    if "/" not in pattern.rstrip("/"):
        return fnmatchcase(path.name, pattern.rstrip("/"))
    return _match_parts(path.parts, tuple(part for part in pattern.split("/") if part))


def _match_parts(parts: tuple[str, ...], patterns: tuple[str, ...]) -> bool:
    if not patterns:
        return not parts
    first, *rest = patterns
    if first == "**":
        return any(_match_parts(parts[start:], tuple(rest)) for start in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], first) and _match_parts(parts[1:], tuple(rest))


AN_INDEX = "index"  # the kind of a folder that holds an index

# Names of an index's own files and folders. Only indexes have the first ones.
_MARK = re.compile(r"chroma\.sqlite3|leafspan\.(?:changes|files|lock|segments|sqlite3(?:-journal)?|vectors)")
_OWN = re.compile(rf"(?:{_MARK.pattern}).*|[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}")


class NotRead(NamedTuple):
    """A file or folder that is not read, and why."""

    path: Path
    reason: str


class LeftOut(NamedTuple):
    """A file that is left out: it is hidden, of another kind, or a broken link; or a folder that holds an index."""

    path: Path
    kind: str


def find_files(
    folder: Path, *, takes: Callable[[Path], bool], enters: Callable[[Path], bool]
) -> Iterator[Path | NotRead | LeftOut]:
    """Yield a folder's files to read, its unreadable folders, and what is left out.

    Links that stay in the folder are skipped, since their targets are found anyway. So nothing is found twice, and loops
    of links do no harm. A hidden folder is left out as a whole, and so is a folder that holds an index. If the given
    folder holds one, only the index's own files in it are left out.
    """
    waiting = [iter([folder])]
    while waiting:
        if (path := next(waiting[-1], None)) is None:
            waiting.pop()
            continue
        try:
            is_link = path != folder and (path.is_symlink() or bool(getattr(path, "is_junction", bool)()))
            is_folder = path.is_dir()
            is_there = not is_link or path.exists()
            names = sorted(os.listdir(path)) if path == folder or (is_folder and not is_link and enters(path)) else None
        except OSError as error:  # its path is too long, or its folder must not be searched: it may be a wanted file
            if path == folder or takes(path) or enters(path):
                yield NotRead(path, error.strerror or str(error))
            continue
        if is_link:
            is_wanted = takes(path) or (enters(path) and is_folder)
            if is_wanted and not Path(os.path.realpath(path)).is_relative_to(folder):
                yield NotRead(path, "it is a link that leads out of the folder")
            elif not is_there:
                yield LeftOut(path, "links to nothing")
        elif names is not None:
            if any(map(_MARK.fullmatch, names)):
                yield LeftOut(path, AN_INDEX)
                names = [name for name in names if path == folder and not _OWN.fullmatch(name)]
            waiting.append(iter([path / name for name in names]))
        elif is_folder or not takes(path):
            yield LeftOut(path, "hidden" if path.name.startswith(_HIDDEN) else path.suffix.lower() or "without a suffix")
        else:
            yield path


@dataclass(frozen=True, slots=True)
class FileNames:
    """File names: relative for files below the root folder, otherwise absolute. With ``/`` on every system."""

    root: Path | None = None
    _folders: dict[Path, Path] = field(default_factory=dict, init=False, repr=False, compare=False)

    def name(self, path: Path) -> str:
        """Return the name of the file with this path, which is absolute and without links."""
        if self.root is not None and path.is_relative_to(self.root):
            return path.relative_to(self.root).as_posix()
        return path.as_posix()

    def path(self, name: str) -> Path | None:
        """Return the path of the file with this name, or None for a relative name without a root.

        Links in its folder are followed. The file need not exist.
        """
        path = Path(name) if self.root is None else self.root / name
        if not path.is_absolute():
            return None
        if path.parent not in self._folders:
            self._folders[path.parent] = Path(os.path.realpath(path.parent))
        return self._folders[path.parent] / path.name


def below_folder(path: Path, folder: Path) -> PurePosixPath | None:
    return PurePosixPath(path.relative_to(folder).as_posix()) if path != folder and path.is_relative_to(folder) else None

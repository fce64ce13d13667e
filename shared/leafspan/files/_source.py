"""A source of files: the paths that a user names, and how the files there are read."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from leafspan.checks import check_flag, check_text, shown
from leafspan.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class Files:
    """Files and folders as a source of documents: for ``Index.add``, and for ``Index.sync``.

    A folder stands for all files in it and below it whose kind is known: texts (Markdown, reStructuredText, AsciiDoc,
    Org), data (JSON, YAML, TOML, CSV), notebooks and mail; and with the extra ``files``, or the kind's own extra, HTML,
    EPUB, PDF, Word, Excel, PowerPoint, LibreOffice and source code. docs/files-and-sync.md has all suffixes. Hidden
    files and folders are not read, and links are not followed. A linked file is read only in its own place, if that is
    in the folder.

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
            _check_encoding(self.encoding)
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
        return not any(part.startswith(".") for part in relative.parts) and self.matches(relative)

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


def _check_encoding(encoding: object) -> None:
    check_text("encoding", encoding)
    try:
        codecs.lookup(str(encoding))
    except LookupError:
        raise InvalidArgument(f"encoding must be one that Python knows, such as 'latin-1', got {shown(encoding)}") from None


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

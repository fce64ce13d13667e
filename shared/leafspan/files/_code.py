"""Source code: the unchanged text. Definitions are its headings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePath

from leafspan.files._decoding import decode
from leafspan.files._opening import read_bytes
from leafspan.files._record import Record, parsed_record
from leafspan.files._source import Files
from leafspan.splitting import parser_of

LANGUAGE_OF = {
    **dict.fromkeys((".py", ".pyi"), "python"),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), "javascript"),
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
    ".tsx": "tsx",
    ".go": "go",
    ".rs": "rust",
    ".java": "java",
    **dict.fromkeys((".c", ".h"), "c"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp"), "cpp"),
    ".cs": "csharp",
    ".rb": "ruby",
    ".php": "php",
}
"""The language of a file, by its suffix."""


def is_code(name: str) -> bool:
    """Whether a file or a document with this name is source code."""
    return PurePath(name).suffix.lower() in LANGUAGE_OF


def read_code(path: Path, files: Files) -> Iterator[Record]:
    """See Reader. Its title is the file's name."""
    language = LANGUAGE_OF[path.suffix.lower()]
    parser_of(language)  # reports a missing parser for this file
    yield parsed_record(decode(read_bytes(path), files.encoding or "utf-8"), path.name, language)

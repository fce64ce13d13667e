"""The readable kinds of files, by suffix."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from leafspan.files._book import read_epub
from leafspan.files._code import LANGUAGE_OF, read_code
from leafspan.files._data import read_json, read_plain
from leafspan.files._html import read_html
from leafspan.files._json_lines import read_json_lines
from leafspan.files._mail import read_eml, read_mbox
from leafspan.files._notebook import read_notebook
from leafspan.files._opendocument import read_opendocument
from leafspan.files._own_reader import read_with
from leafspan.files._pdf import read_pdf
from leafspan.files._record import BadRecord, Reader, Record
from leafspan.files._sheets import read_csv, read_xlsx
from leafspan.files._slides import read_pptx
from leafspan.files._source import Files
from leafspan.files._text import is_rst, read_asciidoc, read_markdown, read_org, read_rst, read_text
from leafspan.files._word import read_docx

READERS: dict[str, Reader] = {
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".mdx": read_markdown,
    ".txt": read_text,
    ".text": read_text,
    ".rst": read_rst,
    ".adoc": read_asciidoc,
    ".asciidoc": read_asciidoc,
    ".org": read_org,
    ".html": read_html,
    ".htm": read_html,
    ".xhtml": read_html,
    ".jsonl": read_json_lines,
    ".pdf": read_pdf,
    ".docx": read_docx,
    ".docm": read_docx,
    ".odt": read_opendocument,
    ".pptx": read_pptx,
    ".odp": read_opendocument,
    ".xlsx": read_xlsx,
    ".xlsm": read_xlsx,
    ".ods": read_opendocument,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".epub": read_epub,
    ".ipynb": read_notebook,
    ".eml": read_eml,
    ".mbox": read_mbox,
    ".json": read_json,
    ".yaml": read_plain,
    ".yml": read_plain,
    ".toml": read_plain,
    **dict.fromkeys(LANGUAGE_OF, read_code),
}
"""The reader of a file, by its suffix in lower case."""

SUFFIXES = tuple(READERS)
"""Suffixes of the files that are read from a folder."""

_PLAIN = (read_markdown, read_text, read_asciidoc, read_org, read_json_lines, read_plain)


def suffixes_of(files: Files) -> tuple[str, ...]:
    """Return the suffixes of a source's readable files: leafspan's and the user's."""
    return (*SUFFIXES, *(suffix for suffix in files.readers if suffix not in READERS))


def read_file(path: Path, files: Files) -> Iterator[Record | BadRecord]:
    """Read the documents of a file with such a suffix. See Reader."""
    suffix = path.suffix.lower()
    own = files.readers.get(suffix)
    return READERS[suffix](path, files) if own is None else read_with(own, path)


def is_plain(path: Path, files: Files) -> bool:
    """Whether a file is read in time and memory that depend on its size alone, or by a user's own reader."""
    reader = READERS[suffix] if (suffix := path.suffix.lower()) not in files.readers else None
    return reader is None or (reader in _PLAIN and not (reader is read_text and is_rst(path, files)))

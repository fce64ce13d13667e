"""The kinds of files that can be read, by their suffixes."""

from __future__ import annotations

from leafspan.files._html import read_html
from leafspan.files._json_lines import read_json_lines
from leafspan.files._pdf import read_pdf
from leafspan.files._record import Reader
from leafspan.files._text import read_markdown, read_rst, read_text

READERS: dict[str, Reader] = {
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".txt": read_text,
    ".text": read_text,
    ".rst": read_rst,
    ".html": read_html,
    ".htm": read_html,
    ".jsonl": read_json_lines,
    ".pdf": read_pdf,
}
"""What reads a file, by its suffix in lower case."""

SUFFIXES = tuple(READERS)
"""Endings of the files that are read from a folder."""

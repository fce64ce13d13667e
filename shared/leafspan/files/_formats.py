"""The readable kinds of files, by suffix: leafspan's own readers and the user's, and what leafspan itself has written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from leafspan.checks import GENERATOR, shown
from leafspan.errors import LeafspanError
from leafspan.files._data import read_json, read_json_lines, read_notebook, read_plain
from leafspan.files._html import read_epub, read_html
from leafspan.files._mail import read_eml, read_mbox
from leafspan.files._office import read_pptx
from leafspan.files._opendocument import read_opendocument
from leafspan.files._opening import MOST_BYTES, Unreadable, open_file
from leafspan.files._pages import PICTURES, can_recognize, read_pdf, read_picture
from leafspan.files._record import BadRecord, MoreTime, Record
from leafspan.files._sheets import read_csv, read_xlsx
from leafspan.files._source import Files
from leafspan.files._text import LANGUAGE_OF, is_rst, read_asciidoc, read_code, read_markdown, read_org, read_rst, read_text
from leafspan.files._word import read_docx
from leafspan.values import Document


def read_with(reader: Any, path: Path) -> Iterator[Record | BadRecord]:
    """Read a file's documents with a user's own reader; a single document has the file's id."""
    try:
        if hasattr(reader, "load_data"):
            returned = (reader() if isinstance(reader, type) else reader).load_data(path)
        else:
            returned = reader(str(path) if isinstance(reader, type) else path)  # LangChain's loaders take a string
        if hasattr(returned, "lazy_load"):  # a loader for this file
            returned = list(returned.lazy_load())
        is_single = isinstance(returned, str | Document | Mapping) or not isinstance(returned, Iterable)
        records = [
            _record_of(each) for each in ([returned] if is_single or hasattr(returned, "page_content") else returned)
        ]
    except (LeafspanError, Unreadable, OSError) as error:
        raise Unreadable(str(error)) from error
    except Exception as error:
        raise Unreadable(f"its reader failed with {type(error).__name__}: {error}") from error
    for number, record in enumerate(records, start=1):
        yield record._replace(part=f"document={number}") if len(records) > 1 else record


def _record_of(thing: Any) -> Record:
    title: object = None
    metadata: Mapping[str, Any] = {}
    if isinstance(thing, str):
        text = thing
    elif isinstance(thing, Document):
        text, metadata, title = thing.text, thing.metadata, thing.title
    elif hasattr(thing, "page_content"):
        text, metadata = thing.page_content, thing.metadata or {}
    elif hasattr(thing, "get_content") and hasattr(thing, "metadata"):
        text, metadata = thing.get_content(), thing.metadata or {}
    else:
        raise Unreadable(f"its reader must return a text or documents, got {shown(thing)}")
    title = metadata.get("title") if title is None else title
    others = {key: value for key, value in metadata.items() if key not in ("source", "title")}
    if not isinstance(text, str):
        raise Unreadable(f"its reader must return documents with a text, got {shown(text)}")
    return Record(text, title if isinstance(title, str) else None, others, parts=())


_HEAD = 4_096  # bytes; a page names its generator among its first elements
_GENERATOR = re.compile(
    rb"""\s*<!doctype\ html>\s*(?:<!--.*?-->\s*)?<html[^>]*>\s*<head>\s*  # browsers add the comment when they save a page
    (?:<meta[^>]*>\s*)*?<meta\ name="generator"\ content="%b">"""
    % GENERATOR.encode(),
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_QUESTION = frozenset({"id", "text", "answers", "answer_mode", "relevant"})
_PLACE = frozenset({"doc_id", "start", "end"})


def is_report(path: Path) -> bool:
    """Whether a file is a page that ``leafspan report`` has written."""
    with open_file(path) as file:
        return _GENERATOR.match(file.read(_HEAD)) is not None


def is_of_questions(path: Path) -> bool:
    """Whether a file in JSON Lines has questions for ``leafspan eval``.

    True if each line has only the keys of a question, up to a question whose answer is a place in a document. Questions
    with only texts as answers look like documents.
    """
    with open_file(path) as file:
        while line := file.readline(MOST_BYTES + 1):
            if not line.strip():
                continue
            try:
                fields = json.loads(line)
            except (ValueError, RecursionError):
                return False
            if not isinstance(fields, dict) or not isinstance(fields.get("text"), str) or not fields.keys() <= _QUESTION:
                return False
            answers = fields.get("answers")
            if isinstance(answers, list) and any(isinstance(each, dict) and each.keys() >= _PLACE for each in answers):
                return True
    return False


def what_leafspan_wrote(path: Path) -> str | None:
    """Describe briefly what leafspan wrote, or return None for a user's or an unreadable file."""
    suffix = path.suffix.lower()
    with suppress(Unreadable, OSError):  # reading it as a document reports the error
        if suffix in (".html", ".htm") and is_report(path):
            return "it is a report that leafspan has written"
        if suffix == ".jsonl" and is_of_questions(path):
            return "it has questions for `leafspan eval`"
    return None


READERS: dict[str, Callable[[Path, Files], Iterator[Record | BadRecord | MoreTime]]] = {
    **dict.fromkeys((".md", ".markdown", ".mdx"), read_markdown),
    **dict.fromkeys((".txt", ".text"), read_text),
    ".rst": read_rst,
    **dict.fromkeys((".adoc", ".asciidoc"), read_asciidoc),
    ".org": read_org,
    **dict.fromkeys((".html", ".htm", ".xhtml"), read_html),
    ".jsonl": read_json_lines,
    ".pdf": read_pdf,
    **dict.fromkeys(PICTURES, read_picture),
    **dict.fromkeys((".docx", ".docm"), read_docx),
    ".odt": read_opendocument,
    ".pptx": read_pptx,
    ".odp": read_opendocument,
    **dict.fromkeys((".xlsx", ".xlsm"), read_xlsx),
    ".ods": read_opendocument,
    **dict.fromkeys((".csv", ".tsv"), read_csv),
    ".epub": read_epub,
    ".ipynb": read_notebook,
    ".eml": read_eml,
    ".mbox": read_mbox,
    ".json": read_json,
    **dict.fromkeys((".yaml", ".yml", ".toml"), read_plain),
    **dict.fromkeys(LANGUAGE_OF, read_code),
}
"""The function that yields a file's documents, by the file's suffix in lower case."""

SUFFIXES = tuple(READERS)  # suffixes of the files that are read from a folder

_PLAIN = (read_markdown, read_text, read_asciidoc, read_org, read_json_lines, read_plain)


def suffixes_of(files: Files) -> tuple[str, ...]:
    """Return the suffixes of a source's readable files: leafspan's and the user's."""
    return (*SUFFIXES, *(suffix for suffix in files.readers if suffix not in READERS))


def is_recognized(path: Path) -> bool:
    """Whether text in pictures of this file is read."""
    return path.suffix.lower() in (".pdf", *PICTURES) and can_recognize()


def read_file(path: Path, files: Files) -> Iterator[Record | BadRecord | MoreTime]:
    suffix = path.suffix.lower()
    return READERS[suffix](path, files) if suffix not in files.readers else read_with(files.readers[suffix], path)


def is_plain(path: Path, files: Files) -> bool:
    """Whether a file is read in time and memory that depend on its size alone, or by a user's own reader."""
    suffix = path.suffix.lower()
    reader = READERS.get(suffix)
    return suffix in files.readers or (reader in _PLAIN and not (reader is read_text and is_rst(path, files)))

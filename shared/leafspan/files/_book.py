"""Books (EPUB): their chapters in reading order, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree
from zipfile import ZipFile

from leafspan.errors import MissingExtra
from leafspan.files._archive import open_archive
from leafspan.files._decoding import decode
from leafspan.files._html import markdown_of
from leafspan.files._opening import Unreadable
from leafspan.files._record import Record
from leafspan.files._source import Files


def read_epub(path: Path, files: Files) -> Iterator[Record]:
    """See Reader. Its title is the book's title; chapters are its sections."""
    archive = open_archive(path)
    try:
        chapters, title = _chapters(archive)
        texts = [markdown_of(decode(archive.read(name), "utf-8"))[0] for name in chapters]
    except (Unreadable, MissingExtra):
        raise
    except Exception as error:  # parts may be missing or broken in many ways
        raise Unreadable(f"it is no book that can be read: {error}") from None
    yield Record("\n".join(text for text in texts if text.strip()), title, {}, parts=())


def _chapters(archive: ZipFile) -> tuple[list[str], str | None]:
    """Return the names of the files with the book's chapters, and its title."""
    container = ElementTree.fromstring(archive.read("META-INF/container.xml"))
    package = next(each.get("full-path", "") for each in _all(container, "rootfile"))
    book = ElementTree.fromstring(archive.read(package))
    names = {each.get("id"): unquote(each.get("href", "")) for each in _all(book, "item")}
    # Each file once: a book of a few kilobytes can name a chapter a million times.
    read = dict.fromkeys(names[each.get("idref")] for each in _all(book, "itemref") if each.get("linear") != "no")
    title = next((" ".join((each.text or "").split()) for each in _all(book, "title")), "")
    return [normpath(join(dirname(package), name)) for name in read], title or None


def _all(element: Any, name: str) -> Iterator[Any]:
    return (each for each in element.iter() if each.tag.rpartition("}")[2] == name)

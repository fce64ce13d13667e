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
    """See Reader. Its title is the book's title; chapters are its sections. A chapter that cannot be read is left out."""
    archive = open_archive(path)
    texts: list[str] = []
    left_out: list[str] = []
    try:
        chapters, title = _chapters(archive)
    except Exception as error:  # parts may be missing or broken in many ways
        raise Unreadable(f"it is no book that can be read: {error}") from None
    for name, problem in chapters.items():
        try:
            if problem or name not in archive.NameToInfo:
                raise Unreadable(problem or "it is not in the file")
            texts.append(markdown_of(decode(archive.read(name), "utf-8"))[0])
        except MissingExtra:
            raise
        except Exception as error:  # as above
            left_out.append(f"the chapter {name!r} is left out: {error}")
    text = "\n".join(text for text in texts if text.strip())
    if not text:
        raise Unreadable("; ".join(left_out[:1]) or "it has no text, only images perhaps: recognise its text first (OCR)")
    yield Record(text, title, {}, left_out=left_out, parts=())


def _chapters(archive: ZipFile) -> tuple[dict[str, str], str | None]:
    """Return the names of the files with the book's chapters, in reading order, each with a problem, and its title."""
    container = ElementTree.fromstring(archive.read("META-INF/container.xml"))
    package = next(each.get("full-path", "") for each in _all(container, "rootfile"))
    book = ElementTree.fromstring(archive.read(package))
    names = {each.get("id", ""): unquote(each.get("href", "")) for each in _all(book, "item")}
    read: dict[str, str] = {}  # each file once: a book of a few kilobytes can name a chapter a million times
    for each in _all(book, "itemref"):
        if each.get("linear") != "no":
            id_ = each.get("idref", "")
            read |= (
                {normpath(join(dirname(package), names[id_])): ""} if id_ in names else {id_: "the book does not list it"}
            )
    title = next((" ".join((each.text or "").split()) for each in _all(book, "title")), "")
    return read, title or None


def _all(element: Any, name: str) -> Iterator[Any]:
    return (each for each in element.iter() if each.tag.rpartition("}")[2] == name)

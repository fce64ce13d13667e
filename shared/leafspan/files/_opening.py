"""From a path to bytes, archives and texts: regular files only, of bounded size; and the errors of files."""

from __future__ import annotations

import codecs
import io
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from leafspan.errors import MissingExtra

MOST_BYTES = 2**28  # the size, in bytes, of the largest file, or line of a .jsonl file, that is read at once: 256 MiB

NO_TEXT = "it has no text, only images perhaps: recognise its text first (OCR)"
_KINDS = ((stat.S_ISFIFO, "a FIFO"), (stat.S_ISSOCK, "a socket"), (stat.S_ISDIR, "a folder"))


class Unreadable(Exception):
    """A file, or a part of it, cannot be read; the message says why. Users never see this exception."""


@contextmanager
def parsing(problem: str) -> Iterator[None]:
    """Describe any exception inside by the problem: a broken file makes libraries raise all kinds of exceptions."""
    try:
        yield
    except (Unreadable, MissingExtra):
        raise
    except Exception as error:
        raise Unreadable(f"{problem}: {error}") from None


def library(module: str, problem: str, extra: str) -> Any:
    """Return a library that is imported when the first file needs it."""
    try:
        return import_module(module)
    except ImportError as error:
        is_missing = isinstance(error, ModuleNotFoundError) and module.startswith(error.name or module)
        raise MissingExtra.of(problem if is_missing else f"{problem}, whose import fails ({error})", extra) from error


def in_one_line(text: str) -> str:
    """Return a text with single spaces as white space."""
    return " ".join(text.split())


def open_file(path: Path) -> BinaryIO:
    _check_regular(path.stat().st_mode)  # before opening, since opening a device can have effects
    file: BinaryIO = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 (the caller closes it)
    try:
        _check_regular(os.fstat(file.fileno()).st_mode)
    except BaseException:
        file.close()
        raise
    return file


def read_bytes(path: Path) -> bytes:
    with open_file(path) as file:
        data = file.read(MOST_BYTES + 1) if os.fstat(file.fileno()).st_size <= MOST_BYTES else None
    if data is None or len(data) > MOST_BYTES:
        raise Unreadable(f"it has more than {MOST_BYTES:,} bytes")
    return data


def _check_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "a device")
        raise Unreadable(f"it is {kind}, not a regular file")


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


_MOST_ENTRIES = 20_000
_COMPOUND_FILE = bytes.fromhex("d0cf11e0a1b11ae1")
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_OF_OFFICE = "[Content_Types].xml"
_XML = re.compile(r"\.(?:xml|rels)\Z", re.IGNORECASE)
_HEAD_OF_PART = 1_024  # bytes of a part in which a document type is declared


def open_archive(path: Path) -> zipfile.ZipFile:
    """Open an archive. What reading its entries takes is left to the limits of the process."""
    content = read_bytes(path)
    if content.startswith(_COMPOUND_FILE):
        raise Unreadable("it is encrypted, or in the format of before 2007: save it again")
    data = io.BytesIO(content)
    try:
        archive = zipfile.ZipFile(data)
        entries = archive.infolist()
        if len(entries) > _MOST_ENTRIES:
            raise Unreadable(f"it has more than {_MOST_ENTRIES:,} files in it")
        if any(entry.flag_bits & 1 for entry in entries):
            raise Unreadable("it is encrypted")
        if any(entry.compress_type not in _PACKED for entry in entries):
            raise Unreadable("it has files in it that are neither stored nor deflated")
        if sum(entry.file_size for entry in entries) > MOST_BYTES:  # no entry is read any further than it declares
            raise Unreadable(f"it unpacks to more than {MOST_BYTES:,} bytes")
        for name in filter(_XML.search, archive.namelist() if _OF_OFFICE in archive.namelist() else ()):
            with archive.open(name) as file:
                if b"<!DOCTYPE" in file.read(_HEAD_OF_PART):
                    raise Unreadable(f"its part {name!r} declares a document type, as no Office file does")
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError, OSError) as error:
        raise Unreadable(f"it is no whole archive: {error}") from None
    data.seek(0)
    return archive


def bytes_of(archive: zipfile.ZipFile) -> io.BytesIO:
    """Return the bytes of an archive that was opened here."""
    assert isinstance(archive.fp, io.BytesIO)
    archive.fp.seek(0)
    return archive.fp


# UTF-32 first: its mark starts with the mark of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# Browsers read more than these encodings say: https://encoding.spec.whatwg.org/#names-and-labels
_READ_AS = {
    **dict.fromkeys(("ascii", "iso8859-1"), "cp1252"),
    "iso8859-9": "cp1254",
    **dict.fromkeys(("iso8859-11", "tis-620"), "cp874"),
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
    "big5": "big5hkscs",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
}
_ONLY_BROWSERS = {
    **dict.fromkeys(("windows-874", "dos-874"), "cp874"),
    **dict.fromkeys(("iso-8859-8-i", "iso-8859-8-e", "logical", "visual"), "iso8859-8"),
    **dict.fromkeys(("csgb2312", "gb_2312-80"), "gb18030"),
    "cn-big5": "big5hkscs",
    "koi8": "koi8-r",
    "windows-31j": "cp932",
}
# Some bytes have no character in these, and are control characters for browsers.
_WITH_CONTROLS = {
    name: {byte: bytes([byte]).decode(name, "ignore") or chr(byte) for byte in range(128, 256)}
    for name in ("cp1252", "cp1254")
}
_META = re.compile(rb"""<(?:meta\s[^>]*charset|\?xml\s[^>]*encoding)\s*=\s*["']?\s*([\w:.-]+)""", re.IGNORECASE)
_META_WITHIN = 1024  # bytes, as the HTML standard says


def decode(data: bytes, encoding: str) -> str:
    """Return the text, with its line ends unchanged, and without the byte order mark.

    Bytes beyond ASCII that are valid UTF-8 are read as UTF-8, even if ``encoding`` says otherwise: other text is almost
    never valid UTF-8, and a folder may hold both. Pure ASCII is ambiguous: it may be ISO-2022-JP, or UTF-16 without a mark.
    """
    mark, encoding = _marked(data) or (b"", encoding)
    if not mark and (text := _beyond_ascii(data)) is not None:
        return text
    try:
        text = _decoded(data[len(mark) :], encoding)
    except (UnicodeError, LookupError) as error:
        raise Unreadable(f"it is not {encoding.upper()}: {error}; give its encoding") from None
    if "\0" in text:
        raise Unreadable("it has NUL characters, so it is no text")
    return text


def decode_declared(data: bytes, declared: Iterable[str | None]) -> str:
    """Return a text as browsers do: in the first declared encoding that exists, or else Windows-1252, and never failing."""
    mark, marked = _marked(data) or (b"", "")
    if not mark and (text := _beyond_ascii(data)) is not None:
        return text
    for encoding in (marked, *declared):
        with suppress(LookupError, ValueError):
            return _decoded(data[len(mark) :], encoding or "", "replace").replace("\0", "")
    return _decoded(data, "cp1252").replace("\0", "")


def declared_in_html(data: bytes) -> str | None:
    """Return the encoding that an HTML page declares. It cannot be UTF-16, since its declaration is in ASCII."""
    match = _META.search(data[:_META_WITHIN])
    return match[1].decode().lower().replace("utf-16", "utf-8") if match else None


def _marked(data: bytes) -> tuple[bytes, str] | None:
    """Return the byte order mark at the start, and the encoding that it stands for."""
    return next((each for each in _MARKS if data.startswith(each[0])), None)


def _decoded(data: bytes, encoding: str, errors: str = "strict") -> str:
    label = encoding.strip().lower().removeprefix("x-")
    name = codecs.lookup(_ONLY_BROWSERS.get(label, label)).name
    name = _READ_AS.get(name, name)
    controls = _WITH_CONTROLS.get(name)
    return data.decode(name, errors) if controls is None else data.decode("latin-1").translate(controls)


def whole_characters(text: str) -> str:
    """Join the halves of surrogate pairs to one character, and replace single halves by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def lines_of(file: BinaryIO, encoding: str) -> Iterator[bytes | str]:
    """Yield a file's lines, as texts if it is in UTF-16 or UTF-32, in which a line end is not one byte."""
    head = file.read(4)
    mark, wide = _marked(head) or (b"", encoding if b"\0" in head else "")
    is_wide = False
    with suppress(LookupError):  # decoding the first line reports an unknown encoding
        is_wide = codecs.lookup(wide or "ascii").name.startswith(("utf-16", "utf-32"))
    file.seek(len(mark) if is_wide else 0)
    opened: Any = io.TextIOWrapper(file, wide, newline="\n") if is_wide else file
    try:
        with opened as lines:
            while line := lines.readline(MOST_BYTES + 1):
                if len(line) > MOST_BYTES:
                    raise Unreadable(f"it has a line of more than {MOST_BYTES:,} {'characters' if is_wide else 'bytes'}")
                yield line
    except UnicodeError as error:
        raise Unreadable(f"it is not {wide.upper()}: {error}; give its encoding") from None


def _beyond_ascii(data: bytes) -> str | None:
    """Return the text if it is UTF-8 beyond ASCII, else None."""
    if data.isascii():
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text  # UTF-16 without a mark has NUL characters

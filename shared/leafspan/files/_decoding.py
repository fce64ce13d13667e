"""Decodes bytes: by a byte order mark, or else as valid UTF-8, or else with the given or declared encoding."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import BinaryIO

from leafspan.files._opening import Unreadable

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
    mark, encoding = next((each for each in _MARKS if data.startswith(each[0])), (b"", encoding))
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
    mark, marked = next((each for each in _MARKS if data.startswith(each[0])), (b"", None))
    if not mark and (text := _beyond_ascii(data)) is not None:
        return text
    for encoding in (marked, *declared):
        with suppress(LookupError, ValueError):
            return _decoded(data[len(mark) :], encoding or "", "replace").replace("\0", "")
    return _decoded(data, "cp1252").replace("\0", "")


def declared_in_html(data: bytes) -> str | None:
    """Return the encoding that an HTML page declares. It cannot be UTF-16, since its declaration is in ASCII."""
    found = _META.search(data[:_META_WITHIN])
    return found[1].decode().lower().replace("utf-16", "utf-8") if found else None


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


def wide_lines(file: BinaryIO, encoding: str, most: int) -> Iterator[str] | None:
    """Yield the lines of a file in UTF-16 or UTF-32, or return None for other encodings."""
    head = file.read(4)
    mark, found = next((each for each in _MARKS if head.startswith(each[0])), (b"", encoding if b"\0" in head else ""))
    file.seek(len(mark))
    with suppress(LookupError):  # reading the first line reports an unknown encoding
        if codecs.lookup(found or "ascii").name.startswith(("utf-16", "utf-32")):
            return _decoded_lines(file, found, most)
    file.seek(0)
    return None


def _decoded_lines(file: BinaryIO, encoding: str, most: int) -> Iterator[str]:
    try:
        with io.TextIOWrapper(file, encoding, newline="\n") as text:
            while line := text.readline(most + 1):
                if len(line) > most:
                    raise Unreadable(f"it has a line of more than {most:,} characters")
                yield line
    except UnicodeError as error:
        raise Unreadable(f"it is not {encoding.upper()}: {error}; give its encoding") from None


def _beyond_ascii(data: bytes) -> str | None:
    """Return the text if it is UTF-8 beyond ASCII, else None."""
    if data.isascii():
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text  # UTF-16 without a mark has NUL characters

"""Text from bytes: a byte order mark decides, or else whether they are UTF-8, or else the encoding that was given."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO

from leafspan.files._opening import Unreadable

# UTF-32 first: its mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decode(data: bytes, encoding: str) -> str:
    """The text, with its line ends as they are, and without the byte order mark.

    Bytes beyond ASCII that are valid UTF-8 are UTF-8, whatever the encoding is: text in another encoding practically never
    is, and a folder may hold files in both. ASCII alone does not tell: it may be ISO-2022-JP, or UTF-16 without a mark.

    Raises:
        Unreadable: if the bytes are not in that encoding, or are no text.
    """
    mark, encoding = next((each for each in _MARKS if data.startswith(each[0])), (b"", encoding))
    if not mark and (text := _beyond_ascii(data)) is not None:
        return text
    try:
        text = data[len(mark) :].decode(encoding)
    except (UnicodeError, LookupError) as error:
        raise Unreadable(f"it is not {encoding.upper()}: {error}; give its encoding") from None
    if "\0" in text:
        raise Unreadable("it has NUL characters, so it is no text")
    return text


def whole_characters(text: str) -> str:
    """The text with U+FFFD in place of each half of a surrogate pair, and with both halves of a pair as one character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def wide_lines(file: BinaryIO, encoding: str, most: int) -> Iterator[str] | None:
    """The lines of a file in UTF-16 or UTF-32, whose lines do not end with a single byte; None if it is in neither.

    Raises:
        Unreadable: while lines are read, if they are not in that encoding, or longer.
    """
    head = file.read(4)
    mark, found = next((each for each in _MARKS if head.startswith(each[0])), (b"", encoding if b"\0" in head else ""))
    file.seek(len(mark))
    with suppress(LookupError):  # an encoding that is not known is said of the first line
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
    """The text, if it is UTF-8 and more than ASCII."""
    if data.isascii():
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text  # as UTF-16 has without a mark

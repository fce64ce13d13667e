"""Checksums of a document's leaves, by which reading notices a text or a place that is not as it was written.

They are one string in the document's row: for each leaf 4 characters for its text and 4 for its packed place, which are 24
bits of their CRC-32 each, in base64. They tell damage, not forgery: whoever can write to the index can write them, too.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable
from zlib import crc32

WIDTH = 8  # characters for each leaf

_BITS = 0xFFFFFF


def pack_checksums(leaves: Iterable[tuple[str, str]]) -> str:
    """The checksums of leaves as a string."""
    # A leaf has six bytes, so base64 has eight characters for it, wherever it stands.
    content = b"".join(_checksums(_encoded(text), _encoded(place)) for text, place in leaves)
    return b2a_base64(content, newline=False).decode()


def is_as_written(checksums: str, ordinal: int, text: str, place: str) -> bool:
    """Whether a leaf has the text and the packed place that were written."""
    return bytes_are_as_written(checksums, ordinal, _encoded(text), _encoded(place))


def text_is_as_written(checksums: str, ordinal: int, text: str) -> bool:
    """Whether a leaf has the text that was written. The arguments are as above."""
    return bytes_are_as_written(checksums, ordinal, _encoded(text), None)


def bytes_are_as_written(checksums: str, ordinal: int, text: bytes, place: bytes | None) -> bool:
    """Like ``is_as_written``, for a text and a place in UTF-8; for the text alone if there is no place."""
    start = WIDTH * ordinal
    if place is None:
        return a2b_base64(checksums[start : start + WIDTH // 2]) == (crc32(text) & _BITS).to_bytes(3)
    return a2b_base64(checksums[start : start + WIDTH]) == _checksums(text, place)


def _checksums(text: bytes, place: bytes) -> bytes:
    return ((crc32(text) & _BITS) << 24 | crc32(place) & _BITS).to_bytes(6)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")

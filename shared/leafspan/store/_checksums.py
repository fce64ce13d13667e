"""Checksums of a document's leaves, by which a reader notices a text or a place that was changed.

The document's row has them as one string: for each leaf 4 characters for its text and 4 for its packed place. Each is 24
bits of a CRC-32 in base64. They detect damage, not forgery: whoever can write to the index can write checksums, too.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable
from zlib import crc32

WIDTH = 8  # characters per leaf

_BITS = 0xFFFFFF


def pack_checksums(leaves: Iterable[tuple[str, str]]) -> str:
    """Return the checksums of leaves as a string."""
    # A leaf has six bytes, which are exactly eight characters of base64, so leaves can be decoded one by one.
    content = b"".join(_checksums(_encoded(text), _encoded(place)) for text, place in leaves)
    return b2a_base64(content, newline=False).decode()


def is_as_written(checksums: str, ordinal: int, text: str, place: str) -> bool:
    """Whether a leaf's text and packed place match its checksums."""
    return bytes_are_as_written(checksums, ordinal, _encoded(text), _encoded(place))


def text_is_as_written(checksums: str, ordinal: int, text: str) -> bool:
    """Whether a leaf's text matches its checksum."""
    return bytes_are_as_written(checksums, ordinal, _encoded(text), None)


def bytes_are_as_written(checksums: str, ordinal: int, text: bytes, place: bytes | None) -> bool:
    """Whether a text and a place in UTF-8 match their checksums. A place of None is not checked."""
    start = WIDTH * ordinal
    if place is None:
        return a2b_base64(checksums[start : start + WIDTH // 2]) == (crc32(text) & _BITS).to_bytes(3)
    return a2b_base64(checksums[start : start + WIDTH]) == _checksums(text, place)


def _checksums(text: bytes, place: bytes) -> bytes:
    return ((crc32(text) & _BITS) << 24 | crc32(place) & _BITS).to_bytes(6)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")

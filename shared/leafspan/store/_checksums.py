"""Checksums of a document's leaves, by which reading notices a text or a place that is not as it was written.

They are one string in the document's row: for each leaf 4 characters for its text and 4 for its packed place, which are 24
bits of their CRC-32 each, in base64. They tell damage, not forgery: whoever can write to the index can write them, too.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Iterable
from zlib import crc32

WIDTH = 8  # characters for each leaf


def pack_checksums(leaves: Iterable[tuple[str, str]]) -> str:
    """The checksums of leaves as a string.

    Args:
        leaves: The text and the packed place of each, in order.
    """
    return "".join(_checksum(text) + _checksum(place) for text, place in leaves)


def text_is_as_written(checksums: str, ordinal: int, text: str) -> bool:
    """Whether a leaf has the text that was written.

    Args:
        checksums: The checksums of all leaves of its document.
        ordinal: Number of the leaf, from 0.
        text: Its text.
    """
    start = WIDTH * ordinal
    return checksums[start : start + 4] == _checksum(text)


def place_is_as_written(checksums: str, ordinal: int, place: str) -> bool:
    """Whether a leaf has the packed place that was written. The arguments are as above."""
    start = WIDTH * ordinal + 4
    return checksums[start : start + 4] == _checksum(place)


def _checksum(text: str) -> str:
    bits = crc32(text.encode(errors="surrogatepass")) & 0xFFFFFF
    return b2a_base64(bits.to_bytes(3), newline=False).decode()

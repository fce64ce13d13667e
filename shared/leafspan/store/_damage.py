"""How readers notice damaged documents, by checksums of leaves, and what they do: raise an error, or leave them out."""

from __future__ import annotations

import warnings
from binascii import a2b_base64, b2a_base64
from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Literal
from zlib import crc32

from leafspan.checks import STRUCTURE_KEY, check_choice
from leafspan.documents import unpack_place
from leafspan.engines import Record, StaleRead
from leafspan.errors import DamagedIndex
from leafspan.store._manifest import Damage, Row
from leafspan.values import Leaf, LeafId

OnDamage = Literal["raise", "skip"]

REMEDY = "call repair(), then add the document again"


@dataclass(slots=True)
class DamageRule:
    """What a store does about damaged documents."""

    leave_out: bool = False  # whether readers leave damaged documents out
    subject: str = "document"  # the words before the document's id in messages
    remedy: str = REMEDY
    warned: set[str] = field(default_factory=set)  # ids of documents that were warned about: each gets only one warning

    @classmethod
    def of(cls, on_damage: OnDamage) -> DamageRule:
        check_choice("on_damage", on_damage, ("raise", "skip"))
        return cls(leave_out=on_damage == "skip")

    def for_trees(self) -> DamageRule:
        return DamageRule(self.leave_out, "the tree of", "call repair(), then build_tree()")

    def error(self, damaged: Mapping[str, str]) -> DamagedIndex:
        """The error that names the first of these documents and its remedy."""
        document_id, problem = min(damaged.items())
        others = f" (and {len(damaged) - 1} more)" if len(damaged) > 1 else ""
        return DamagedIndex(f"{self.subject} {document_id!r} is damaged{others}: {problem}; {self.remedy}", document_id)

    def warn(self, damaged: Mapping[str, str]) -> None:
        """Warn once for each of these documents that it is left out."""
        for document_id, problem in damaged.items():
            if document_id not in self.warned:
                self.warned.add(document_id)
                warnings.warn(
                    f"{self.subject} {document_id!r} is damaged, and left out: {problem}; {self.remedy}",
                    RuntimeWarning,
                    stacklevel=2,
                )


class ReadHistory(set[tuple[str, str]]):
    """The stored (document, version) pairs that the attempts of one reading found not current."""

    def __init__(self) -> None:
        super().__init__()
        self.suspicions: Counter[tuple[str, str]] = Counter()  # attempts that found a leaf missing or changed
        self.damaged: dict[tuple[str, str], Damage] = {}  # those that the reading leaves out
        self.current: set[tuple[str, str | None]] = set()  # only if the manifest is asked for each document

    def suspect(self, pairs: AbstractSet[tuple[str, str]]) -> None:
        """Count an attempt that found leaves of these (document, version) pairs missing or changed."""
        documents = {document_id for document_id, _ in pairs}
        for pair in [each for each in self.suspicions if each[0] in documents and each not in pairs]:
            del self.suspicions[pair]  # it was replaced: if this version becomes current again, it was written again
        self.suspicions.update(pairs)


class DamageFound(StaleRead):
    """A reader met a damaged document, and starts again without it."""


def check_text(row: Row, leaf: LeafId, record: Record | None) -> None:
    """Check the text of a leaf of a document's current version. The ValueError says what is wrong with the document."""
    if record is None or record.text is None:
        raise ValueError(f"{_name(leaf)} is missing" if record is None else f"the text of {_name(leaf)} is missing")
    if not text_is_as_written(row.checksums, leaf.ordinal, record.text):
        raise ValueError(f"the text of {_name(leaf)} is not as it was written")


def check_record(row: Row, leaf: LeafId, text: str, metadata: Mapping[str, Any] | None) -> str:
    """Check a leaf's or a summary's text and place, and return the packed place. The ValueError says what is wrong."""
    packed = metadata.get(STRUCTURE_KEY) if metadata is not None else None
    if not isinstance(packed, str):
        raise ValueError(f"the place of {_name(leaf)} is missing")
    if not bytes_are_as_written(row.checksums, leaf.ordinal, _encoded(text), _encoded(packed)):
        which = "place" if text_is_as_written(row.checksums, leaf.ordinal, text) else "text"
        raise ValueError(f"the {which} of {_name(leaf)} is not as it was written")
    return packed


def read_place(row: Row, leaf: LeafId, text: str, metadata: Mapping[str, Any] | None) -> Leaf:
    """Return a leaf of a document's current version with its place."""
    return unpack_place(leaf, check_record(row, leaf, text, metadata), checked=True)


# A document's row has the checksums as one string: for each leaf 4 characters for its text and 4 for its packed place. Each
# is 24 bits of a CRC-32 in base64. They detect damage, not forgery: a program that writes to the index can write them.
_WIDTH = 8  # characters per leaf

_BITS = 0xFFFFFF


def pack_checksums(leaves: Iterable[tuple[str, str]]) -> str:
    # A leaf has six bytes, which are exactly eight characters of base64, so leaves can be decoded one by one.
    content = b"".join(_checksums(_encoded(text), _encoded(place)) for text, place in leaves)
    return b2a_base64(content, newline=False).decode()


def text_is_as_written(checksums: str, ordinal: int, text: str) -> bool:
    return bytes_are_as_written(checksums, ordinal, _encoded(text), None)


def bytes_are_as_written(checksums: str, ordinal: int, text: bytes, place: bytes | None) -> bool:
    """Whether a text and a place in UTF-8 match their checksums. A place of None is not checked."""
    start = _WIDTH * ordinal
    if place is None:
        return a2b_base64(checksums[start : start + _WIDTH // 2]) == (crc32(text) & _BITS).to_bytes(3)
    return a2b_base64(checksums[start : start + _WIDTH]) == _checksums(text, place)


def _checksums(text: bytes, place: bytes) -> bytes:
    return ((crc32(text) & _BITS) << 24 | crc32(place) & _BITS).to_bytes(6)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _name(leaf: LeafId) -> str:
    return f"its summary {leaf.ordinal}" if leaf.is_summary else f"its leaf {leaf.ordinal}"

"""The manifest: one record per document, which says which version of it is current."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from json import JSONDecoder
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

from leafspan.checks import RESERVED_ID_PREFIX
from leafspan.documents import with_language
from leafspan.engines import Record
from leafspan.values import LeafId, Section, leaf_ids

T = TypeVar("T")

CHANGES_ID = f"{RESERVED_ID_PREFIX}changes"
"""The id of the record with the token. Each change that readers must see gives it a new token.

The id of every record that is not a document's starts with this.
"""

HIDDEN_KEY = "hidden"  # in a row's ``extra``: the metadata keys that models must not see
PARTS_KEY = "parts"

ROW_KEY = "row"  # in the metadata of a row's record: the row as a line of JSON
_TOKEN_KEY = "token"


class Damage(NamedTuple):
    """What is wrong with a stored document."""

    problem: str  # the end of a sentence about the document
    in_row: bool  # whether the row itself is damaged, so that none of its values can be trusted


@dataclass(frozen=True, slots=True)
class Row:
    """What the index knows about a document, apart from its text."""

    document_id: str  # stored id; in the catalogue of a view, the shown id
    hash: str  # of the content; empty if that is in doubt, so that the next add writes the document again
    version: str | None  # None while the document is being deleted or written for the first time
    leaves: int  # number of leaves of the current version
    leftovers: tuple[tuple[str, int], ...] = ()  # other versions that may still have leaves, with their number of leaves
    title: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)  # the user's own
    language: str | None = None  # None if it is not certain
    sections: tuple[Section, ...] = ()  # the headings, each with the leaves below it
    characters: int = 0  # length of the text
    words: int = 0  # length of the text
    lines: str = ""  # on which the leaves begin, packed; empty if the document has no lines
    extra: Mapping[str, Any] = field(default_factory=dict)  # further JSON values
    checksums: str = ""  # of the leaves, packed
    damage: Damage | None = None  # set by readers; a damaged document has no current version
    _outer: list[int] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def filterable(self) -> Mapping[str, object]:
        return with_language(self.metadata, self.language)

    @property
    def hidden(self) -> tuple[str, ...]:
        keys = self.extra.get(HIDDEN_KEY)
        return tuple(keys) if isinstance(keys, list) else ()

    @property
    def leaf_ids(self) -> list[LeafId]:
        return [LeafId(self.document_id, self.version or "", ordinal) for ordinal in range(self.leaves)]

    @property
    def record_ids(self) -> list[str]:
        """The ids of the current version's leaves, in text order."""
        return leaf_ids(self.document_id, self.version or "", range(self.leaves))

    def headings(self, runs: Iterable[tuple[int, int]]) -> tuple[str, ...]:
        """The headings above all of these leaves, outermost first."""
        runs = list(runs)
        first, last = min(run[0] for run in runs), max(run[1] for run in runs)
        # Two headings without text between them share a leaf, but the second one is not below the first. If a section ends
        # before the leaves, so do the sections inside its parent that precede it: skip to its parent.
        place = bisect_right(self.sections, first, key=lambda section: section.first) - 1
        texts: list[str] = []
        while place >= 0:
            if self.sections[place].last >= last:
                texts.append(self.sections[place].text)
            place = self._outer_sections[place]
        return tuple(text for text in reversed(texts) if text)

    @property
    def _outer_sections(self) -> Sequence[int]:
        """For each section the nearest earlier one of a higher rank, or -1."""
        if not self._outer:
            outer: list[int] = []
            for number, section in enumerate(self.sections):
                place = number - 1
                while place >= 0 and self.sections[place].depth >= section.depth:
                    place = outer[place]
                outer.append(place)
            self._outer.extend(outer)
        return self._outer

    @property
    def is_half_done(self) -> bool:
        """Whether a writer has begun to write or delete the document, and is still at work or was killed."""
        return (bool(self.leftovers) or self.version is None) and self.damage is None

    def with_damage(self, damage: Damage) -> Row:
        """Return the row marked as damaged, so that readers leave the document out."""
        return replace(self, hash="", version=None, leaves=0, leftovers=(), damage=damage)

    @property
    def packed(self) -> str:
        """The row as a line of JSON. The checksum comes last."""
        values = {stored: getattr(self, name) for name, stored in _STORED.items()}
        body = json.dumps(values, ensure_ascii=False, separators=(",", ":"))[:-1]
        return f'{body},"crc":"{_checksum(self.document_id, body)}"}}'

    @property
    def crc(self) -> str:
        """The checksum that is stored in the row."""
        return self.packed[-_CHECKED:].split('"')[3]

    @classmethod
    def unpack(cls, document_id: str, metadata: Any) -> Row:
        """Read a row from the metadata of its record. A damaged row has no current version."""
        try:
            return cls(document_id, **_values(document_id, metadata))
        except ValueError as error:
            return cls(document_id, "", None, 0, damage=Damage(f"its row in the manifest is damaged: {error}", in_row=True))


def row_is_as_written(document_id: str, packed: bytes) -> bool:
    body, end = packed[:-_CHECKED], packed[-_CHECKED:]
    return end == f',"crc":"{crc32(document_id.encode(errors="surrogatepass") + b" " + body):08x}"}}'.encode()


def _values(document_id: str, metadata: Any) -> dict[str, Any]:
    """The values of a row, by field. A ValueError says what is not as leafspan wrote it."""
    packed = metadata.get(ROW_KEY) if isinstance(metadata, Mapping) else None
    if not isinstance(packed, str):
        raise ValueError("it is empty")
    checked = _CHECKSUM.match(packed, max(0, len(packed) - _CHECKED))
    try:
        stored = json.loads(packed)
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON") from None
    if checked is None or _checksum(document_id, packed[: checked.start()]) != checked[1]:
        raise ValueError("its checksum is another one")
    values = {name: stored[key] for name, key in _STORED.items()}
    values["leftovers"] = tuple((version, leaves) for version, leaves in values["leftovers"])
    values["sections"] = tuple(Section(*section) for section in values["sections"])
    return values


def _checksum(document_id: str, body: str) -> str:
    """The checksum of a row. It includes the document's id, so that a row of another document does not match."""
    return f"{crc32(f'{document_id} {body}'.encode(errors='surrogatepass')):08x}"


_CHECKSUM = re.compile(r',"crc":"([0-9a-f]{8})"\}\Z')
_CHECKED = len(',"crc":"00000000"}')


# The JSON key of each field, in stored order.
_STORED = {
    "hash": "hash",
    "version": "version",
    "leaves": "leaves",
    "leftovers": "litter",
    "language": "lang",
    "title": "title",
    "metadata": "metadata",
    "sections": "sections",
    "characters": "characters",
    "words": "words",
    "lines": "lines",
    "extra": "more",
    "checksums": "checks",
}


def grouped(things: Iterable[T], leaves: int, size: Callable[[T], int] = attrgetter("leaves")) -> Iterator[list[T]]:
    """Divide rows, or things with leaves, into groups of at least ``leaves`` leaves. The last group may have fewer."""
    group: list[T] = []
    total = 0
    for each in things:
        group.append(each)
        total += size(each)
        if total >= leaves:
            yield group
            group, total = [], 0
    if group:
        yield group


def row_records(rows: Iterable[Row]) -> list[Record]:
    return [Record(row.document_id, metadata={ROW_KEY: row.packed}) for row in rows]


def unpack_rows(records: Mapping[str, Record]) -> dict[str, Row]:
    """Read rows from their records, by document id. A damaged row has its ``damage`` set."""
    return {id_: Row.unpack(id_, record.metadata) for id_, record in records.items() if not id_.startswith(CHANGES_ID)}


def token_record(token: str) -> Record:
    return Record(CHANGES_ID, metadata={_TOKEN_KEY: token})


def unpack_token(records: Mapping[str, Record]) -> str | None:
    """Read the token from records of the manifest. Return None before the first change.

    A damaged token is None, too: readers then read the whole manifest each time, until a writer makes a new token.
    """
    metadata = records[CHANGES_ID].metadata if CHANGES_ID in records else None
    token = metadata.get(_TOKEN_KEY) if isinstance(metadata, Mapping) else None
    return token if isinstance(token, str) else None


_LANGUAGE = b',"lang":'
_TITLE = b',"title":'  # the row's own title: only leafspan writes what precedes it
_METADATA = ',"metadata":'
_NOTHING = b'null,"metadata":{},'
_read = JSONDecoder().raw_decode


class RowHead(NamedTuple):
    """What can be read of a document without unpacking its whole row."""

    document_id: str
    version: str | None  # the current one
    leaves: int  # number of leaves of the current version
    title: str | None
    metadata: Mapping[str, object]  # the user's own
    language: str | None  # None if it is not certain

    @property
    def filterable(self) -> Mapping[str, object]:
        return with_language(self.metadata, self.language)


def read_title(packed: bytes) -> tuple[str | None, Mapping[str, object], str | None]:
    """Read title, metadata and language from a row as ``Row.packed`` makes it."""
    end_of_language = packed.index(_TITLE)
    start = end_of_language + len(_TITLE)
    code = packed[packed.index(_LANGUAGE) + len(_LANGUAGE) : end_of_language]
    language = None if code == b"null" else code[1:-1].decode()
    if packed.startswith(_NOTHING, start):
        return None, {}, language
    text = packed[start:].decode()
    title, end = _read(text)
    metadata, _ = _read(text, end + len(_METADATA))
    return title, metadata, language


class LooseRow(NamedTuple):
    """The values of a damaged row that cannot be made again from leaves. They may be wrong."""

    title: str | None
    metadata: Mapping[str, object]  # the user's own
    extra: Mapping[str, Any]
    crc: str  # checksum of the row


def read_loosely(metadata: Any) -> LooseRow | None:
    """Read a damaged row from its record's metadata. Return None if too much of it is lost."""
    packed = metadata.get(ROW_KEY) if isinstance(metadata, Mapping) else None
    try:
        stored = json.loads(packed) if isinstance(packed, str) else None
    except (ValueError, RecursionError):
        return None
    match stored:
        case {"title": str() | None as title, "metadata": dict(own), "more": dict(extra), "crc": str(crc)}:
            return LooseRow(title, own, extra, crc) if all(map(_is_value, own.values())) else None
    return None


def _is_value(value: Any) -> bool:
    """Whether this value is valid in metadata."""
    if isinstance(value, list):
        return all(isinstance(each, str | int | float) for each in value)
    return isinstance(value, str | int | float)

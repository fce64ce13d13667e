"""The records that are stored with trees and their summaries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leafspan.checks import RESERVED_ID_PREFIX, STRUCTURE_KEY, shown
from leafspan.errors import IndexMismatch
from leafspan.flows import Flow
from leafspan.store import Reader, Row, Scope, check_record
from leafspan.values import Covered, LeafId

UPPER_LAYERS = f"{RESERVED_ID_PREFIX}layers"  # the owner of cached texts for summaries of several documents

_FORMAT, _FIELDS = 1, 5  # of the stored record of a summary


@dataclass(frozen=True, slots=True)
class TreeRecord:
    """The record of a tree. Each summary of several documents is stored as a tree of its own."""

    layers: list[int]  # of each summary, by its number
    tops: list[int]  # numbers of the summaries below no other summary of the tree
    bare: list[int]  # ordinals of the leaves below no summary
    keys: list[str]  # cache keys of the summaries' texts
    summarizer: str  # its identity
    document_version: str | None = None  # that the tree of one document was built from
    view: str | None = None  # that built a summary of several documents; "" is the whole index
    children: list[str] | None = None  # of a summary of several documents

    @property
    def is_of_document(self) -> bool:
        """Whether this is the tree of one document, and not a summary of several."""
        return self.children is None

    def pack(self) -> dict[str, Any]:
        """The record as a dictionary that JSON can hold."""
        specific = {"of": self.document_version} if self.is_of_document else {"view": self.view, "children": self.children}
        return {**specific, **{name: getattr(self, name) for name in ("layers", "tops", "bare", "keys", "summarizer")}}

    @classmethod
    def of(cls, row: Row) -> TreeRecord:
        """The record of a row; without summaries while the tree's first version is being written."""
        stored: Mapping[str, Any] = row.extra
        layers, tops, bare, keys = (stored.get(name, []) for name in ("layers", "tops", "bare", "keys"))
        summarizer, children = stored.get("summarizer", ""), stored.get("children")
        return cls(layers, tops, bare, keys, summarizer, stored.get("of"), stored.get("view"), children)


@dataclass(frozen=True, slots=True)
class SummaryRecord:
    """The record of a summary. All ids are stored ids."""

    layer: int  # number of layers above the leaves, >= 1
    words: int
    children: tuple[str, ...]  # ids of the leaves and summaries that it was made from
    covers: tuple[Covered | str, ...]  # runs of leaves below it, or the id of a document for all of its leaves
    key: str  # cache key of its text

    def pack(self) -> str:
        values = [_FORMAT, self.layer, self.words, self.children, self.covers, self.key]
        return json.dumps(values, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def unpack(cls, packed: str) -> SummaryRecord:
        """Read a record from its string. A ``ValueError`` says why the string is not a record."""
        try:
            stored = json.loads(packed)
        except (ValueError, RecursionError):
            raise ValueError("its record is not valid JSON") from None
        if not isinstance(stored, list) or not stored:
            raise ValueError(f"its record must be a list, got {shown(stored)}")
        format_, *values = stored
        if format_ != _FORMAT:
            raise IndexMismatch(f"a summary is stored in format {format_!r}, this version of leafspan reads {_FORMAT!r}")
        if len(values) != _FIELDS:
            raise ValueError(f"its record must have {_FIELDS} values, got {shown(values)}")
        layer, words, children, covers, key = values
        if not (_is_count(layer) and layer >= 1 and _is_count(words) and isinstance(key, str)):
            raise ValueError(f"its record has an impossible layer, number of words or key: {shown([layer, words, key])}")
        if not (_are_ids(children) and len(children) >= 1):
            raise ValueError(f"its record must say what it was made of, got {shown(children)}")
        if not isinstance(covers, list) or not covers or not all(map(_is_cover, covers)):
            raise ValueError(f"its record must say which leaves it covers, got {shown(covers)}")
        runs = tuple(each if isinstance(each, str) else Covered(*each) for each in covers)
        return cls(layer, words, tuple(children), runs, key)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _are_ids(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(each, str) and LeafId.of(each) is not None for each in values)


def _is_cover(value: Any) -> bool:
    """Whether the value is a document's id or a run of leaves."""
    if isinstance(value, str):
        return bool(value)
    if not isinstance(value, list) or len(value) != len(Covered._fields):
        return False
    document_id, version, first, last, start, end = value
    names = isinstance(document_id, str) and isinstance(version, str)
    return names and all(map(_is_count, (first, last, start, end))) and first <= last and start <= end


def fetch_summaries(reader: Reader, ids: Sequence[str]) -> Flow[dict[str, tuple[str, SummaryRecord]]]:
    """The texts and records of summaries, by id. Summaries that are missing, outdated or invisible are left out."""
    summaries: dict[str, tuple[str, SummaryRecord]] = {}
    problems: dict[str, str] = {}
    for id_, (text, metadata) in (yield from reader.fetch_records(ids)).items():
        try:
            summaries[id_] = text, SummaryRecord.unpack(metadata[STRUCTURE_KEY])
        except ValueError as error:
            problems[id_] = f"its summary {LeafId.parse(id_).ordinal} is damaged: {error}"
    yield from reader.refuse(problems)
    return summaries


def check_summary(row: Row, id_: LeafId, text: str, metadata: Mapping[str, Any] | None) -> None:
    """Check a summary of a tree's current version. A ``ValueError`` says how it is damaged."""
    SummaryRecord.unpack(check_record(row, id_, text, metadata))


def united(covers: Iterable[Covered]) -> tuple[Covered, ...]:
    """The leaves of all runs, as runs sorted by document and position. Runs that overlap or touch are joined."""
    runs: list[Covered] = []
    for run in sorted(covers):
        last = runs[-1] if runs else None
        if last is not None and run[:2] == last[:2] and run.first <= last.last + 1:
            runs[-1] = last._replace(last=max(last.last, run.last), end=max(last.end, run.end))
        else:
            runs.append(run)
    return tuple(runs)


def view_name(scope: Scope | None) -> str:
    """The name of a view, stored with the trees that only this view has; "" for the whole index."""
    return scope.suffix if scope else ""


def key_prefix(scope: Scope | None) -> str:
    """The first part of a view's keys, without which a tenant would learn that another tenant has the same texts."""
    return f"{view_name(scope)}:"

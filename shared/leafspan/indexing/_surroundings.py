"""The text around a passage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from leafspan.checks import check_whole, shown
from leafspan.engines import StaleRead
from leafspan.errors import DocumentNotFound, InvalidArgument
from leafspan.flows import Flow
from leafspan.spans import grown_within
from leafspan.store import Reader, Row, Scope, Store, StoredLeaf, leaf_passage, read_consistently
from leafspan.values import LeafId, Passage, leaf_ids, run_of_id

_DEFAULT_LEAVES = 2
_FIRST_REACH = 16  # leaves to read on each side at first, if only a number of words limits them


class Reach(NamedTuple):
    """How much text to take around a passage."""

    before: int | None  # most leaves before it. None: no limit
    after: int | None  # most leaves after it. None: no limit
    words: int | None  # most words of the passage and its surroundings together. None: no limit

    @classmethod
    def of(cls, before: int | None, after: int | None, words: int | None) -> Reach:
        """Return the user's reach, with default numbers of leaves."""
        before = None if before is None else check_whole("before", before, 0)
        after = None if after is None else check_whole("after", after, 0)
        if words is not None:
            return cls(before, after, check_whole("words", words, 1))
        return cls(_DEFAULT_LEAVES if before is None else before, _DEFAULT_LEAVES if after is None else after, None)


def surrounding_text(store: Store, passage: object, reach: Reach, scope: Scope | None = None) -> Flow[Passage]:
    """Return a passage with the leaves around it, as one passage with score 0."""
    target = _target(passage)

    def read(reader: Reader) -> Flow[Passage]:
        reader = reader.raising()
        leaf, last = (yield from _leaves_at(reader, target)) if isinstance(target, _Citation) else target
        first = leaf.ordinal
        row = (yield from reader.rows([leaf.document_id])).get(leaf.document_id)
        _check_current(reader, row, leaf)
        assert row is not None
        if not first <= last < row.leaves:
            raise InvalidArgument(f"document {leaf.document_id!r} has {row.leaves} leaves, got {first} to {last}")
        lowest = 0 if reach.before is None else max(0, first - reach.before)
        highest = row.leaves - 1 if reach.after is None else min(row.leaves - 1, last + reach.after)
        leaves: dict[int, StoredLeaf] = {}
        step = row.leaves if reach.words is None else _FIRST_REACH
        while True:
            begin, end = max(lowest, first - step), min(highest, last + step)
            yield from _read(reader, leaf, [each for each in range(begin, end + 1) if each not in leaves], leaves)
            sizes = {ordinal: stored.leaf.words for ordinal, stored in leaves.items()}
            chosen = (begin, end) if reach.words is None else grown_within(first, last, begin, end, sizes, reach.words)
            # Perhaps too few leaves were read: check that the text could not have grown beyond them.
            if (chosen[0] > begin or begin == lowest) and (chosen[1] < end or end == highest):
                break
            step *= 2
        span = replace(leaves[chosen[0]].leaf.span, last=chosen[1])
        texts = {stored.leaf.id: stored.text for stored in leaves.values()}
        # The metadata of a single chunk do not hold for the text around it.
        metadata = leaves[first].metadata if span.size == 1 else row.metadata
        return leaf_passage(span, texts, row, metadata)

    return read_consistently(store, read, scope)


class _Citation(NamedTuple):
    """A passage's place, from its metadata in a host."""

    document_id: str
    start: int
    end: int

    @classmethod
    def of(cls, passage: object) -> _Citation | None:
        """Return the place of a host's document or node with its own id, or None if it was not made from a passage."""
        metadata = getattr(passage, "metadata", None)
        if not isinstance(metadata, Mapping):
            return None
        document_id, start, end = (metadata.get(key) for key in ("doc_id", "start", "end"))
        if not isinstance(document_id, str) or type(start) is not int or type(end) is not int or start >= end:
            return None
        return cls(document_id, start, end)


def _leaves_at(reader: Reader, citation: _Citation) -> Flow[tuple[LeafId, int]]:
    """Return the first leaf at a place, and the ordinal of the last one, in the current document."""
    row = (yield from reader.rows([citation.document_id])).get(citation.document_id)
    if row is not None and row.damage is not None:
        raise reader.error({citation.document_id: row.damage.problem})
    if row is None or row.version is None:
        raise DocumentNotFound(
            f"there is no document {shown(citation.document_id)} in the index (any more): retrieve again"
        )
    stored = yield from reader.fetch_leaves(row.leaf_ids)
    if len(stored) < row.leaves:
        raise StaleRead
    places = (each.leaf for each in stored.values())
    inside = sorted(place.ordinal for place in places if place.start < citation.end and place.end > citation.start)
    if not inside:
        raise InvalidArgument(
            f"document {citation.document_id!r} has {row.characters} characters, got {citation.start} to {citation.end}"
        )
    return LeafId(citation.document_id, row.version, inside[0]), inside[-1]


def _target(passage: object) -> tuple[LeafId, int] | _Citation:
    """Return a passage's first leaf and the ordinal of its last one, or its place."""
    id_ = passage if isinstance(passage, str) else getattr(passage, "node_id", None) or getattr(passage, "id", None)
    run = run_of_id(id_ if isinstance(id_, str) else None)
    if run is None and (citation := _Citation.of(passage)) is not None:
        return citation
    if run is None:
        raise InvalidArgument(
            "passage must be a Passage of a document of the index, a Document or node that leafspan has made of one, or "
            f"its id, got {shown(passage)}"
        )
    if run[0].is_summary:
        raise InvalidArgument(
            f"a summary has no surroundings, got {shown(id_)}: pass a leaf that it covers: passage.summary.leaf_ids"
        )
    return run


def _check_current(reader: Reader, row: Row | None, leaf: LeafId) -> None:
    if row is not None and row.damage is not None:
        raise reader.error({leaf.document_id: row.damage.problem})
    if row is None or row.version is None:
        raise DocumentNotFound(f"there is no document {leaf.document_id!r} in the index (any more): retrieve again")
    if row.version != leaf.version:
        raise DocumentNotFound(
            f"document {leaf.document_id!r} has been replaced, version {leaf.version} is not in the index any more: "
            "retrieve again"
        )


def _read(reader: Reader, leaf: LeafId, ordinals: Sequence[int], leaves: dict[int, StoredLeaf]) -> Flow[None]:
    """Read the document's leaves, and store them by ordinal."""
    stored = yield from reader.fetch_leaves(leaf_ids(leaf.document_id, leaf.version, ordinals))
    if len(stored) < len(ordinals):
        raise StaleRead
    leaves.update((each.leaf.ordinal, each) for each in stored.values())

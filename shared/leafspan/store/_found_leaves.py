"""The current and visible ones among the leaves that a search or a read returns."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import NamedTuple

from leafspan.checks import STRUCTURE_KEY
from leafspan.documents import unpack_place
from leafspan.engines import Near
from leafspan.store._as_written import read_place
from leafspan.store._manifest import Row
from leafspan.values import Hit, Leaf, LeafId

_MOST = 10**18  # larger than any ordinal


class StoredLeaf(NamedTuple):
    """A leaf with its stored data."""

    id: str
    leaf: Leaf
    text: str
    metadata: dict[str, object]  # the document's
    score: float  # cosine similarity to the query, in [-1, 1]; 0 without a query


class Current(NamedTuple):
    """The current and visible leaves of an answer."""

    leaves: Mapping[str, LeafId]  # the leaves' shown ids, by stored id
    rows: Mapping[str, Row]  # of the leaves' documents, by stored id

    def row(self, id_: str) -> Row:
        """The row of a leaf's document, by the leaf's stored id."""
        return self.rows[id_.rsplit("#", 2)[0]]

    def stored_leaves(
        self, found: Iterable[Near], problems: dict[str, str], checked: Container[str] = ()
    ) -> Iterator[StoredLeaf]:
        """Return the current ones of these leaves with their stored data, and add damage to ``problems``."""
        for (id_, text, metadata, _), similarity in found:
            if (leaf := self.leaves.get(id_)) is not None:
                try:
                    if id_ in checked:
                        place = unpack_place(leaf, (metadata or {})[STRUCTURE_KEY], checked=True)
                    else:
                        place = read_place(self.row(id_), leaf, text or "", metadata)
                except ValueError as error:
                    problems[id_] = str(error)
                    continue
                # Engines return keys in any order, and host frameworks make texts and hashes of them.
                own = {key: value for key, value in sorted((metadata or {}).items()) if key != STRUCTURE_KEY}
                yield StoredLeaf(str(leaf), place, text or "", own, similarity)


def parsed(id_: str) -> LeafId:
    """Parse a leaf's id. A record that leafspan did not write gets an id that no leaf has."""
    parts = id_.rsplit("#", 2)
    try:
        ordinal = int(parts[-1])
    except ValueError:  # not a number, or one with thousands of digits
        ordinal = -1
    if len(parts) == 3 and 0 <= ordinal < _MOST and str(ordinal) == parts[2]:
        return LeafId(parts[0], parts[1], ordinal)
    return LeafId(id_, "", 0)


def hits_of(rows: Iterable[Iterable[Near]], current: Current) -> list[list[Hit]]:
    """The current hits of a search, best first."""
    leaves = current.leaves
    return [
        sorted(
            (Hit(leaves[record.id], similarity) for record, similarity in row if record.id in leaves),
            key=lambda hit: hit.order,
        )
        for row in rows
    ]

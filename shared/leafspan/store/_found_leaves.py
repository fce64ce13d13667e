"""The leaves that Chroma returns, as far as they are current and visible."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from leafspan.documents import unpack_place
from leafspan.reserved import STRUCTURE_KEY
from leafspan.store._as_written import read_place
from leafspan.store._manifest import Row
from leafspan.values import Hit, Leaf, LeafId

_MOST = 10**18  # more than an ordinal can be


class StoredLeaf(NamedTuple):
    """A leaf with all that is stored of it.

    Attributes:
        id: Its id as text.
        leaf: Its place and ancestors.
        text: Its text.
        metadata: Metadata of its document.
        score: Cosine similarity to the query, in [-1, 1]; 0 if there was no query.
    """

    id: str
    leaf: Leaf
    text: str
    metadata: dict[str, object]
    score: float


class Current(NamedTuple):
    """The leaves of an answer that are current and visible.

    Attributes:
        leaves: Their shown ids, by stored id.
        rows: The rows of their documents, by stored id.
    """

    leaves: Mapping[str, LeafId]
    rows: Mapping[str, Row]

    def row(self, id_: str) -> Row:
        """The row of a leaf's document, by the leaf's stored id."""
        return self.rows[id_.rsplit("#", 2)[0]]

    def stored_leaves(
        self, answer: Iterable[tuple[str, str, Any, float]], problems: dict[str, str], checked: Container[str] = ()
    ) -> Iterator[StoredLeaf]:
        """The leaves that are current, with all that is stored of them."""
        for id_, text, metadata, distance in answer:
            if (leaf := self.leaves.get(id_)) is not None:
                try:
                    if id_ in checked:
                        place = unpack_place(leaf, metadata[STRUCTURE_KEY], checked=True)
                    else:
                        place = read_place(self.row(id_), leaf, text, metadata)
                except ValueError as error:
                    problems[id_] = str(error)
                    continue
                # Chroma returns the keys in a different order each time, and host frameworks make texts and hashes of them.
                own = {key: metadata[key] for key in sorted(metadata) if key != STRUCTURE_KEY}
                yield StoredLeaf(str(leaf), place, text, own, _similarity(distance))


def parsed(id_: str) -> LeafId:
    """The id of a leaf. A record that leafspan has not written gets an id that no leaf has."""
    parts = id_.rsplit("#", 2)
    try:
        ordinal = int(parts[-1])
    except ValueError:  # no number, or one of thousands of digits
        ordinal = -1
    if len(parts) == 3 and 0 <= ordinal < _MOST and str(ordinal) == parts[2]:
        return LeafId(parts[0], parts[1], ordinal)
    return LeafId(id_, "", 0)


def _similarity(distance: float) -> float:
    return max(-1.0, min(1.0, 1.0 - distance))


def hits_of(answer: Mapping[str, Any], current: Current) -> list[list[Hit]]:
    leaves = current.leaves
    return [
        sorted(
            (Hit(leaves[id_], _similarity(each)) for id_, each in zip(ids, distances, strict=True) if id_ in leaves),
            key=lambda hit: hit.order,
        )
        for ids, distances in zip(answer["ids"], answer["distances"], strict=True)
    ]

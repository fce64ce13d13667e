"""The current and visible ones among stored leaves. The manifest says which version of a document is current."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from leafspan.checks import STRUCTURE_KEY
from leafspan.engines import Near
from leafspan.store._catalogue import Selection
from leafspan.store._damage import read_place
from leafspan.store._manifest import Row
from leafspan.values import Hit, Leaf, LeafId

_MOST = 10**18  # larger than any ordinal


class Classified(NamedTuple):
    """Leaves, sorted by what the manifest says about them."""

    current: dict[str, LeafId]  # shown id of each wanted current leaf, by stored id
    damaged: set[str]  # stored ids of damaged documents that have one of these leaves
    textless: list[str]  # stored ids of wanted current leaves without a text
    suspects: set[tuple[str, str]]  # (document, version) pairs that are not current, and were not met before
    stale: set[str]  # stored ids of documents whose leaves are not current, and were not when met before


def classify(
    ids: Sequence[str],
    leaves: Sequence[LeafId],
    texts: Sequence[str | None],
    *,
    rows: Mapping[str, Row],
    shown_id: Callable[[str], str | None] | None,
    within: Selection | None,
    stale: AbstractSet[tuple[str, str]],
) -> Classified:
    result = Classified({}, set(), [], set(), set())
    for id_, leaf, text in zip(ids, leaves, texts, strict=True):
        document_id, version, ordinal = leaf
        row = rows.get(document_id)
        if row is not None and row.version == version:
            # A record after the last leaf does not belong to the document.
            if ordinal < row.leaves and (within is None or document_id in within.ids):
                shown = document_id if shown_id is None else shown_id(document_id)
                if shown is None:
                    continue
                if text is None:
                    result.textless.append(id_)
                else:
                    result.current[id_] = leaf if shown == document_id else leaf._replace(document_id=shown)
        elif row is not None and row.damage is not None:
            result.damaged.add(document_id)
        elif (document_id, version) not in stale:
            result.suspects.add((document_id, version))
        else:
            result.stale.add(document_id)
    return result


def version_of(rows: Mapping[str, Row], document_id: str) -> str | None:
    """The current version of the document with this stored id, or None if it has no current version."""
    row = rows.get(document_id)
    return None if row is None else row.version


class StoredLeaf(NamedTuple):
    id: LeafId
    leaf: Leaf
    text: str
    metadata: dict[str, object]  # the document's
    score: float  # cosine similarity to the query, in [-1, 1]; 0 without a query


class Current(NamedTuple):
    leaves: Mapping[str, LeafId]  # the leaves' shown ids, by stored id
    rows: Mapping[str, Row]  # of the leaves' documents, by stored id

    def row(self, id_: str) -> Row:
        """The row of a leaf's document, by the leaf's stored id."""
        return self.rows[id_.rsplit("#", 2)[0]]

    def stored_leaves(self, neighbours: Iterable[Near], problems: dict[str, str]) -> Iterator[StoredLeaf]:
        """Return the current ones of these leaves with their stored data, and add damage to ``problems``."""
        for (id_, text, metadata, _), similarity in neighbours:
            if (leaf := self.leaves.get(id_)) is not None:
                try:
                    place = read_place(self.row(id_), leaf, text or "", metadata)
                except ValueError as error:
                    problems[id_] = str(error)
                    continue
                # Engines return keys in any order, and host frameworks make texts and hashes of them.
                own = {key: value for key, value in sorted((metadata or {}).items()) if key != STRUCTURE_KEY}
                yield StoredLeaf(leaf, place, text or "", own, similarity)


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
    hits = ([Hit(leaves[record.id], similarity) for record, similarity in row if record.id in leaves] for row in rows)
    return [sorted(row, key=lambda hit: hit.order) for row in hits]

"""Chooses between a leaf's stored vector and its copy, if they differ: neither has a checksum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from leafspan.documents import IndexSettings
from leafspan.embedding import Embed
from leafspan.errors import IndexMismatch
from leafspan.flows import Flow
from leafspan.indexing._examining import Finding
from leafspan.indexing._vectors_anew import embedded_again
from leafspan.store import Row, Store
from leafspan.values import LeafId

_NEAR = 0.01  # greatest difference between two vectors, of length 1, of the same text embedded on different days


class VectorPair(NamedTuple):
    """The vectors of one leaf.

    Attributes:
        kept: The vector in the copy.
        stored: The vector in the store.
    """

    kept: Any
    stored: Any


class VectorChoice(NamedTuple):
    """Which vector is right, by leaf id.

    Attributes:
        of_copy: The copy's vectors that are right, since embedding the text again gives them.
        of_store: Why leafspan keeps the stored vector.
    """

    of_copy: Mapping[str, Any]
    of_store: Mapping[str, str]

    def findings(self, repair: bool) -> Iterator[Finding]:
        """Yield findings about wrong stored vectors."""
        for document_id, ordinals in _by_document(self.of_copy).items():
            said = f"the stored vector of {some_leaves(ordinals)} does not fit its text, the copy's does"
            yield Finding(document_id, said, repair)


def choose_vectors(
    store: Store, embed: Embed | None, settings: IndexSettings, rows: Sequence[Row], pairs: Mapping[str, VectorPair]
) -> Flow[VectorChoice]:
    """Choose the right one of each two vectors: the one that embedding the text again gives, or else the stored one."""
    made: Mapping[str, Any] = {}
    if pairs and embed is not None:
        try:
            made = yield from embedded_again(store, embed, settings, rows, list(pairs))
        except IndexMismatch:  # not the embedder that made the index
            embed = None
    of_copy, of_store = {}, {}
    for id_, (kept, stored) in pairs.items():
        if embed is None:
            of_store[id_] = "no embedder on this machine can tell, so the stored one counts"
        elif id_ not in made or not min(_distance(made[id_], kept), _distance(made[id_], stored)) <= _NEAR:
            of_store[id_] = "its text has neither when it is embedded again, so the stored one counts"
        elif _distance(made[id_], kept) < _distance(made[id_], stored):
            of_copy[id_] = kept
        else:
            of_store[id_] = "the stored one fits its text"
    return VectorChoice(of_copy, of_store)


def _distance(vector: Any, other: Any) -> float:
    """Return the length of the difference of two vectors, scaled to length 1, or infinity if they cannot be compared."""
    import numpy as np

    if vector.shape != other.shape or not np.isfinite(other).all():
        return float("inf")
    lengths = [max(float(np.linalg.norm(each)), 1e-30) for each in (vector, other)]
    return float(np.linalg.norm(vector / lengths[0] - other / lengths[1]))


def _by_document(ids: Mapping[str, Any]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for leaf in map(LeafId.parse, ids):
        found.setdefault(leaf.document_id, []).append(leaf.ordinal)
    return found


def some_leaves(ordinals: Sequence[int]) -> str:
    """Describe leaves by the first one and their number."""
    return f"leaf {ordinals[0]}" + (f" (and {len(ordinals) - 1} more)" if len(ordinals) > 1 else "")

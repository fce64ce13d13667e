"""Finds the rows of leaves in a snapshot."""

from __future__ import annotations

from collections.abc import Iterable

from leafspan.segments import MirrorSnapshot
from leafspan.store import Catalogue
from leafspan.values import LeafId


def rows_of(snapshot: MirrorSnapshot, visible: Catalogue, ids: Iterable[str]) -> list[int]:
    """The rows of leaves in a snapshot, by their shown ids."""
    return snapshot.rows((visible.stored_id(leaf.document_id) or "", leaf.ordinal) for leaf in map(LeafId.parse, ids))

"""Which of the leaves that Chroma returns are current: those of the version that the manifest says counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from leafspan.store._catalogue import Selection
from leafspan.store._manifest import Row
from leafspan.values import LeafId


class SortedOut(NamedTuple):
    """Leaves as the manifest has them.

    Attributes:
        current: From the stored id of each current and wanted leaf to the id that it is shown under.
        doubtful: (document, version) of leaves that are not current, and were not met before.
        stale: Stored ids of documents with leaves that are not current, and were not when they were met before.
    """

    current: dict[str, LeafId]
    doubtful: set[tuple[str, str]]
    stale: set[str]


def sort_out(
    ids: Sequence[str],
    leaves: Sequence[LeafId],
    texts: Sequence[str | None],
    *,
    rows: Mapping[str, Row],
    shown_id: Callable[[str], str | None] | None,
    within: Selection | None,
    stale: AbstractSet[tuple[str, str]],
) -> SortedOut:
    """Sort out which leaves are current.

    Args:
        ids: Stored ids of the leaves.
        leaves: The same, parsed.
        texts: Their texts. An embedded Chroma finds leaves that another process has deleted, with None for a text.
        rows: The manifest by stored ids.
        shown_id: From a document's stored id to the one it is shown under, None for one that is not visible. None shows
            all documents under their stored ids.
        within: Only documents of this selection are wanted; None for all.
        stale: (document, version) pairs that were not current when they were met before.
    """
    found = SortedOut({}, set(), set())
    for id_, leaf, text in zip(ids, leaves, texts, strict=True):
        document_id, version, _ = leaf
        row = rows.get(document_id)
        if row is not None and row.version == version and text is not None:
            if within is None or document_id in within.ids:
                name = document_id if shown_id is None else shown_id(document_id)
                if name is not None:
                    found.current[id_] = leaf if name == document_id else leaf._replace(document_id=name)
        elif (document_id, version) not in stale:
            found.doubtful.add((document_id, version))
        else:
            found.stale.add(document_id)
    return found


def version_of(rows: Mapping[str, Row], document_id: str) -> str | None:
    """The version of a document that counts, None if there is none."""
    row = rows.get(document_id)
    return None if row is None else row.version

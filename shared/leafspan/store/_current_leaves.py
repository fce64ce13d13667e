"""Finds the current ones among stored leaves. The manifest says which version of a document is current."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from leafspan.store._catalogue import Selection
from leafspan.store._manifest import Row
from leafspan.values import LeafId


class SortedOut(NamedTuple):
    """Leaves, sorted by what the manifest says about them."""

    current: dict[str, LeafId]  # shown id of each wanted current leaf, by stored id
    damaged: set[str]  # stored ids of damaged documents that have one of these leaves
    textless: list[str]  # stored ids of wanted current leaves without a text
    doubtful: set[tuple[str, str]]  # (document, version) pairs that are not current, and were not met before
    stale: set[str]  # stored ids of documents whose leaves are not current, and were not when met before


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
    """Sort leaves by what the manifest says about them."""
    found = SortedOut({}, set(), [], set(), set())
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
                    found.textless.append(id_)
                else:
                    found.current[id_] = leaf if shown == document_id else leaf._replace(document_id=shown)
        elif row is not None and row.damage is not None:
            found.damaged.add(document_id)
        elif (document_id, version) not in stale:
            found.doubtful.add((document_id, version))
        else:
            found.stale.add(document_id)
    return found


def version_of(rows: Mapping[str, Row], document_id: str) -> str | None:
    """The current version of the document with this stored id, or None if it has no current version."""
    row = rows.get(document_id)
    return None if row is None else row.version

"""No text twice: a summary does not stand beside all of the leaves that it was made of."""

from __future__ import annotations

from collections.abc import Sequence

from leafspan.tree.node import leaf_ids
from leafspan.values import Found


def without_repeats(found: Sequence[Found], *, results: int | None = None, words: int | None = None) -> list[Found]:
    """The results, in their order, without the summaries of which every leaf is among them.

    Looks no further than to the first ``results`` of those that stay, and until they have more than ``words`` in all: what
    is cut off there takes no summary's place. So the first of what stays are the same however the list goes on.
    """
    kept: dict[str, Found] = {}
    missing: dict[str, set[str]] = {}  # by summary: the leaves that it stands for alone
    holders: dict[str, list[str]] = {}  # by leaf: the summaries that stand for it
    leaves: set[str] = set()
    left = words
    for each in found:
        if results is not None and len(kept) >= results:
            break
        if left is not None and left < 0:
            break
        id_ = each.span.id
        if each.summary is None:
            kept[id_] = each
            for leaf in each.span.leaf_ids:
                leaves.add(leaf)
                for holder in holders.pop(leaf, ()):
                    missing[holder].discard(leaf)
                    if not missing[holder] and holder in kept:
                        freed = kept.pop(holder).words or 0
                        left = None if left is None else left + freed
        else:
            missing[id_] = set(leaf_ids(each.summary.covers)) - leaves
            if not missing[id_]:
                continue
            kept[id_] = each
            for leaf in missing[id_]:
                holders.setdefault(leaf, []).append(id_)
        left = None if left is None else left - (each.words or 0)
    return list(kept.values())

"""No text twice: a summary does not stand beside all of the leaves that it was made of."""

from __future__ import annotations

from collections.abc import Sequence

from leafspan.values import Candidate


def without_repeats(found: Sequence[Candidate], *, results: int | None = None, words: int | None = None) -> list[Candidate]:
    """The results, in their order, without the summaries of which every leaf is among them.

    Of these, at most ``results`` are to be used, and at most ``words`` in all: the first that does not fit into that, as
    things stand there, ends what is used. From there on no summary is left out for what comes after it, so that what is
    cut off takes nothing's place, and what is used stays the same however the list goes on.
    """
    kept: dict[str, Candidate] = {}
    leaves: set[str] = set()
    missing: dict[str, set[str]] = {}  # by summary: the leaves that it stands for alone
    holders: dict[str, list[str]] = {}  # by leaf: the summaries that stand for it
    most = sum(each.span.size for each in found if each.summary is None)
    used = 0
    ended = False
    for each in found:
        alone: set[str] = set()
        # One that covers more leaves than there are, as that of all documents does, is not looked at leaf by leaf.
        if each.summary is not None and each.summary.size <= most:
            alone.update(each.summary.leaf_ids)
            alone -= leaves
            if not alone:
                continue
        size = each.words or 0
        if kept and not ended and (len(kept) == results or (words is not None and used + size > words)):
            ended = True
        kept[each.span.id] = each
        used += size
        if each.summary is None:
            leaves.update(each.span.leaf_ids)
        if ended:
            continue
        if each.summary is not None:
            missing[each.span.id] = alone
            for leaf in alone:
                holders.setdefault(leaf, []).append(each.span.id)
            continue
        for leaf in each.span.leaf_ids:
            for holder in holders.pop(leaf, ()):
                missing[holder].discard(leaf)
                if not missing[holder]:
                    used -= kept.pop(holder).words or 0
    return list(kept.values())

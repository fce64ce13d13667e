"""Finds passages that several strategies share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from leafspan.values import Passage


class Agreement(NamedTuple):
    """How much of a passage another strategy found too.

    Attributes:
        strategy: The other strategy.
        numbers: Numbers of the other strategy's passages, from 1.
        share: Share of the passage's characters that are in these passages, in (0, 1].
    """

    strategy: str
    numbers: tuple[int, ...]
    share: float


def agreements(passage: Passage, others: Mapping[str, Sequence[Passage]]) -> list[Agreement]:
    """The other strategies that found the passage, or a part of it."""
    found = []
    for strategy, passages in others.items():
        shares = {number: share for number, each in enumerate(passages, start=1) if (share := _share(passage, each))}
        if shares:
            found.append(Agreement(strategy, tuple(shares), min(sum(shares.values()), 1.0)))
    return found


def _share(passage: Passage, other: Passage) -> float:
    """The share of a passage that is in another one."""
    if passage.id == other.id:
        return 1.0
    same_kind = passage.summary is None and other.summary is None
    if not same_kind or not passage.document_id or passage.document_id != other.document_id:
        return 0.0
    if passage.start is None or passage.end is None or other.start is None or other.end is None:
        return 0.0
    common = min(passage.end, other.end) - max(passage.start, other.start)
    return max(common, 0) / max(passage.end - passage.start, 1)

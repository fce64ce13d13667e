"""Explains empty results."""

from __future__ import annotations

from leafspan.flows import Flow
from leafspan.retrieval._limits import Limits
from leafspan.retrieval._widening import Result
from leafspan.store import Reader

INDEX_IS_EMPTY = "the index is empty"
"""The reason for an empty result from an index without documents."""


def why_empty(result: Result, limits: Limits, reader: Reader, noted: str | None) -> Flow[str | None]:
    """Why the result is empty, as the end of a sentence; or None if it is not empty."""
    if not result.passages and not result.too_low:
        catalogue = yield from reader.catalogue()
        if not catalogue.select(None).ids:
            return INDEX_IS_EMPTY if reader.scope is None else "the view shows no document"
        if limits.where is not None and not catalogue.select(limits.where).ids:
            return "no document matches the filter"
    return why_found_none(result, limits, noted)


def why_found_none(result: Result, limits: Limits, noted: str | None) -> str | None:
    """Like ``why_empty``, from the strategy's results alone."""
    if result.passages:
        return None
    if limits.min_score is None or not result.too_low:
        return noted or "the strategy found nothing"
    results = "the only result is" if len(result.too_low) == 1 else f"all {len(result.too_low)} results are"
    best = max(each.score for each in result.too_low)
    return f"{results} below min_score={limits.min_score:g}, the best has {best:.3g}"

"""Explains empty results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from leafspan.flows import Flow
from leafspan.retrieval._limits import Limits
from leafspan.retrieval._widening import Result
from leafspan.store import Reader
from leafspan.strategies import NoteWhyEmpty

INDEX_IS_EMPTY = "the index is empty"
"""The reason for an empty result from an index without documents."""


NO_ANSWER = "nothing in the index answers this"
"""The beginning of the sentence that ends with ``Passages.why_no_answer``."""


class WhyEmpty(NamedTuple):
    """Why a result is empty, as the end of a sentence, and the ids of the nearest documents, best first."""

    why_empty: str
    nearest: Sequence[str] = ()


def why_empty(result: Result, limits: Limits, reader: Reader, noted: NoteWhyEmpty | None) -> Flow[WhyEmpty | None]:
    """Why the result is empty, or None if it is not empty."""
    if not result.passages and not result.too_low:
        catalogue = yield from reader.catalogue()
        if not catalogue.select(None).ids:
            return WhyEmpty(INDEX_IS_EMPTY if reader.scope is None else "the view shows no document")
        if limits.where is not None and not catalogue.select(limits.where).ids:
            return WhyEmpty("no document matches the filter")
    return why_found_none(result, limits, noted)


def why_found_none(result: Result, limits: Limits, noted: NoteWhyEmpty | None) -> WhyEmpty | None:
    """Like ``why_empty``, from the strategy's results alone."""
    if result.passages:
        return None
    if limits.min_score is None or not result.too_low:
        return WhyEmpty("the strategy found nothing") if noted is None else WhyEmpty(noted.reason, noted.nearest)
    results = "the only result is" if len(result.too_low) == 1 else f"all {len(result.too_low)} results are"
    best_first = sorted(result.too_low, key=lambda each: each.order)
    nearest = list(dict.fromkeys(each.span.document_id for each in best_first if each.span.document_id))
    return WhyEmpty(f"{results} below min_score={limits.min_score:g}, the best has {best_first[0].score:.3g}", nearest)

"""Passages as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leafspan.agents._citations import Citation
from leafspan.agents._limits import LONGEST_ID, MOST_ITEMS, short_metadata, shortened
from leafspan.indexing import DocumentInfo
from leafspan.values import Covered, Passage

_MOST_COVERED = 10


def place_fields(document_id: str, start: int, end: int) -> dict[str, Any]:
    """A text's place, with a citation unless the text is empty or the id is too long (a long id is shortened)."""
    place = {"document_id": shortened(document_id, LONGEST_ID), "start": start, "end": end}
    if len(document_id) > LONGEST_ID or start == end:
        return place
    return {"citation": str(Citation(document_id, start, end)), **place}


def title_of(described: Passage | DocumentInfo) -> str | None:
    """A document's title, or None if it is hidden from models."""
    return None if "title" in described.hidden else described.title


def about_fields(
    title: str | None, headings: Sequence[str], lines: tuple[int, int] | None, place: str | None = None
) -> dict[str, Any]:
    """A text's known fields beside its place."""
    fields: dict[str, Any] = {}
    if title:
        fields["title"] = shortened(title)
    if headings:
        fields["headings"] = [shortened(each) for each in headings[:MOST_ITEMS]]
    if lines:
        fields["lines"] = list(lines)
    if place:
        fields["place"] = place
    return fields


def passage_fields(passage: Passage, text: str) -> dict[str, Any]:
    """A passage with its citation."""
    fields: dict[str, Any] = {}
    if passage.summary is not None:
        fields |= {"kind": "summary", "covers": covered(passage.summary.covers)}
    elif passage.start is None:
        fields |= {"kind": passage.kind, "id": shortened(passage.id, LONGEST_ID)}
    else:
        fields |= place_fields(passage.document_id, passage.start, passage.start + len(text))
    whole = len(text) == len(passage.text)
    fields |= about_fields(title_of(passage), passage.headings, passage.lines if whole else None, passage.place)
    if metadata := short_metadata(passage.metadata, passage.hidden):
        fields["metadata"] = metadata
    fields |= {"score": round(passage.score, 4), "text": text}
    if not whole:
        fields["cut"] = True
    return fields


def covered(runs: Sequence[Covered]) -> list[str]:
    """The citations of the leaves that a summary covers, ten at most."""
    shown = [run for run in runs if len(run.document_id) <= LONGEST_ID][:_MOST_COVERED]
    return [str(Citation(run.document_id, run.start, run.end)) for run in shown]

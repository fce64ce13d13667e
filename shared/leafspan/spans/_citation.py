"""Passages for language models: texts with the headers of tables, citations, and the sources of a prompt."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Container, Iterable, Mapping

from leafspan.text import escaped_in_json
from leafspan.values import TABLE_DEPTH, Passage

SHOWN_TO_MODELS = ("title", "headings")
"""The keys of a citation that say what the text is about. The other keys only say where it is."""

_PLACE = ("doc_id", "title", "headings", "start_line", "end_line", "place")


def numbered_sources(texts: Iterable[tuple[str, Mapping[str, object], Container[str]]]) -> str:
    """Texts, metadata and hidden keys as sources: a line of JSON for each, so that no text can end its value."""
    lines = []
    for number, (text, metadata, hidden) in enumerate(texts, 1):
        shown = (key for key in _PLACE if key not in hidden)
        place = {key: value for key in shown if isinstance(value := metadata.get(key), str | int)}
        lines.append(escaped_in_json(json.dumps({"number": number, **place, "text": text}, ensure_ascii=False)))
    return "\n".join(lines)


def shown_text(passage: Passage) -> str:
    """A passage's text for the results of both frameworks. Rows below a table's header have the header above them."""
    if passage.outline is None or passage.summary is not None:
        return passage.text
    first, sections = passage.outline.runs[0][0], passage.outline.sections
    place = bisect_right(sections, first, key=lambda section: section.first) - 1
    if place < 0 or sections[place].depth != TABLE_DEPTH or sections[place].last < first:
        return passage.text
    names = sections[place].text
    return f"| {names} |\n| {' | '.join(['---'] * (names.count(' | ') + 1))} |\n{passage.text}"


def citation(passage: Passage) -> dict[str, object]:
    """Where a passage is: ``doc_id``, ``start``, ``end``, ``title``, ``headings``, ``start_line`` and ``end_line``, or
    ``place`` in a file, such as ``"page 3"``.

    A summary also has its ``layer`` (above 0), and ``covers``, a list of [doc_id, start, end]. If it covers more than one
    document, it has no ``doc_id``, ``start`` and ``end``. The headings are one text such as ``"Tea > Brewing"``, since few
    stores take lists. A passage of another source only has its ``kind``. Unknown values are left out, and so are keys that
    the user's own metadata has, too.
    """
    if passage.document_id == "" and passage.summary is None:
        return {} if "kind" in passage.metadata else {"kind": passage.kind}
    place: dict[str, object] = {"doc_id": passage.document_id, "start": passage.start, "end": passage.end}
    if passage.summary is not None:
        covers = [[run.document_id, run.start, run.end] for run in passage.summary.covers]
        place = {**(place if passage.document_id else {}), "layer": passage.layer, "covers": covers}
    own = passage.metadata
    if passage.title and "title" not in own:
        place["title"] = passage.title
    if passage.headings and "headings" not in own:
        place["headings"] = " > ".join(passage.headings)
    if passage.lines and not {"start_line", "end_line"} & own.keys():
        place["start_line"], place["end_line"] = passage.lines
    if passage.place and "place" not in own:
        place["place"] = passage.place
    return place

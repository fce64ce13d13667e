"""The tool ``read``: a range of a document, or the text around a passage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leafspan.agents._citations import (
    ABOUT,
    LONGEST_CITATION,
    PLACE,
    about_fields,
    leaf_end,
    leaf_start,
    place_fields,
    range_to_read,
    title_of,
)
from leafspan.agents._limits import LONGEST_ID
from leafspan.agents._searching import DATA, LEAST_BUDGET, ToolLimits
from leafspan.agents._tool import AgentTool, Parameter, ToolResult
from leafspan.errors import InvalidArgument
from leafspan.files import place_between
from leafspan.flows import Call, Flow
from leafspan.indexing import Citation
from leafspan.values import Passage
from leafspan.view import View


def read_tool(view: View, name: str, *, about: str, outline: str, limits: ToolLimits, timeout: float | None) -> AgentTool:
    """The tool that reads documents of a view."""
    parameters = (
        Parameter(
            "citation",
            str,
            "Citation of a passage, such as handbook.md:120-480: read it and what surrounds it.",
            most=LONGEST_CITATION,
        ),
        Parameter("document_id", str, "Id of a document, instead of a citation: read from start on.", most=LONGEST_ID),
        Parameter("start", int, "With document_id: the first character to read.", 0),
        Parameter("end", int, "With document_id: the character to stop before. By default the document's end.", least=1),
        Parameter("budget", int, "Most words to read.", limits.words, least=LEAST_BUDGET, most=limits.longest),
    )

    def read(arguments: Mapping[str, Any]) -> Flow[ToolResult]:
        place = _place_of(name, arguments)
        leaves = yield Call(view.leaves, (place.document_id,), native=view.aleaves, what=name)
        around = arguments["citation"] is not None
        # In a thread, since a document may have a million words.
        result: ToolResult = yield Call(_shown, (leaves, place, arguments["budget"]), {"around": around}, what="")
        return result

    description = (
        f"Read {about}: the text around a passage, by its citation, or a range of a document, by its id. Give either "
        f"citation or document_id. Returns the exact text with its own citation and place, and the length of the "
        f"document in characters. If next_start is there, the document goes on: call again with document_id and start "
        f"= next_start. {outline} lists documents and their headings. {DATA}"
    )
    returns = PLACE | ABOUT | {"characters": int, "text": str, "next_start": int}
    return AgentTool(name, description, parameters, read, timeout, returns=returns)


def _place_of(name: str, arguments: Mapping[str, Any]) -> Citation:
    """The place to read; without a given end, its end is beyond any document."""
    citation, document_id, start, end = (arguments[key] for key in ("citation", "document_id", "start", "end"))
    if (citation is None) == (document_id is None):
        raise InvalidArgument(f"{name} must be given either citation or document_id")
    if citation is not None:
        if start or end is not None:
            raise InvalidArgument("start and end must be given with document_id, and not with citation")
        return Citation.parse(citation)
    if end is not None and start >= end:
        raise InvalidArgument(f"start must be less than end, got {start} and {end}")
    return Citation(document_id, start, 2**63 if end is None else end)


def _shown(leaves: Sequence[Passage], place: Citation, budget: int, *, around: bool) -> ToolResult:
    """The part of a document to show, given the document's leaves."""
    text = "".join(leaf.text for leaf in leaves)
    if place.start >= len(text) and (around or place.start):
        raise InvalidArgument(f"start must be less than the document's {len(text)} characters, got {place.start}")
    start, end = range_to_read(leaves, text, place.start, place.end, budget, around=around)
    read = tuple(leaf for leaf in leaves if leaf_start(leaf) < end and leaf_end(leaf) > start)
    content = place_fields(place.document_id, start, end) | {"characters": len(text)}
    content |= about_fields(title_of(leaves[0]) if leaves else None, _common(read), _lines(read), _place(read))
    content["text"] = text[start:end]
    if end < len(text):
        content["next_start"] = end
    return ToolResult(content, read)


def _common(leaves: Sequence[Passage]) -> list[str]:
    """The headings that all leaves share, outermost first."""
    common: list[str] = []
    for level in zip(*(leaf.headings for leaf in leaves), strict=False):
        if len(set(level)) > 1:
            break
        common.append(level[0])
    return common


def _place(leaves: Sequence[Passage]) -> str | None:
    """The place of all leaves in the file."""
    places = [leaf.place for leaf in leaves if leaf.place]
    return place_between(places[0], places[-1]) if places else None


def _lines(leaves: Sequence[Passage]) -> tuple[int, int] | None:
    """The first and the last line of all leaves, None if they are not known."""
    lines = [leaf.lines for leaf in leaves if leaf.lines is not None]
    return (lines[0][0], lines[-1][1]) if lines else None

"""The tools ``read`` and ``outline``: a range of a document or the text around a passage, and lists of what is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Any

from leafspan.agents._citations import (
    ABOUT,
    LONGEST_CITATION,
    LONGEST_ID,
    PLACE,
    about_fields,
    as_many_as_fit,
    bounds_of,
    covered,
    end_within,
    non_empty,
    place_fields,
    range_to_read,
    short_metadata,
    short_value,
    shortened,
    title_of,
)
from leafspan.agents._searching import DATA, LEAST_BUDGET, ToolLimits
from leafspan.agents._tool import AgentTool, Parameter, ToolResult
from leafspan.errors import InvalidArgument
from leafspan.files import place_between
from leafspan.flows import Call, Flow
from leafspan.indexing import Citation, DocumentInfo, value_counts
from leafspan.values import Passage
from leafspan.view import View

_PAGE = 50
_LONGEST_PAGE = 200
_CHARACTERS = 20_000  # most characters of a page
_SUMMARY_WORDS = 80
_LISTS: dict[str, Any] = {
    "documents": [{"document_id": str, "title": str, "words": int, "characters": int, "metadata": dict}],
    "headings": [{"heading": str, "depth": int, "citation": str, "start": int, "end": int}],
    "summaries": [{"layer": int, "document_id": str, "text": str, "covers": [str]}],
    "values": [{"value": object, "documents": int}],
}
_OUTLINE: dict[str, Any] = {"document_id": str, "characters": int, "title": str, "note": str, "key": str}


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
    places = zip(leaves, pairwise(bounds_of(leaves)), strict=True)
    read = tuple(leaf for leaf, (first, last) in places if first < end and last > start)
    content = place_fields(place.document_id, start, end) | {"characters": len(text)}
    content |= about_fields(title_of(leaves[0]) if leaves else None, _common(read), _lines(read), _place(read))
    return ToolResult(content | {"text": text[start:end]} | non_empty({"next_start": end < len(text) and end}), read)


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


def outline_tool(view: View, name: str, *, about: str, read: str, timeout: float | None) -> AgentTool:
    """The tool that lists a view's documents, or a document's headings or summaries."""
    parameters = (
        Parameter(
            "document_id", str, "Id of a document, for its headings. By default all documents are listed.", most=LONGEST_ID
        ),
        Parameter("key", str, "Name of a metadata key, to list its values, for filters, instead.", most=LONGEST_ID),
        Parameter("summaries", bool, "Whether to list summaries, where some have been built, instead.", False),
        Parameter("start", int, "Number of entries to leave out, for the next page: next_start of the page before.", 0),
        Parameter("limit", int, "Most entries.", _PAGE, least=1, most=_LONGEST_PAGE),
    )

    def outline(arguments: Mapping[str, Any]) -> Flow[ToolResult]:
        document_id, start, limit = (arguments[key] for key in ("document_id", "start", "limit"))
        if arguments["summaries"]:
            summaries = yield Call(view.summaries, (document_id,), native=view.asummaries, what=name)
            page = _page("summaries", map(_summary, summaries[start : start + limit]), start, len(summaries))
            return ToolResult(page, tuple(summaries[start : start + len(page["summaries"])]))
        if document_id is None:
            if key := arguments["key"]:
                documents = yield Call(view.documents, native=view.adocuments, what=name)
                counts = value_counts(documents, key, hidden=False)
                values = ({"value": short_value(each), "documents": count} for each, count in counts[start : start + limit])
                return ToolResult({"key": shortened(key), **_page("values", values, start, len(counts))})
            options = {"start": start, "limit": limit}
            documents = yield Call(view.documents, (), options, native=view.adocuments, what=name)
            total = yield Call(view.count, native=view.acount, what=name)
            return ToolResult(_page("documents", map(_document, documents), start, total))
        leaves = yield Call(view.leaves, (document_id,), native=view.aleaves, what=name)
        headings = yield Call(_headings, (document_id, leaves), what="")
        about_it = {"document_id": shortened(document_id, LONGEST_ID), "characters": leaves[-1].end if leaves else 0}
        about_it |= about_fields(title_of(leaves[0]) if leaves else None, (), None)
        page = _page("headings", headings[start : start + limit], start, len(headings))
        if not headings:
            page["note"] = f"The document has no headings: {read} it from its start."
        return ToolResult(about_it | page)

    description = (
        f"List {about}: without document_id all documents, with id, title, length and metadata; with document_id the "
        f"headings of that document, each with its depth and with a citation of the text below it, which {read} takes. "
        "With key, the values of a metadata key, with numbers of documents. With summaries=true, summaries of documents, "
        "or of one, top layer first, with citations of what they cover. "
        f"If next_start is there, the list goes on. {DATA}"
    )
    returns = _LISTS | _OUTLINE | {"total": int, "next_start": int}
    return AgentTool(name, description, parameters, outline, timeout, returns=returns)


def _page(kind: str, entries: Iterable[dict[str, Any]], start: int, total: int) -> dict[str, Any]:
    """A page of a list, cut before it is too long to read."""
    shown = as_many_as_fit(entries, _CHARACTERS)
    page: dict[str, Any] = {kind: shown, "total": total}
    if start + len(shown) < total and shown:
        page["next_start"] = start + len(shown)
    return page


def _document(info: DocumentInfo) -> dict[str, Any]:
    entry = {"document_id": shortened(info.id, LONGEST_ID)} | about_fields(title_of(info), (), None)
    entry |= {"words": info.words, "characters": info.characters}
    return entry | non_empty({"metadata": short_metadata(info.metadata, info.hidden)})


def _headings(document_id: str, leaves: Sequence[Passage]) -> list[dict[str, Any]]:
    """The headings, each with the text below it, subsections included."""
    entries: list[dict[str, Any]] = []
    open_: list[dict[str, Any]] = []  # the entries of the text's headings, outermost first
    path: tuple[str, ...] = ()
    for leaf, (start, end) in zip(leaves, pairwise(bounds_of(leaves)), strict=True):
        kept = _shared(path, leaf.headings)
        del open_[kept:]
        for depth, heading in enumerate(leaf.headings[kept:], start=kept + 1):
            open_.append({"heading": shortened(heading), "depth": depth, "start": start})
        entries += open_[kept:]
        for entry in open_:
            entry["end"] = end
        path = leaf.headings
    for entry in entries:
        place = place_fields(document_id, entry.pop("start"), entry.pop("end"))
        entry |= {name: value for name, value in place.items() if name != "document_id"}  # the outline has it at the top
    return entries


def _shared(path: Sequence[str], following: Sequence[str]) -> int:
    """The number of headings, outermost first, that a text and the next text share."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(path, following, strict=False)))
    # If the next text loses its innermost heading, it has a new heading with the same words as an outer one.
    return same - 1 if same == len(following) < len(path) and same else same


def _summary(passage: Passage) -> dict[str, Any]:
    assert passage.summary is not None
    about = non_empty({"document_id": shortened(passage.document_id, LONGEST_ID)})
    text = passage.text[: end_within(passage.text, _SUMMARY_WORDS)]
    return {"layer": passage.layer} | about | {"text": text, "covers": covered(passage.summary.covers)}

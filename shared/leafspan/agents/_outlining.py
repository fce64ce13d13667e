"""The tool ``outline``: lists documents, a document's headings, or summaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from leafspan.agents._citations import covered, leaf_end, leaf_start, place_fields, title_of
from leafspan.agents._limits import LONGEST_ID, as_many_as_fit, end_within, short_metadata, short_value, shortened
from leafspan.agents._searching import DATA
from leafspan.agents._tool import AgentTool, Parameter, ToolResult
from leafspan.flows import Call, Flow
from leafspan.indexing import DocumentInfo, value_counts
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
_ABOUT: dict[str, Any] = {"document_id": str, "characters": int, "title": str, "note": str, "key": str}


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
            documents = yield Call(view.documents, native=view.adocuments, what=name)
            if key := arguments["key"]:
                counts = value_counts(documents, key, hidden=False)
                values = ({"value": short_value(each), "documents": count} for each, count in counts[start : start + limit])
                return ToolResult({"key": shortened(key), **_page("values", values, start, len(counts))})
            return ToolResult(_page("documents", map(_document, documents[start : start + limit]), start, len(documents)))
        leaves = yield Call(view.leaves, (document_id,), native=view.aleaves, what=name)
        headings = yield Call(_headings, (document_id, leaves), what="")
        about_it = {"document_id": shortened(document_id, LONGEST_ID), "characters": leaves[-1].end if leaves else 0}
        if leaves and (title := title_of(leaves[0])):
            about_it["title"] = shortened(title)
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
    returns = _LISTS | _ABOUT | {"total": int, "next_start": int}
    return AgentTool(name, description, parameters, outline, timeout, returns=returns)


def _page(kind: str, entries: Iterable[dict[str, Any]], start: int, total: int) -> dict[str, Any]:
    """A page of a list, cut before it is too long to read."""
    shown = as_many_as_fit(entries, _CHARACTERS)
    page: dict[str, Any] = {kind: shown, "total": total}
    if start + len(shown) < total and shown:
        page["next_start"] = start + len(shown)
    return page


def _document(info: DocumentInfo) -> dict[str, Any]:
    entry: dict[str, Any] = {"document_id": shortened(info.id, LONGEST_ID)}
    if title := title_of(info):
        entry["title"] = shortened(title)
    entry |= {"words": info.words, "characters": info.characters}
    if metadata := short_metadata(info.metadata, info.hidden):
        entry["metadata"] = metadata
    return entry


def _headings(document_id: str, leaves: Sequence[Passage]) -> list[dict[str, Any]]:
    """The headings, each with the text below it, subsections included."""
    entries: list[dict[str, Any]] = []
    open_: list[dict[str, Any]] = []  # the entries of the text's headings, outermost first
    path: tuple[str, ...] = ()
    for leaf in leaves:
        kept = _shared(path, leaf.headings)
        del open_[kept:]
        for depth, heading in enumerate(leaf.headings[kept:], start=kept + 1):
            open_.append({"heading": shortened(heading), "depth": depth, "start": leaf_start(leaf)})
        entries += open_[kept:]
        for entry in open_:
            entry["end"] = leaf_end(leaf)
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
    entry: dict[str, Any] = {"layer": passage.layer}
    if passage.document_id:
        entry["document_id"] = shortened(passage.document_id, LONGEST_ID)
    text = passage.text[: end_within(passage.text, _SUMMARY_WORDS)]
    return entry | {"text": text, "covers": covered(passage.summary.covers)}

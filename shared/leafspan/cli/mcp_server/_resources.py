"""A view's documents, and passages of them, as resources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

import mcp_types as types

from leafspan.agents import shortened, title_of
from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.flows import Call, Flow
from leafspan.indexing import Citation
from leafspan.splitting import LINE_END
from leafspan.text import visible
from leafspan.values import Document
from leafspan.view import View

_PAGE = 100
_MIME_TYPE = "text/plain"
_URI = re.compile(r"leafspan:///([^?]+)(?:\?(?:start=(\d{1,12}))?&?(?:end=(\d{1,12}))?)?", re.ASCII)

TEMPLATES = [
    types.ResourceTemplate(
        name="document",
        uri_template="leafspan:///{document_id}",
        mime_type=_MIME_TYPE,
        description="The text of a document, by its id.",
    ),
    types.ResourceTemplate(
        name="passage",
        uri_template="leafspan:///{document_id}{?start,end}",
        mime_type=_MIME_TYPE,
        description="A part of a document, by its characters, as in the citation handbook.md:120-480.",
    ),
]
"""The forms of the resources' addresses."""


def uri_of(document_id: str, start: int = 0, end: int = 0) -> str:
    """The address of a document, or of a part of it."""
    coded = quote(document_id, safe="").replace(".", "%2E") if document_id in (".", "..") else quote(document_id, safe="")
    return f"leafspan:///{coded}" + (f"?start={start}&end={end}" if end else "")


def links(content: Mapping[str, Any]) -> list[types.ResourceLink]:
    """Links to the resources of the texts in a tool's result."""
    return [
        types.ResourceLink(
            type="resource_link",
            uri=uri_of(each["document_id"], each["start"], each["end"]),
            name=visible(each["citation"]),
            title=visible(each["title"]) if "title" in each else None,
            mime_type=_MIME_TYPE,
        )
        for each in content.get("passages", [content])
        if {"citation", "text"} <= each.keys()
    ]


def list_resources(view: View, cursor: str | None) -> Flow[types.ListResourcesResult]:
    """A page of the documents. The cursor is the number of documents before it."""
    if cursor is not None and not re.fullmatch(r"\d{1,12}", cursor, re.ASCII):
        raise InvalidArgument(f"cursor must be next_cursor of the page before, got {shown(cursor)}")
    start = int(cursor or 0)
    options = {"start": start, "limit": _PAGE + 1}
    documents = yield Call(view.documents, (), options, native=view.adocuments, what="list")
    listed = [
        types.Resource(
            uri=uri_of(each.id),
            name=visible(shortened(each.id)),
            title=visible(shortened(title)) if (title := title_of(each)) else None,
            mime_type=_MIME_TYPE,
        )
        for each in documents[:_PAGE]
    ]
    following = str(start + _PAGE) if len(documents) > _PAGE else None
    return types.ListResourcesResult(resources=listed, next_cursor=following)


def read_resource(view: View, uri: str) -> Flow[types.ReadResourceResult]:
    """The text of a document, or of a part of it, with its citation and lines."""
    match = _URI.fullmatch(uri)
    if match is None:
        raise InvalidArgument(f"uri must be like leafspan:///handbook.md?start=120&end=480, got {shown(uri)}")
    document: Document = yield Call(view.get, (unquote(match[1]),), native=view.aget, what="read")
    start, end = int(match[2] or 0), min(int(match[3] or len(document.text)), len(document.text))
    if start > end or (start == end and (match[2] or match[3])):
        raise InvalidArgument(
            f"start must be less than end and the document's {len(document.text)} characters, got {start}"
        )
    before = sum(1 for _ in LINE_END.finditer(document.text, 0, start))
    inside = sum(1 for _ in LINE_END.finditer(document.text, start, max(start, end - 1)))
    meta = {"citation": str(Citation(document.id, start, end)), "lines": [before + 1, before + 1 + inside]}
    content = types.TextResourceContents(uri=uri, mime_type=_MIME_TYPE, text=document.text[start:end], _meta=meta)
    return types.ReadResourceResult(contents=[content])

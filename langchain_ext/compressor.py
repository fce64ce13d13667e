"""Relevant segments of what another retriever of LangChain found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict, PositiveInt

from leafspan import InvalidArgument
from leafspan.hosting import Flow, arun, relevant_segments, run, shown

_GAP = 4  # most characters of white space that a text splitter strips between two chunks


class RelevantSegmentsCompressor(BaseDocumentCompressor):
    """The Documents of any LangChain retriever, cut to the runs of sentences that are most relevant together.

    It is like ``RelevantSegments`` over ``Vector``, but without an index, for people who keep another vector store: give it
    to LangChain's ``ContextualCompressionRetriever``. Chunks of one text (with equal metadata, apart from ``start_index``)
    that overlap or touch are merged first, so a run can go on in the next chunk, and no text comes twice. In the metadata
    of a result, ``relevance_score`` is the cosine similarity of its best leaf (a sentence or a few) to the question, by
    which results are ordered, and ``start_index`` is its place in the text, if the place of the chunk is known.

    Args:
        embedder: Embeddings of LangChain, or anything else that ``Index.open`` takes. Default: the bundled model.
        budget: Most words of all results together, >= 1. Default: 300.
    """

    model_config = ConfigDict(extra="forbid")

    embedder: Any = None
    budget: PositiveInt = 300

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """The most relevant runs of sentences, best first."""
        return run(self._segments(documents, query))

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Like ``compress_documents``, without blocking the event loop."""
        return await arun(self._segments(documents, query), reads=True)

    def _segments(self, documents: Sequence[Document], query: str) -> Flow[list[Document]]:
        if not isinstance(query, str) or not query.strip():
            raise InvalidArgument(f"query must be a text that is not blank, got {shown(query)}")
        merged = _merged(each for each in documents if each.page_content.strip())
        texts = [each.page_content for each in merged]
        segments = yield from relevant_segments(texts, query, self.embedder, self.budget)
        return [_part(merged[number], start, end, score) for number, start, end, score in segments]


def _part(whole: Document, start: int, end: int, score: float) -> Document:
    """A part of a Document, without white space around it."""
    text = whole.page_content[start:end].strip()
    place = {"start_index": _start(whole) + whole.page_content.index(text, start)} if _start(whole) >= 0 else {}
    same = text == whole.page_content
    return Document(text, id=whole.id if same else None, metadata={**whole.metadata, **place, "relevance_score": score})


def _merged(documents: Iterable[Document]) -> list[Document]:
    """The Documents; chunks of one text that overlap or touch are one."""
    merged: list[Document] = []
    for each in sorted(documents, key=_start):
        text, metadata = each.page_content, {**each.metadata, "start_index": -1}
        for place, other in enumerate(merged):
            gap = _start(each) - _start(other) - len(other.page_content)
            shared = other.page_content[gap:] if gap < 0 else ""
            overlaps = text[: len(shared)] == shared[: len(text)]
            if _start(other) >= 0 and gap <= _GAP and overlaps and {**other.metadata, "start_index": -1} == metadata:
                longer = other.page_content + "\n" * gap + text[len(shared) :]
                merged[place] = Document(longer, metadata=other.metadata)
                break
        else:
            merged.append(each)
    return merged


def _start(document: Document) -> int:
    """The place of a chunk in its text, -1 if it is not known."""
    start = document.metadata.get("start_index")
    return start if isinstance(start, int) else -1

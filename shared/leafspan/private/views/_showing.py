"""Restores passages, documents and ids as far as the reader may see them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from leafspan.documents import copy_metadata
from leafspan.flows import Call, Flow
from leafspan.indexing import DocumentInfo
from leafspan.private.pseudonyms import RECORD_KEY, MaskedPlace, Restoring, Unmasking, pseudonyms_in
from leafspan.private.views._privacy import Privacy
from leafspan.splitting import LINE_END
from leafspan.store import Reader, Scope, Store, read_consistently
from leafspan.text import count_words
from leafspan.values import Covered, Document, LeafId, Outline, Passage, Summary

Records = Mapping[str, str]
"""The documents' records, by the documents' masked ids."""


class Showing:
    """Restores the results of one call. ``load`` reads everything from the vault at once."""

    def __init__(self, privacy: Privacy, store: Store, scope: Scope | None) -> None:
        self._privacy = privacy
        self._store = store
        self._scope = scope
        self._unmaskings: dict[str, Unmasking] = {}
        self._records: dict[str, str] = {}  # by a document's masked id
        self._originals: dict[str, str] = {}
        self.lacks_records = False  # whether the vault lacks a record that it should have

    def load(
        self,
        metadatas: Iterable[Mapping[str, object]],
        texts: Iterable[str] = (),
        documents: Iterable[str] = (),
        originals: Mapping[str, str] | None = None,
    ) -> Flow[None]:
        """Read everything that restoring needs."""
        if self._privacy.shows_none:
            return
        if ids := list(dict.fromkeys(documents)):
            rows = yield from read_consistently(self._store, partial(Reader.rows, ids=ids), self._scope)
            records_of_rows = ((id_, row.metadata.get(RECORD_KEY)) for id_, row in rows.items())
            self._records.update((id_, str(record)) for id_, record in records_of_rows if record is not None)
        listed = list(metadatas)
        records = {str(each[RECORD_KEY]) for each in listed if RECORD_KEY in each} | set(self._records.values())
        values = (value for each in listed for key, value in each.items() if not self._is_list(key, each))
        free = (text for value in values for text in texts_in(value))
        words = {mention.word for text in (*texts, *free) for mention in pseudonyms_in(text)}
        vault = self._privacy.vault
        notes, stored = {}, {}
        if records:
            notes = yield Call(vault.notes, (records,))
            self.lacks_records = len(notes) < len(records)
        if words:
            stored = yield Call(vault.originals, (words,))
        self._originals = {**(originals or {}), **stored}
        everything = self._privacy.shows_all
        self._unmaskings = {
            record: Unmasking(note, self._privacy.shows, everything=everything) for record, note in notes.items()
        }

    def _unmasking(self, metadata: Mapping[str, object], document_id: str = "") -> Unmasking | None:
        record = metadata.get(RECORD_KEY, self._records.get(document_id))
        return None if record is None else self._unmaskings.get(str(record))

    def words(self, text: str) -> str:
        """Restore a text whose places of pseudonyms are not known."""
        places = (
            MaskedPlace(each.start, each.word, self._originals[each.word])
            for each in pseudonyms_in(text)
            if each.word in self._originals
        )
        return Restoring(place for place in places if self._privacy.shows(place)).text(text)

    def metadata(self, metadata: Mapping[str, object], chunk: int | None = None) -> dict[str, object]:
        """Restore metadata, without the private view's own keys."""
        unmasking = self._unmasking(metadata)
        shown = copy_metadata(metadata) if unmasking is None else unmasking.metadata(metadata, chunk)
        # For example a value that the scope's filter added.
        shown = {key: value if self._is_list(key, metadata) else self._value(value) for key, value in shown.items()}
        shown.pop(RECORD_KEY, None)
        if self._privacy.shows_all and RECORD_KEY in metadata:  # without the key, it was not added through a private view
            shown.pop(self._privacy.entities_field, None)
        return shown

    def _is_list(self, key: str, metadata: Mapping[str, object]) -> bool:
        """Whether the key has the document's list of pseudonyms, which stays as it is and can have thousands of entries."""
        return key == self._privacy.entities_field and RECORD_KEY in metadata

    def _value(self, value: object) -> Any:
        if isinstance(value, list):
            return [self._value(each) for each in value]
        return self.words(value) if isinstance(value, str) else value

    def id(self, document_id: str, metadata: Mapping[str, object] | None = None) -> str:
        """Restore a document's id."""
        unmasking = self._unmasking(metadata or {}, document_id)
        return self.words(document_id) if unmasking is None else unmasking.id(document_id)

    def inward(self, document_id: str, position: object) -> object:
        """Convert a position in the shown document to one in the masked text. Anything else stays as it is."""
        unmasking = self._unmasking({}, document_id)
        return position if unmasking is None or type(position) is not int else unmasking.text.inward(position)

    def passage(self, passage: Passage) -> Passage:
        """Restore a passage. Its positions are positions in the shown document."""
        if passage.summary is not None:
            return self._summary(passage, passage.summary)
        if passage.kind != "text" or passage.start is None or passage.end is None:
            return replace(passage, text=self.words(passage.text), metadata=self.metadata(passage.metadata))
        leaf = LeafId.of_result(passage.id)
        metadata = self.metadata(passage.metadata, None if leaf is None else leaf.ordinal)
        if RECORD_KEY in passage.metadata and not self._privacy.shows_all:
            metadata[self._privacy.entities_field] = sorted({each.word for each in pseudonyms_in(passage.text)})
        unmasking = self._unmasking(passage.metadata)
        if unmasking is None:
            return replace(passage, metadata=metadata)
        document_id = unmasking.id(passage.document_id)
        return replace(
            passage,
            id=document_id + passage.id[len(passage.document_id) :],
            document_id=document_id,
            start=unmasking.text.outward(passage.start),
            end=unmasking.text.outward(passage.end),
            text=unmasking.text.text(passage.text, passage.start),
            metadata=metadata,
            title=unmasking.title(passage.title),
            headings=tuple(map(unmasking.heading, passage.headings)),
            lines=_lines(passage, unmasking.text),
            outline=_outline(passage.outline, unmasking.text, passage.start),
        )

    def _summary(self, passage: Passage, summary: Summary) -> Passage:
        covers = tuple(map(self._covered, summary.covers))
        children = tuple(self._child(each) for each in summary.children)
        start, end = passage.start, passage.end
        unmasking = self._unmasking(passage.metadata, passage.document_id) if passage.document_id else None
        if unmasking is not None and start is not None and end is not None:
            start, end = unmasking.text.outward(start), unmasking.text.outward(end)
        document_id = self.id(passage.document_id) if passage.document_id else ""
        masked_id = passage.id
        owner = masked_id.rsplit("#", 2)[0]
        return replace(
            passage,
            id=self.id(owner) + masked_id[len(owner) :],
            document_id=document_id,
            start=start,
            end=end,
            text=self.words(passage.text),
            metadata=self.metadata(passage.metadata),
            summary=replace(summary, children=children, covers=covers),
            title=unmasking.title(passage.title) if unmasking else passage.title,
            headings=tuple(map(unmasking.heading, passage.headings)) if unmasking else passage.headings,
            outline=_outline(passage.outline, unmasking.text) if unmasking else passage.outline,
        )

    def _covered(self, run: Covered) -> Covered:
        unmasking = self._unmasking({}, run.document_id)
        if unmasking is None:
            return run._replace(document_id=self.id(run.document_id))
        start, end = unmasking.text.outward(run.start), unmasking.text.outward(run.end)
        return run._replace(document_id=unmasking.id(run.document_id), start=start, end=end)

    def _child(self, id_: str) -> str:
        owner = id_.rsplit("#", 2)[0]
        return self.id(owner) + id_[len(owner) :]

    def document(self, document: Document) -> Document:
        """Restore a document. If the view shows everything, the document is as it was added."""
        unmasking = self._unmasking(document.metadata)
        metadata = self.metadata(document.metadata)
        if unmasking is None:
            return replace(document, metadata=metadata)
        outline = _outline(document.outline, unmasking.text)
        return replace(unmasking.document(document), metadata=metadata, outline=outline)

    def info(self, info: DocumentInfo) -> DocumentInfo:
        """Restore the information on a document, which does not have its text."""
        metadata = self.metadata(info.metadata)
        unmasking = self._unmasking(info.metadata)
        if unmasking is None:
            return replace(info, metadata=metadata)
        text = unmasking.text
        return replace(
            info,
            id=unmasking.id(info.id),
            title=unmasking.title(info.title),
            metadata=metadata,
            words=info.words + text.count(lambda original: count_words(original) - 1 if original else 0, info.characters),
            characters=info.characters + text.growth,
        )


def _outline(outline: Outline | None, text: Restoring, start: int = 0) -> Outline | None:
    """The outline of a document as the view shows it, without its headings: restoring all headings takes too long."""
    if outline is None:
        return None
    begin = text.outward(start)
    ends = tuple([text.outward(start + end) - begin for end in outline.ends])
    return replace(outline, characters=outline.characters + text.growth, sections=(), ends=ends)


def _lines(passage: Passage, text: Restoring) -> tuple[int, int] | None:
    """The lines of a passage, with the lines inside the originals of its pseudonyms."""
    if passage.lines is None or passage.start is None or passage.end is None:
        return passage.lines
    blank = len(passage.text) - len(passage.text.lstrip())
    first, last = passage.lines
    return first + text.count(_line_ends, passage.start + blank), last + text.count(_line_ends, passage.end)


def _line_ends(text: str) -> int:
    return sum(1 for _ in LINE_END.finditer(text))


def everything_in(passages: Sequence[Passage]) -> tuple[list[Mapping[str, object]], list[str], list[str]]:
    """All that ``Showing.load`` needs of passages: metadata, texts without known places, documents under summaries."""
    texts: list[str] = []
    documents: list[str] = []
    for passage in passages:
        if passage.summary is not None:
            texts += [passage.text, passage.document_id, passage.id, *passage.summary.children]
            documents += [run.document_id for run in passage.summary.covers]
        elif RECORD_KEY not in passage.metadata:
            texts.append(passage.text)
    return [passage.metadata for passage in passages], texts, documents


def texts_in(value: object) -> list[str]:
    """The texts in a metadata value."""
    members = value if isinstance(value, list) else [value]
    return [each for each in members if isinstance(each, str)]

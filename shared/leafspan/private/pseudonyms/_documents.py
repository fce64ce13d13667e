"""Masks documents, and restores them from the notes on what was masked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from leafspan.documents import ForeignDocument, check_document, copy_metadata, made_id
from leafspan.errors import InvalidDocument
from leafspan.private.pseudonyms._disguise import Disguise, Note, Notes, places_of
from leafspan.private.pseudonyms._entities import PSEUDONYM, MaskedPlace, Restoring, pseudonyms_in
from leafspan.values import Chunk, Document

RECORD_KEY = "vault_record"
"""The metadata key under which a masked document has the id of its record."""


def mask_document(
    original: Document | ForeignDocument,
    disguise: Disguise,
    entities_field: str,
    *,
    flatten_metadata: bool = False,
    volatile_keys: Collection[str] = (),
) -> tuple[Document, Notes]:
    """Return the document as it will be stored, without its record's id, and the notes on what was masked.

    leafspan makes its own ids from the masked document. A hash of the clear document would let others guess entities.
    """
    clear = check_document(_without_ours(original, entities_field), flatten_metadata=flatten_metadata)
    notes = Notes()
    text = disguise.text(clear.text)
    title = None if clear.title is None else disguise.text(clear.title)
    metadata, in_metadata = disguise.metadata(clear.metadata, notes)
    _note(notes, "text", notes.remember(text.places))
    _note(notes, "title", notes.remember(title.places) if title else [])
    _note(notes, "metadata", in_metadata)
    chunks = _mask_chunks(clear, disguise, Restoring(text.places), metadata, notes)
    masked_title = None if title is None else title.text
    id_ = _mask_id(original, clear, disguise, text.text, metadata, notes, volatile_keys)
    masked = check_document(Document(id_, text.text, masked_title, metadata, chunks, hidden=clear.hidden))
    if notes.originals:
        masked = replace(masked, metadata={**masked.metadata, entities_field: sorted(notes.originals)})
    return masked, notes


def _without_ours(document: Document | ForeignDocument, entities_field: str) -> Document | ForeignDocument:
    """The document without its list of pseudonyms, which it has if it comes from a private view."""
    if not isinstance(document.metadata, Mapping):
        return document
    metadata = dict(document.metadata)
    listed = metadata.get(entities_field)
    if isinstance(listed, list | tuple) and all(isinstance(each, str) and PSEUDONYM.fullmatch(each) for each in listed):
        del metadata[entities_field]
    for key in (entities_field, RECORD_KEY):
        if key in metadata:
            remedy = "; give the view another entities_field" if key == entities_field else ""
            raise InvalidDocument(f"a document must not have the metadata key {key!r}, which a private view sets{remedy}")
    return replace(document, metadata=metadata)


def _note(notes: Notes, part: str, note: Any) -> None:
    if note:
        notes.parts[part] = note


def _mask_id(
    original: Document | ForeignDocument,
    clear: Document,
    disguise: Disguise,
    text: str,
    metadata: Mapping[str, Any],
    notes: Notes,
    volatile_keys: Collection[str],
) -> str:
    if isinstance(original, ForeignDocument) and original.id is None:
        source = None if original.source is None else disguise.name(original.source)
        id_ = made_id(text, metadata, source=source, position=original.position, volatile_keys=volatile_keys)
        mentions = (each for each in pseudonyms_in(id_) if each.word in notes.originals)
        places: Sequence[MaskedPlace] = [
            MaskedPlace(each.start, each.word, notes.originals[each.word]) for each in mentions
        ]
    else:
        id_, places = disguise.text(clear.id)
    _note(notes, "id", notes.remember(places))
    return id_


def _mask_chunks(
    clear: Document, disguise: Disguise, text: Restoring, of_document: Mapping[str, Any], notes: Notes
) -> tuple[Chunk, ...]:
    """The chunks of the masked text. A chunk that would lie within a pseudonym becomes part of the next chunk."""
    chunks: list[Chunk] = []
    noted: list[dict[str, Any]] = []
    moved, last = False, 0
    for number, chunk in enumerate(clear.chunks, start=1):
        end = text.masked_length(len(clear.text)) if number == len(clear.chunks) else text.inward(chunk.end)
        metadata, note = disguise.metadata(chunk.metadata, notes)
        moved = moved or text.outward(end) != chunk.end
        if end > last:
            chunks.append(Chunk(end, metadata))
            noted.append(note)
        last = max(last, end)
    if any(noted):
        notes.parts["chunks"] = noted
    _note(notes, "shared", sorted({key for note in noted for key in note if key in of_document}))
    if moved or len(chunks) < len(clear.chunks):
        notes.parts["cuts"] = [[chunk.end, dict(chunk.metadata)] for chunk in clear.chunks]
    return tuple(chunks)


class Unmasking:
    """Restores the parts of a masked document that a reader may see."""

    def __init__(self, notes: Mapping[str, Any], reveals: Any, *, everything: bool) -> None:
        self._notes = notes
        self._reveals = reveals
        self._everything = everything
        self.text = self._restoring(notes.get("text", ()))

    def _restoring(self, note: Note) -> Restoring:
        return Restoring(each for each in places_of(note) if self._reveals(each))

    def id(self, id_: str) -> str:
        """The document's id."""
        return self._restoring(self._notes.get("id", [])).text(id_)

    def title(self, title: str | None) -> str | None:
        """Its title."""
        return None if title is None else self._restoring(self._notes.get("title", [])).text(title)

    def heading(self, heading: str) -> str:
        """One of its headings. An original appears as the document first spells it."""
        first: dict[str, MaskedPlace] = {}
        for each in places_of(self._notes.get("text", [])):
            first.setdefault(each.pseudonym, each)
        mentions = [each for each in pseudonyms_in(heading) if each.word in first and self._reveals(first[each.word])]
        return Restoring(MaskedPlace(each.start, each.word, first[each.word].original) for each in mentions).text(heading)

    def metadata(self, metadata: Mapping[str, Any], chunk: int | None = None) -> dict[str, Any]:
        """The metadata of the document, or of a leaf that is one of its chunks, given by number.

        If both have the same key, the document's value wins.
        """
        shared = self._notes.get("shared", ())
        own = {} if chunk is None else {key: note for key, note in self._of_chunk(chunk).items() if key not in shared}
        return self._restored(metadata, {**own, **self._notes.get("metadata", {})})

    def _of_chunk(self, chunk: int) -> Mapping[str, Any]:
        chunks = self._notes.get("chunks", [])
        return chunks[chunk] if chunk < len(chunks) else {}

    def _restored(self, metadata: Mapping[str, Any], noted: Mapping[str, Any]) -> dict[str, Any]:
        restored = {}
        for key, value in copy_metadata(metadata).items():
            in_key, in_value = noted.get(key, ([], []))
            restored[self._restoring(in_key).text(key)] = self._value(value, in_value)
        return restored

    def _value(self, value: Any, notes: Sequence[Note]) -> Any:
        if isinstance(value, list) and notes:
            return [self._scalar(each, note) for each, note in zip(value, notes, strict=True)]
        return self._scalar(value, notes[0]) if notes else value

    def _scalar(self, value: Any, note: Note) -> Any:
        places = [each for each in places_of(note) if self._reveals(each)]
        if len(places) == 1 and isinstance(places[0].original, int):
            return places[0].original
        return Restoring(places).text(value) if isinstance(value, str) else value

    def document(self, masked: Document) -> Document:
        """The document."""
        if self._everything and (cuts := self._notes.get("cuts")):
            chunks = tuple(Chunk(end, metadata) for end, metadata in cuts)
        else:
            ends = [self.text.outward(chunk.end) for chunk in masked.chunks]
            chunks = tuple(
                Chunk(end, self._restored(chunk.metadata, self._of_chunk(number)))
                for number, (end, chunk) in enumerate(zip(ends, masked.chunks, strict=True))
            )
        return Document(
            self.id(masked.id),
            self.text.text(masked.text),
            self.title(masked.title),
            self.metadata(masked.metadata),
            chunks,
            hidden=masked.hidden,
        )

"""Replaces the entities in texts, values and documents by pseudonyms."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from leafspan.errors import InvalidDocument
from leafspan.private.pseudonyms._entities import Finder, Masked, MaskedPlace, find_all, pseudonyms_in

Note = list[list[Any]]
"""The places in one text, as plain values for JSON."""


@dataclass(slots=True)
class Notes:
    """The original contents of a document's masked parts."""

    parts: dict[str, Any] = field(default_factory=dict)  # the places in each part that has some, as plain values
    originals: dict[str, str] = field(default_factory=dict)  # of each pseudonym, in its first spelling

    def remember(self, places: Collection[MaskedPlace]) -> Note:
        """Remember the originals at these places."""
        for each in places:
            if each.kind:
                self.originals.setdefault(each.pseudonym, str(each.original))
        return [list(each) for each in places]


@dataclass(frozen=True, slots=True)
class Disguise:
    """Masks texts."""

    finders: tuple[Finder, ...]
    pseudonym: Callable[[str, str], str]
    clear: frozenset[str] = frozenset()

    def text(self, text: str) -> Masked:
        """Replace the entities in a text by pseudonyms. Pseudonyms that are already in the text stay."""
        kept = [(each.start, each.end) for each in pseudonyms_in(text)]
        parts: list[str] = []
        places: list[MaskedPlace] = []
        length = done = 0
        last = ""  # the character before the piece

        def put(part: str, original: str | None = None) -> None:
            nonlocal length, last
            if original is not None:
                places.append(MaskedPlace(length, part, original))
            parts.append(part)
            length += len(part)
            last = part[-1:] or last

        for entity in find_all(self.finders, text, kept):
            put(text[done : entity.start])
            if last.isalnum():
                put(" ", "")  # a pseudonym is a separate word, even if the entity was a part of a word
            original = text[entity.start : entity.end]
            put(self.pseudonym(entity.kind, entity.value or original), original)
            if text[entity.end : entity.end + 1].isalnum():
                put(" ", "")
            done = entity.end
        put(text[done:])
        return Masked("".join(parts), tuple(places))

    def name(self, text: str) -> str:
        """The masked text of an id, a file's name or a metadata key."""
        return self.text(text).text

    def value(self, value: Any) -> tuple[Any, list[tuple[MaskedPlace, ...]]]:
        """Mask a metadata value. Return it with the places in it, listed for each member of a list, or for a single value.

        If a whole number is one entity, it becomes a pseudonym, which is a text. Then all whole numbers of the same list
        become texts.
        """
        if not isinstance(value, list | tuple):
            masked, places = self._scalar(value)
            return masked, [places]
        members = [self._scalar(each) for each in value]
        if any(places for _, places in members):
            members = [
                (str(masked), (MaskedPlace(0, str(masked), masked),)) if type(masked) is int else (masked, places)
                for masked, places in members
            ]
        return [masked for masked, _ in members], [places for _, places in members]

    def _scalar(self, value: Any) -> tuple[Any, tuple[MaskedPlace, ...]]:
        if isinstance(value, str):
            return self.text(str.__str__(value))
        if type(value) is int and (places := self._number(value)):
            return places[0].pseudonym, places
        return value, ()

    def _number(self, value: int) -> tuple[MaskedPlace, ...]:
        text = str(value)
        entities = find_all(self.finders, text)
        if len(entities) != 1 or (entities[0].start, entities[0].end) != (0, len(text)):
            return ()
        return (MaskedPlace(0, self.pseudonym(entities[0].kind, entities[0].value or text), value),)

    def metadata(self, metadata: Mapping[Any, Any], notes: Notes) -> tuple[dict[Any, Any], dict[str, Any]]:
        """Mask the keys and values of metadata. Return them with the places in each value, by masked key."""
        masked: dict[Any, Any] = {}
        noted: dict[str, Any] = {}
        for key, value in metadata.items():
            if key in self.clear or not isinstance(key, str):
                masked[key] = value
                continue
            name, in_key = self.text(key)
            if name in masked:
                raise InvalidDocument(f"two metadata keys are {name!r} after masking: rename one of them")
            masked[name], in_value = self.value(value)
            if in_key or any(in_value):
                noted[name] = [notes.remember(in_key), [notes.remember(places) for places in in_value]]
        return masked, noted


def places_of(note: Sequence[Sequence[Any]]) -> tuple[MaskedPlace, ...]:
    """Restore the places from the values that ``Notes.remember`` stored."""
    return tuple(MaskedPlace(*each) for each in note)

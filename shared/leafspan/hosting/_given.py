"""Which of the results that a host was given one of its own results is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

_PLACE = ("doc_id", "start", "end")


@dataclass(frozen=True, slots=True)
class Given:
    """A Document or node of a host.

    Attributes:
        thing: The object.
        id: Its id, None if it has none.
        text: Its text.
        metadata: Its metadata.
    """

    thing: object
    id: str | None
    text: str
    metadata: Mapping[str, object]


def place_among(given: Sequence[Given], returned: Given) -> int | None:
    """The place in ``given``, from 0, of what was returned, which may be a copy with more metadata or another text.

    It is the same object, or else has the same id, place in a document, text or metadata. None if it is none of them.
    """
    same: list[Callable[[Given], bool]] = [
        lambda each: each.thing is returned.thing,
        lambda each: each.id is not None and each.id == returned.id,
        lambda each: (place := _place(each)) is not None and place == _place(returned),
        lambda each: each.text == returned.text,
        lambda each: bool(each.metadata) and each.metadata == returned.metadata,
    ]
    return next((place for is_same in same for place, each in enumerate(given) if is_same(each)), None)


def _place(given: Given) -> tuple[object, ...] | None:
    """Its place in a document of an index, None if it has none."""
    if not all(key in given.metadata for key in _PLACE):
        return None
    return tuple(given.metadata[key] for key in _PLACE)

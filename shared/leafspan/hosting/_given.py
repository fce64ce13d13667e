"""Recognises the results of a host's reranker among the results that it got."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.strategies import Reranked

_PLACE = ("doc_id", "start", "end")


@dataclass(frozen=True, slots=True)
class Given:
    """A Document or node of a host."""

    thing: object
    id: str | None
    text: str
    metadata: Mapping[str, object]


def place_among(given: Sequence[Given], returned: Given) -> int | None:
    """The place in ``given``, from 0, of a returned thing, which may be a copy with more metadata or another text.

    It is the same object, or has the same id, place in a document, text or metadata. None if ``given`` does not have it.
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
    """Its place in a document of an index, or None without one."""
    if not all(key in given.metadata for key in _PLACE):
        return None
    return tuple(given.metadata[key] for key in _PLACE)


def recognised(
    name: str, things: str, given: Sequence[Given], returned: Iterable[tuple[Given, float | None]]
) -> list[Reranked]:
    """The results of a host's reranker called ``name``, with its scores, as places among the given ``things``."""
    results = []
    for each, score in returned:
        place = place_among(given, each)
        if place is None:
            raise InvalidArgument(f"{name} must return {things} that it was given, got the text {shown(each.text)}")
        note = "" if each.text == given[place].text else "the text that it changed stays as it is"
        results.append(Reranked(place, score, note))
    return results

"""Limits that keep any document's contents from flooding a model's context."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from leafspan.text import end_of_words

LONGEST_ID = 500
"""Most characters of an id that is shown whole. A document with a longer id cannot be cited."""

MOST_ITEMS = 20
"""Most headings of a passage, and most values of a metadata list, that are shown."""

CHARACTERS_A_WORD = 16
"""Most characters of a word on average. A text without white space would otherwise be one word."""

LONGEST_FILTER = 5_000
"""Most characters of a filter that a model can give."""

_LONGEST_NAME = 200  # characters of a title, a heading or a metadata value
_METADATA = 1_500  # characters of the metadata of a document
_FAR = 60  # most characters that a cut moves to keep a word whole


def end_within(text: str, words: int, start: int = 0) -> int:
    """The end of the longest text from ``start`` that fits into a number of words, of 16 characters each on average.

    The text ends at its own end, or between two words. Only a word that is too long alone is cut.
    """
    end = end_of_words(text, words, start)
    longest = start + words * CHARACTERS_A_WORD
    if end <= longest:
        return end
    between = word_start(text, longest)
    return between if between > start else longest


def word_start(text: str, place: int) -> int:
    """The start of the word around a place; the place itself outside words or over 60 characters behind the start."""
    if place >= len(text) or text[place].isspace():
        return place
    start = place
    while start > 0 and not text[start - 1].isspace():
        start -= 1
        if place - start > _FAR:
            return place
    return start


def as_many_as_fit(items: Iterable[dict[str, Any]], characters: int) -> list[dict[str, Any]]:
    """The first items whose JSON fits into this number of characters, but at least one."""
    taken: list[dict[str, Any]] = []
    for each in items:
        characters -= len(json.dumps(each, ensure_ascii=False))
        if taken and characters < 0:
            break
        taken.append(each)
    return taken


def shortened(text: str, characters: int = _LONGEST_NAME) -> str:
    """The text, or its start with an ellipsis if it has more characters."""
    return text if len(text) <= characters else f"{text[: characters - 1]}…"


def short_metadata(metadata: Mapping[str, object], hidden: Collection[str] = ()) -> dict[str, Any]:
    """The first keys of a document's metadata that fit into 1,500 characters, with long values shortened."""
    short: dict[str, Any] = {}
    left = _METADATA
    for key, value in metadata.items():
        if key in hidden:
            continue
        name, shown = shortened(key), short_value(value)
        left -= len(json.dumps({name: shown}, ensure_ascii=False))
        if left < 0:
            break
        short[name] = shown
    return short


def short_value(value: object) -> Any:
    """A metadata value with long texts and lists shortened."""
    if isinstance(value, str):
        return shortened(value)
    if isinstance(value, list | tuple):
        return [short_value(each) for each in value[:MOST_ITEMS]]
    return value

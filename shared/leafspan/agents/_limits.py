"""What keeps a result from flooding the context of a model, whatever documents have in them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from leafspan.text import end_of_words

LONGEST_ID = 500
"""Characters of the longest id that is shown whole. A document with a longer one cannot be cited."""

MOST_ITEMS = 20
"""Headings of a passage, and values of a list of metadata, that are shown."""

CHARACTERS_A_WORD = 16
"""Most characters of a word on average. A text without white space would otherwise be one word."""

LONGEST_FILTER = 5_000
"""Characters of the longest filter that a model can give."""

_LONGEST_NAME = 200  # characters of a title, a heading or a metadata value
_METADATA = 1_500  # characters of the metadata of a document
_FAR = 60  # characters that a cut may move to spare a word


def end_within(text: str, words: int, start: int = 0) -> int:
    """The character up to which a text fits into a number of words, of 16 characters each on average.

    It is the end of the text, or a cut between two words. Only a word that is too long by itself is cut.
    """
    end = end_of_words(text, words, start)
    longest = start + words * CHARACTERS_A_WORD
    if end <= longest:
        return end
    between = word_start(text, longest)
    return between if between > start else longest


def word_start(text: str, place: int) -> int:
    """The begin of the word that a place is in; the place itself if it is in none, or more than 60 characters behind."""
    if place >= len(text) or text[place].isspace():
        return place
    start = place
    while start > 0 and not text[start - 1].isspace():
        start -= 1
        if place - start > _FAR:
            return place
    return start


def as_many_as_fit(items: Iterable[dict[str, Any]], characters: int) -> list[dict[str, Any]]:
    """The first items, as long as they fit into so many characters of JSON; the first one always."""
    taken: list[dict[str, Any]] = []
    for each in items:
        characters -= len(json.dumps(each, ensure_ascii=False))
        if taken and characters < 0:
            break
        taken.append(each)
    return taken


def shortened(text: str, characters: int = _LONGEST_NAME) -> str:
    """The text, or its begin with an ellipsis if it has more characters."""
    return text if len(text) <= characters else f"{text[: characters - 1]}…"


def short_metadata(metadata: Mapping[str, object], hidden: Collection[str] = ()) -> dict[str, Any]:
    """The first keys of a document's metadata that fit into 1,500 characters, with long values shortened."""
    short: dict[str, Any] = {}
    left = _METADATA
    for key, value in metadata.items():
        if key in hidden:
            continue
        name, shown = shortened(key), _short_value(value)
        left -= len(json.dumps({name: shown}, ensure_ascii=False))
        if left < 0:
            break
        short[name] = shown
    return short


def _short_value(value: object) -> Any:
    if isinstance(value, str):
        return shortened(value)
    if isinstance(value, list | tuple):
        return [_short_value(each) for each in value[:MOST_ITEMS]]
    return value

"""What a model sees of a text: a citation that it can repeat, and limits, so that no document floods its context."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from leafspan.indexing import MOST_DIGITS, Citation, DocumentInfo
from leafspan.spans import grown_within
from leafspan.text import count_words, end_of_words
from leafspan.values import Covered, Passage

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


LONGEST_ID = 500  # most characters of an id that is shown whole; a document with a longer id cannot be cited
MOST_ITEMS = 20  # most headings of a passage, and most values of a metadata list, that are shown
CHARACTERS_A_WORD = 16  # most characters of a word on average; a text without white space would otherwise be one word
LONGEST_FILTER = 5_000  # most characters of a filter that a model can give
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


LONGEST_CITATION = LONGEST_ID + 2 * MOST_DIGITS + len(":-")  # characters of the longest citation

_LABEL = r"(?:(?:sources?|src|docs?|documents?|quellen?|fuentes?|fontes?|fonti|bron(?:nen)?|来源|來源|出典)\s*+)?[#№]?\s*+"
_NUMBERS = rf"{_LABEL}\d{{1,6}}(?:\s*+[-\u2010-\u2015~〜]\s*+{_LABEL}\d{{1,6}})?"
_CITED = re.compile(rf"[\[【]\s*+({_NUMBERS}(?:\s*+(?:[,;，、&]|and|und|et|y|e)\s*+{_NUMBERS})*)\s*+[\]】]", re.IGNORECASE)
_RANGE = re.compile(r"(\d+)(?:\s*[-\u2010-\u2015~〜]\D*(\d+))?")


def cited_numbers(answer: str, count: int) -> list[int]:
    """The numbers in [1, count] that the answer cites, each once, in the order of the answer.

    It reads [1], [2, 3], [1-3] and [Source 1], outside code.
    """
    cited: dict[int, None] = {}
    for numbers in _CITED.findall(_without_code(answer)) if "[" in answer or "【" in answer else ():
        for first, last in _RANGE.findall(numbers):
            if 1 <= int(first) <= count:
                cited.update(dict.fromkeys(range(int(first), min(int(last or first), count) + 1)))
    return list(cited)


def _without_code(answer: str) -> str:
    """The lines of an answer in Markdown, without code in them and between them."""
    lines = (token.children or () for token in _markdown().parse(answer) if token.type == "inline")
    return "\n\n".join(
        "".join(" " if each.type == "code_inline" else each.content or "\n" for each in line) for line in lines
    )


@lru_cache(maxsize=1)
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").disable(["reference", "link", "image", "html_block", "html_inline", "autolink"])


_MOST_COVERED = 10

PLACE: dict[str, Any] = {"citation": str, "document_id": str, "start": int, "end": int}
ABOUT: dict[str, Any] = {"title": str, "headings": [str], "lines": [int], "place": str}
_OTHERS = {"kind": str, "id": str, "covers": [str], "metadata": dict, "score": float, "text": str, "cut": bool}
PASSAGE = PLACE | ABOUT | _OTHERS  # the types of passage_fields


def place_fields(document_id: str, start: int, end: int) -> dict[str, Any]:
    """A text's place, with a citation unless the text is empty or the id is too long (a long id is shortened)."""
    place = {"document_id": shortened(document_id, LONGEST_ID), "start": start, "end": end}
    if len(document_id) > LONGEST_ID or start == end:
        return place
    return {"citation": str(Citation(document_id, start, end)), **place}


def title_of(described: Passage | DocumentInfo) -> str | None:
    """A document's title, or None if it is hidden from models."""
    return None if "title" in described.hidden else described.title


def about_fields(
    title: str | None, headings: Sequence[str], lines: tuple[int, int] | None, place: str | None = None
) -> dict[str, Any]:
    """A text's known fields beside its place."""
    short = [shortened(each) for each in headings[:MOST_ITEMS]]
    return non_empty({"title": shortened(title or ""), "headings": short, "lines": list(lines or ()), "place": place})


def non_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value}


def passage_fields(passage: Passage, text: str) -> dict[str, Any]:
    """A passage with its citation."""
    fields: dict[str, Any] = {}
    if passage.summary is not None:
        fields |= {"kind": "summary", "covers": covered(passage.summary.covers)}
    elif passage.start is None:
        fields |= {"kind": passage.kind, "id": shortened(passage.id, LONGEST_ID)}
    else:
        fields |= place_fields(passage.document_id, passage.start, passage.start + len(text))
    whole = len(text) == len(passage.text)
    fields |= about_fields(title_of(passage), passage.headings, passage.lines if whole else None, passage.place)
    fields |= non_empty({"metadata": short_metadata(passage.metadata, passage.hidden)})
    return fields | {"score": round(passage.score, 4), "text": text} | non_empty({"cut": not whole})


def covered(runs: Sequence[Covered]) -> list[str]:
    """The citations of the leaves that a summary covers, ten at most."""
    shown = [run for run in runs if len(run.document_id) <= LONGEST_ID][:_MOST_COVERED]
    return [str(Citation(run.document_id, run.start, run.end)) for run in shown]


def range_to_read(
    leaves: Sequence[Passage], text: str, start: int, end: int, budget: int, *, around: bool
) -> tuple[int, int]:
    """A range from the start of a word to the end of a leaf, or of a word if no leaf ends within the budget."""
    stop, bounds = min(end, len(text)), bounds_of(leaves)
    if around:
        inside = [ordinal for ordinal, (first, end) in enumerate(pairwise(bounds)) if first < stop and end > start]
        words = {ordinal: count_words(leaf.text) for ordinal, leaf in enumerate(leaves)}
        first, last = grown_within(inside[0], inside[-1], 0, len(leaves) - 1, words, budget)
        outer = bounds[first], bounds[last + 1]
        if end_within(text, budget, outer[0]) >= outer[1]:
            return outer
        # The passage itself is longer than the budget, or has few and very long words: only its start fits.
    begin = word_start(text, start)
    longest = end_within(text, budget, begin)
    if longest >= stop:
        return begin, _word_end(text, stop, longest)
    ends = [each for each in bounds[1:] if begin < each <= longest]
    return begin, ends[-1] if ends else longest


def _word_end(text: str, place: int, longest: int) -> int:
    """The end of the word around a place, at most ``longest``."""
    while place < longest and not text[place].isspace() and not text[place - 1].isspace():
        place += 1
    return place


def bounds_of(leaves: Sequence[Passage]) -> list[int]:
    """The characters of a document between which its leaves are."""
    return [0, *accumulate(len(leaf.text) for leaf in leaves)]

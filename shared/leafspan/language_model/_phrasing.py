"""Other phrasings of a question: the prompt for a language model, and the phrasings in its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from leafspan.language_model._prompts import check_template

DEFAULT_PROMPT = """\
Write {count} other phrasings of the question below. They are used to search documents that may answer it in other words.
Keep its meaning, its language, its names and its numbers; vary the rest. Write each on a line of its own, and nothing else.

Question: {question}
"""

# Matches "1.", "2)", "(3)", "-", "*" or a bullet, but not the start of "1.5 million", "1984." or "-40 degrees".
_MARK = re.compile(r"(?:\(?\d{1,2}[.)](?!\d)|[-–*•](?![\d*]))\s*")
_FENCE = re.compile(r"(```|~~~)[ \t]*\w*[ \t]*\r?\n(.*?)(?:\1|\Z)", re.DOTALL)
_EDGE_OF_FENCE = re.compile(r"(?:```|~~~)[ \t]*\w*")
_QUOTES = [('"', '"'), ("'", "'"), ("“", "”"), ("„", "“"), ("‘", "’"), ("«", "»"), ("`", "`"), ("**", "**")]


def check_prompt(prompt: object, *, needs_count: bool = True) -> None:
    """Check that a prompt is a template with ``{question}`` and ``{count}``."""
    check_template(prompt, {"question": "a question", "count": 1}, optional=() if needs_count else ("count",))


def fill_prompt(prompt: str, question: str, count: int) -> str:
    """The prompt for one question."""
    return prompt.format(question=question, count=count)


def read_phrasings(answer: str, *, known: Iterable[str], count: int) -> list[str]:
    """The phrasings in an answer: one in each line, without numbering and quotes, or the texts of a JSON list.

    Lines without a letter or digit are left out. So are lines that end with a colon or start a fence, which only introduce
    other lines, and repetitions in any case. A JSON list may be inside a fence, or be the only list in an object.
    """
    seen = {_key(text) for text in known}
    phrasings: list[str] = []
    # An embedder rejects text that is not valid Unicode.
    valid = answer.encode(errors="ignore").decode()
    fenced = _FENCE.search(valid)
    listed = _in_json(fenced[2] if fenced else valid)
    for line in _lines(valid) if listed is None else listed:
        if len(phrasings) == count:
            break
        text = _without_marks(line)
        if any(map(str.isalnum, text)) and not text.endswith(":") and _key(text) not in seen:
            seen.add(_key(text))
            phrasings.append(text)
    return phrasings


def _lines(answer: str) -> list[str]:
    """The lines of an answer without the lines that start or end a fence."""
    return [line for line in answer.splitlines() if not _EDGE_OF_FENCE.fullmatch(line.strip())]


def _in_json(text: str) -> list[str] | None:
    """The texts of a JSON list, or of the only list in a JSON object; None if the text is neither."""
    if not text.lstrip().startswith(("[", "{")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    lists = [each for each in (value.values() if isinstance(value, dict) else [value]) if isinstance(each, list)]
    if len(lists) != 1 or not all(isinstance(each, str) for each in lists[0]):
        return None
    return [" ".join(each.encode(errors="ignore").decode().split()) for each in lists[0]]


def _without_marks(line: str) -> str:
    """A line without the number, bullet or quotes around its text."""
    text = line.strip()
    if mark := _MARK.match(text):
        text = text[mark.end() :]
    for before, after in _QUOTES:
        if len(text) >= len(before + after) and text.startswith(before) and text.endswith(after):
            text = text[len(before) : -len(after)].strip()
    return text


def _key(text: str) -> str:
    """A text with its case and white space normalised, for comparison."""
    return " ".join(text.casefold().split())

"""Other phrasings of a question: the prompt for a language model, and the phrasings in its answer."""

from __future__ import annotations

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
_QUOTES = [('"', '"'), ("'", "'"), ("“", "”"), ("„", "“"), ("‘", "’"), ("«", "»"), ("`", "`"), ("**", "**")]


def check_prompt(prompt: object, *, needs_count: bool = True) -> None:
    """Check that a prompt is a template with ``{question}`` and ``{count}``.

    Args:
        prompt: The prompt.
        needs_count: Whether ``{count}`` may not be missing. Default: True.

    Raises:
        InvalidArgument: if it is not. Other braces in it must be doubled.
    """
    check_template(prompt, {"question": "a question", "count": 1}, optional=() if needs_count else ("count",))


def fill_prompt(prompt: str, question: str, count: int) -> str:
    """The prompt for one question.

    Args:
        prompt: A template that ``check_prompt`` accepts.
        question: The question.
        count: Number of phrasings to ask for, >= 1.
    """
    return prompt.format(question=question, count=count)


def read_phrasings(answer: str, *, known: Iterable[str], count: int) -> list[str]:
    """The phrasings in an answer that has one in each line, without numbering and quotes.

    Lines without a letter or digit are left out. So are lines that end with a colon, since they only introduce others, and
    repetitions, whatever their case.

    Args:
        answer: Answer of the language model.
        known: Phrasings to leave out.
        count: Most phrasings, >= 0.
    """
    seen = {_key(text) for text in known}
    phrasings = []
    # Text that is not valid Unicode cannot be embedded.
    for line in answer.encode(errors="ignore").decode().splitlines():
        text = _without_marks(line)
        if any(map(str.isalnum, text)) and not text.endswith(":") and _key(text) not in seen:
            seen.add(_key(text))
            phrasings.append(text)
    return phrasings[:count]


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

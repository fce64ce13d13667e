"""Recognises files that leafspan itself has written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from leafspan.checks import GENERATOR
from leafspan.files._opening import MOST_BYTES, Unreadable, open_file

_HEAD = 4_096  # bytes; a page names its generator among its first elements
_GENERATOR = re.compile(
    rb"""\s*<!doctype\ html>\s*(?:<!--.*?-->\s*)?<html[^>]*>\s*<head>\s*  # browsers add the comment when they save a page
    (?:<meta[^>]*>\s*)*?<meta\ name="generator"\ content="%b">"""
    % GENERATOR.encode(),
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_QUESTION = frozenset({"id", "text", "answers", "answer_mode", "relevant"})
_PLACE = frozenset({"doc_id", "start", "end"})


def is_report(path: Path) -> bool:
    """Whether a file is a page that ``leafspan report`` has written."""
    with open_file(path) as file:
        return _GENERATOR.match(file.read(_HEAD)) is not None


def is_of_questions(path: Path) -> bool:
    """Whether a file in JSON Lines has questions for ``leafspan eval``.

    It has if all lines have only keys of questions, up to a question whose answer is a place in a document, as all
    generated questions have. Questions with only texts as answers look like documents.
    """
    with open_file(path) as file:
        while line := file.readline(MOST_BYTES + 1):
            if not line.strip():
                continue
            try:
                fields = json.loads(line)
            except (ValueError, RecursionError):
                return False
            if not isinstance(fields, dict) or not isinstance(fields.get("text"), str) or not fields.keys() <= _QUESTION:
                return False
            if _has_place(fields.get("answers")):
                return True
    return False


def _has_place(answers: Any) -> bool:
    return isinstance(answers, list) and any(isinstance(each, dict) and each.keys() >= _PLACE for each in answers)


_KINDS: dict[str, tuple[Callable[[Path], bool], str]] = {
    ".html": (is_report, "it is a report that leafspan has written"),
    ".htm": (is_report, "it is a report that leafspan has written"),
    ".jsonl": (is_of_questions, "it has questions for `leafspan eval`"),
}


def what_leafspan_wrote(path: Path) -> str | None:
    """Describe briefly what leafspan wrote, or return None for a user's or an unreadable file."""
    recognises, what = _KINDS.get(path.suffix.lower(), (None, ""))
    try:
        return what if recognises is not None and recognises(path) else None
    except (Unreadable, OSError):
        return None  # reading it as a document reports the error

"""Reads questions from a file or from objects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from leafspan.checks import check_path, reason_of, shown
from leafspan.errors import InvalidArgument
from leafspan.lab.evaluation._questions import Answer, Question

_KEYS = ("id", "text", "answers", "answer_mode", "relevant")
_MEANT = {  # the keys of other tools, and leafspan's keys for the same
    "question": "text",
    "query": "text",
    "answer": "answers",
    "expected": "answers",
    "mode": "answer_mode",
    "qrels": "relevant",
    "documents": "relevant",
}
_ALIKE = 0.8
"""Least likeness, in [0, 1], that makes a key a mistyped one: ``anwsers``, but not ``title``."""


def read_questions(source: str | Path | Iterable[Question | Mapping[str, Any]]) -> list[Question]:
    """Read questions from a JSON Lines file, or from objects.

    Args:
        source: The path of a file with a JSON object on each line; or a list of such objects, or of ``Question``s. An
            object has ``text``, and ``answers``, ``relevant`` or both. ``answers`` is a list of texts, or of objects with
            ``doc_id``, ``start``, ``end`` and ``text``. ``relevant`` is a list of ids of documents, one id, or an object
            with their grades. An empty list of answers means that the documents have no answer. ``id`` is optional, and so
            is ``answer_mode``: ``"any"`` or ``"all"``. Your own keys are allowed, unless they look like a mistyped key.

    Raises:
        InvalidArgument: if an object is not a question, or two questions have the same id. The message says which.
    """
    return list(placed_questions(source).values())


def placed_questions(source: str | Path | Iterable[Question | Mapping[str, Any]]) -> dict[str, Question]:
    """Read questions like ``read_questions``, by their places, such as ``"questions.jsonl, line 3"``."""
    return _read_each(_placed(source), source)


def questions_in_lines(lines: Iterable[str], name: str) -> list[Question]:
    """Read questions from lines of JSON, as a file of questions has them.

    Raises:
        InvalidArgument: if a line is not a question, or two questions have the same id. The message says which.
    """
    return list(_read_each(_parsed_lines(lines, name), name).values())


def _read_each(things: Iterable[tuple[str, object]], source: object) -> dict[str, Question]:
    """Read a question from each object, by its place."""
    placed: dict[str, Question] = {}
    seen: dict[str, str] = {}
    for place, each in things:
        try:
            question = each if isinstance(each, Question) else _question(each)
        except InvalidArgument as error:
            raise InvalidArgument(f"{place}: {error}") from error
        if question.id in seen:
            raise InvalidArgument(
                f"{place}: each question must have a different id, got {shown(question.id)} as {seen[question.id]}"
            )
        seen[question.id] = place
        placed[place] = question
    if not placed:
        raise InvalidArgument(
            f"there must be a question, got no question in {shown(str(source) if isinstance(source, Path) else source)}"
        )
    return placed


def _placed(source: object) -> list[tuple[str, object]]:
    """The objects to read questions from, with their places."""
    if isinstance(source, str | Path):
        check_path("questions", source)
        try:
            lines = Path(source).read_text(encoding="utf-8-sig").split("\n")
        except (OSError, UnicodeError) as error:
            raise InvalidArgument(
                f"questions must be a file in UTF-8, got {shown(str(source))}: {reason_of(error)}"
            ) from error
        return _parsed_lines(lines, str(source))
    if isinstance(source, Mapping) or not isinstance(source, Iterable):
        raise InvalidArgument(f"questions must be the path of a file, or a list of questions, got {shown(source)}")
    return [(f"question {number}", each) for number, each in enumerate(source, 1)]


def _parsed_lines(lines: Iterable[str], name: str) -> list[tuple[str, object]]:
    return [(f"{name}, line {number}", _parsed(line)) for number, line in enumerate(lines, 1) if line.strip()]


def _parsed(line: str) -> object:
    """The object of a line, or the error if the line is not JSON."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        return error


def _question(plain: object) -> Question:
    if not isinstance(plain, Mapping):
        got = reason_of(plain) if isinstance(plain, Exception) else f"got {shown(plain)}"
        raise InvalidArgument(f'a question must be a JSON object such as {{"text": ..., "answers": [...]}}, {got}')
    _check_keys(plain)
    if "text" not in plain:
        raise InvalidArgument(
            f"a question must have text, and also answers or relevant, got keys {shown(sorted(map(str, plain)))}"
        )
    mode: Literal["any", "all"] = plain.get("answer_mode", "any")
    if mode not in ("any", "all"):
        raise InvalidArgument(f"answer_mode must be 'any' or 'all', got {shown(mode)}")
    answers, relevant = plain.get("answers"), plain.get("relevant") or ()
    if isinstance(answers, str | Mapping):
        answers = [answers]
    if not isinstance(answers, Sequence | None):
        raise InvalidArgument(f"answers must be a list, got {shown(answers)}")
    id_ = plain.get("id", "")
    question = Question(
        plain.get("text", ""), [_answer(each) for each in answers or ()], relevant, mode == "all", str(id_) if id_ else ""
    )
    if question.has_no_answer and answers is None:
        raise InvalidArgument(
            f"a question must have answers or relevant documents, got neither for {shown(question.text)}; an empty list of "
            "answers means that nothing answers it"
        )
    return question


def _check_keys(plain: Mapping[Any, Any]) -> None:
    """Check that no unknown key looks like a missing key of leafspan's."""
    missing = [key for key in _KEYS if key not in plain and key != "id"]  # a question has its text as its id
    for key in map(str, plain):
        close = [_MEANT[key]] if key in _MEANT else get_close_matches(key, _KEYS, n=1, cutoff=_ALIKE)
        if key not in _KEYS and close and close[0] in missing:
            raise InvalidArgument(
                f"the keys of a question must be {', '.join(_KEYS)}, got {shown(key)}; did you mean {close[0]!r}?"
            )


def _answer(plain: object) -> Answer | str:
    if isinstance(plain, str):
        return plain
    if isinstance(plain, Mapping):
        document_id, start, end, text = (plain.get(key) for key in ("doc_id", "start", "end", "text"))
        if isinstance(document_id, str) and isinstance(start, int) and isinstance(end, int) and 0 <= start < end:
            return Answer(document_id, start, end, text if isinstance(text, str) else "")
    raise InvalidArgument(
        f"an answer must be a text, or have doc_id, start and end with 0 <= start < end, got {shown(plain)}"
    )

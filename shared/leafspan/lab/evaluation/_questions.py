"""Questions and their answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from leafspan.checks import check_path, is_number, reason_of, shown, write_file
from leafspan.errors import InvalidArgument
from leafspan.text import first_words
from leafspan.values import short_id


@dataclass(frozen=True, slots=True)
class Answer:
    """A piece of a document that answers a question.

    Attributes:
        document_id: Id of the document.
        start: Its first character.
        end: The character after its last one.
        text: The piece's text. If the document has changed, leafspan finds the piece by this text. Default: empty, leafspan
            uses only the position.
    """

    document_id: str
    start: int
    end: int
    text: str = ""

    def __repr__(self) -> str:
        text = f", {first_words(self.text)}" if self.text else ""
        return f"Answer({short_id(self.document_id)}, {self.start:,} to {self.end:,}{text})"


@dataclass(frozen=True, slots=True, init=False)
class Question:
    """A question for ``evaluate``, with its answers, with documents that are relevant to it, or with both.

    If it has no answers and no relevant documents, the index does not answer it: then a strategy is right if it finds
    nothing.

    Args:
        text: The question.
        answers: Pieces of documents (``Answer``), or texts that occur in one of the documents, such as ``"in 1927"``.
        relevant: Relevant documents: a mapping from ids to grades, > 0. A list of ids, or one id, means grade 1 for each.
        needs_all: Whether all answers are needed. Default: False, one is enough.
        id: Its name in reports. Default: its text.

    Raises:
        InvalidArgument: if the text or an answer is blank, or a grade is not > 0.
    """

    text: str
    answers: Sequence[Answer | str]
    relevant: Mapping[str, float]
    needs_all: bool
    id: str

    def __repr__(self) -> str:
        counts = ((len(self.answers), "answers"), (len(self.relevant), "relevant"))
        parts = [f"{count} {what}" for count, what in counts if count]
        return f"Question({', '.join([first_words(self.text), *parts])})"

    def __init__(
        self,
        text: str,
        answers: Sequence[Answer | str] = (),
        relevant: Mapping[str, float] | Sequence[str] | str = (),
        needs_all: bool = False,
        id: str = "",
    ) -> None:
        if not isinstance(text, str) or not text.strip():
            raise InvalidArgument(f"a question must be a text that is not blank, got {shown(text)}")
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "answers", _checked_answers(answers, text))
        object.__setattr__(self, "relevant", _grades(relevant))
        object.__setattr__(self, "needs_all", needs_all)
        object.__setattr__(self, "id", id or text)

    @property
    def has_no_answer(self) -> bool:
        """Whether nothing answers the question, so that nothing should be found."""
        return not self.answers and not self.relevant


def _checked_answers(answers: object, question: str) -> tuple[Answer | str, ...]:
    """Return the answers to a question."""
    listed = tuple(answers) if isinstance(answers, Iterable) and not isinstance(answers, str | Mapping) else (None,)
    if not all(isinstance(each, str | Answer) for each in listed):
        raise InvalidArgument(f"answers must be a list of Answers or texts, got {shown(answers)}")
    for each in listed:
        if isinstance(each, str) and not each.strip():
            raise InvalidArgument(f"an answer must not be blank, got {shown(each)} for {shown(question)}")
    return listed


def _grades(relevant: object) -> dict[str, float]:
    """Return the grades of relevant documents by the documents' ids."""
    if isinstance(relevant, str):
        relevant = [relevant]
    grades = relevant
    if isinstance(relevant, Iterable) and not isinstance(relevant, Mapping):
        ids = list(relevant)
        grades = dict.fromkeys(ids, 1.0) if all(isinstance(each, str) for each in ids) else None
    if not isinstance(grades, Mapping):
        raise InvalidArgument(f"relevant must be a list of ids, one id, or grades by id, got {shown(relevant)}")
    if not all(isinstance(id_, str) and is_number(grade) and grade > 0 for id_, grade in grades.items()):
        raise InvalidArgument(f"relevant must have a grade > 0 for each document, got {shown(dict(grades))}")
    return dict(grades)


def save_questions(path: str | Path, questions: Iterable[Question]) -> None:
    """Write questions to a JSON Lines file, which ``read_questions`` reads. An existing file is replaced.

    Raises:
        InvalidArgument: if the file cannot be written.
    """
    text = "".join(json.dumps(plain_question(each), ensure_ascii=False) + "\n" for each in questions)
    write_file(path, text)


def plain_question(question: Question) -> dict[str, Any]:
    """Return a question as a JSON object that ``read_questions`` reads."""
    answers = [each if isinstance(each, str) else _plain_place(each) for each in question.answers]
    plain = {
        "id": question.id if question.id != question.text else None,
        "text": question.text,
        "answers": answers,
        "answer_mode": "all" if question.needs_all else None,
        "relevant": dict(question.relevant),
    }
    kept = {key: value for key, value in plain.items() if value}
    return {**kept, "answers": []} if question.has_no_answer else kept


def _plain_place(answer: Answer) -> dict[str, Any]:
    place: dict[str, Any] = {"doc_id": answer.document_id, "start": answer.start, "end": answer.end}
    return {**place, "text": answer.text} if answer.text else place


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
    """Read questions from lines of JSON, as a file of questions has them."""
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

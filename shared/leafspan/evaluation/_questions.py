"""Questions with what answers them, from objects or from a file."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from leafspan.checks import is_number, shown
from leafspan.errors import InvalidArgument

_KEYS = ("id", "text", "answers", "answer_mode", "relevant")


@dataclass(frozen=True, slots=True)
class Answer:
    """A piece of a document that answers a question.

    Attributes:
        document_id: Id of the document.
        start: Its first character.
        end: The character behind its last one.
    """

    document_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Question:
    """A question, with pieces of text that answer it, with documents that are relevant to it, or with both.

    Args:
        text: The question.
        answers: What answers it: ``Answer``s, or texts that stand in one of the documents, such as ``"in 1927"``.
        relevant: Grades of the documents that are relevant to it, > 0, by id.
        needs_all: Whether all answers are needed. Default: False, one is enough.
        id: Its name in reports. Default: its text.

    Raises:
        InvalidArgument: if the text is blank, or there is nothing that answers it.
    """

    text: str
    answers: Sequence[Answer | str] = ()
    relevant: Mapping[str, float] = field(default_factory=dict)
    needs_all: bool = False
    id: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not self.text.strip():
            raise InvalidArgument(f"a question must be a text that is not blank, got {shown(self.text)}")
        if isinstance(self.answers, str | Answer) or not all(isinstance(each, str | Answer) for each in self.answers):
            raise InvalidArgument(f"answers must be a list of Answers or texts, got {shown(self.answers)}")
        for each in self.answers:
            if isinstance(each, str) and not each.strip():
                raise InvalidArgument(f"an answer must not be blank, got {shown(each)} for {shown(self.text)}")
        if not all(isinstance(id_, str) and is_number(grade) and grade > 0 for id_, grade in self.relevant.items()):
            raise InvalidArgument(f"relevant must have a grade > 0 for each document, got {shown(dict(self.relevant))}")
        if not self.answers and not self.relevant:
            raise InvalidArgument(f"a question must have answers or relevant documents, got neither for {shown(self.text)}")
        object.__setattr__(self, "answers", tuple(self.answers))
        object.__setattr__(self, "relevant", dict(self.relevant))
        object.__setattr__(self, "id", self.id or self.text)


def save_questions(path: str | Path, questions: Iterable[Question]) -> None:
    """Write questions to a file in JSON Lines, which ``read_questions`` reads. A file that is there is replaced."""
    text = "".join(json.dumps(plain_question(each), ensure_ascii=False) + "\n" for each in questions)
    Path(path).write_text(text, encoding="utf-8")


def plain_question(question: Question) -> dict[str, Any]:
    """A question as an object of JSON, such as ``read_questions`` reads."""
    answers = [
        each if isinstance(each, str) else {"doc_id": each.document_id, "start": each.start, "end": each.end}
        for each in question.answers
    ]
    plain = {
        "id": question.id if question.id != question.text else None,
        "text": question.text,
        "answers": answers,
        "answer_mode": "all" if question.needs_all else None,
        "relevant": dict(question.relevant),
    }
    return {key: value for key, value in plain.items() if value}


def read_questions(source: Path | Iterable[Question | Mapping[str, Any]]) -> list[Question]:
    """Questions from a file in JSON Lines, or from objects.

    Args:
        source: The ``pathlib.Path`` of a file with a JSON object on each line; or such objects, or ``Question``s. An object
            has ``text``, and ``answers``: a list of texts, or of objects with ``doc_id``, ``start`` and ``end``; or
            ``relevant``: a list of ids of documents, or an object with their grades; or both. It may have ``id``, and
            ``answer_mode``: ``"any"`` or ``"all"``.

    Raises:
        InvalidArgument: if one is none, or two have the same id; the message says which.
    """
    if isinstance(source, Path):
        try:
            lines = source.read_text(encoding="utf-8-sig").split("\n")
        except (OSError, UnicodeError) as error:
            raise InvalidArgument(f"questions must be a file in UTF-8, got {shown(str(source))}: {error}") from error
        placed = [(f"{source}, line {number}", _parsed(line)) for number, line in enumerate(lines, 1) if line.strip()]
    else:
        if isinstance(source, str | Mapping) or not isinstance(source, Iterable):
            raise InvalidArgument(f"questions must be a pathlib.Path, or a list of questions, got {shown(source)}")
        placed = [(f"question {number}", each) for number, each in enumerate(source, 1)]
    questions = []
    seen: dict[str, str] = {}
    for place, each in placed:
        try:
            question = each if isinstance(each, Question) else _question(each)
        except InvalidArgument as error:
            raise InvalidArgument(f"{place}: {error}") from error
        if question.id in seen:
            raise InvalidArgument(
                f"{place}: an id must be that of one question, got {shown(question.id)} as {seen[question.id]}"
            )
        seen[question.id] = place
        questions.append(question)
    if not questions:
        raise InvalidArgument(f"there must be a question at least, got none in {shown(source)}")
    return questions


def _parsed(line: str) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        return error


def _question(plain: object) -> Question:
    if not isinstance(plain, Mapping):
        raise InvalidArgument(
            f'a question must be a JSON object such as {{"text": ..., "answers": [...]}}, got {shown(plain)}'
        )
    mode: Literal["any", "all"] = plain.get("answer_mode", "any")
    if mode not in ("any", "all"):
        raise InvalidArgument(f"answer_mode must be 'any' or 'all', got {shown(mode)}")
    answers, relevant = plain.get("answers") or (), plain.get("relevant") or {}
    if isinstance(answers, str | Mapping):
        answers = [answers]
    if not isinstance(answers, Sequence):
        raise InvalidArgument(f"answers must be a list, got {shown(answers)}")
    if isinstance(relevant, Sequence) and not isinstance(relevant, str):
        relevant = dict.fromkeys(relevant, 1)
    if not isinstance(relevant, Mapping):
        raise InvalidArgument(f"relevant must be a list of ids, or grades by id, got {shown(relevant)}")
    id_ = plain.get("id", "")
    return Question(
        plain.get("text", ""), [_answer(each) for each in answers], relevant, mode == "all", str(id_) if id_ else ""
    )


def _answer(plain: object) -> Answer | str:
    if isinstance(plain, str):
        return plain
    if isinstance(plain, Mapping):
        document_id, start, end = plain.get("doc_id"), plain.get("start"), plain.get("end")
        if isinstance(document_id, str) and isinstance(start, int) and isinstance(end, int) and 0 <= start < end:
            return Answer(document_id, start, end)
    raise InvalidArgument(
        f"an answer must be a text, or have doc_id, start and end with 0 <= start < end, got {shown(plain)}"
    )


def check_relevant(questions: Iterable[Question], known: Container[str]) -> None:
    """Check that the relevant documents of questions are there.

    Raises:
        InvalidArgument: if one is not.
    """
    for each in questions:
        for id_ in each.relevant:
            if id_ not in known:
                raise InvalidArgument(
                    f"a relevant document must be one of the index, got {shown(id_)} for {shown(each.text)}: "
                    "documents() lists their ids"
                )


def find_answers(question: Question, texts: Mapping[str, str]) -> list[list[Answer]]:
    """For each answer of a question the pieces of documents that are this answer: one, or every place of a text.

    Args:
        question: The question.
        texts: Text of each document by id.

    Raises:
        InvalidArgument: if an answer is in no document.
    """
    found = []
    for each in question.answers:
        if isinstance(each, str):
            wanted = re.compile(r"\s+".join(map(re.escape, each.split())), re.IGNORECASE)
            places = [Answer(id_, *match.span()) for id_, text in texts.items() for match in wanted.finditer(text)]
        else:
            places = [each] if each.end <= len(texts.get(each.document_id, "")) else []
        if not places:
            raise InvalidArgument(
                f"an answer must stand in a document of the index, got {shown(each)} for {shown(question.text)}"
            )
        found.append(places)
    return found

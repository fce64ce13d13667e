"""Questions and their answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leafspan.checks import is_number, shown, write_file
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
    """Return the answers to a question.

    Raises:
        InvalidArgument: if they are not Answers or texts.
    """
    given = tuple(answers) if isinstance(answers, Iterable) and not isinstance(answers, str | Mapping) else (None,)
    if not all(isinstance(each, str | Answer) for each in given):
        raise InvalidArgument(f"answers must be a list of Answers or texts, got {shown(answers)}")
    for each in given:
        if isinstance(each, str) and not each.strip():
            raise InvalidArgument(f"an answer must not be blank, got {shown(each)} for {shown(question)}")
    return given


def _grades(relevant: object) -> dict[str, float]:
    """Return the grades of relevant documents by the documents' ids.

    Raises:
        InvalidArgument: if ``relevant`` is not a list of ids, one id, or grades > 0 by id.
    """
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

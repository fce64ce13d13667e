"""Questions with what answers them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leafspan.checks import is_number, shown
from leafspan.errors import InvalidArgument
from leafspan.values import short_id
from leafspan.words import first_words


@dataclass(frozen=True, slots=True)
class Answer:
    """A piece of a document that answers a question.

    Attributes:
        document_id: Id of the document.
        start: Its first character.
        end: The character behind its last one.
        text: The piece itself, by which the answer is found again if the document has changed. Default: empty, the place
            counts whatever stands there.
    """

    document_id: str
    start: int
    end: int
    text: str = ""

    def __repr__(self) -> str:
        text = f", {first_words(self.text)}" if self.text else ""
        return f"Answer({short_id(self.document_id)}, {self.start:,} to {self.end:,}{text})"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, with pieces of text that answer it, with documents that are relevant to it, or with both.

    A question with neither is one that nothing answers: a strategy does well if it finds nothing.

    Args:
        text: The question.
        answers: What answers it: ``Answer``s, or texts that stand in one of the documents, such as ``"in 1927"``.
        relevant: Grades of the documents that are relevant to it, > 0, by id.
        needs_all: Whether all answers are needed. Default: False, one is enough.
        id: Its name in reports. Default: its text.

    Raises:
        InvalidArgument: if the text or an answer is blank, or a grade is not > 0.
    """

    text: str
    answers: Sequence[Answer | str] = ()
    relevant: Mapping[str, float] = field(default_factory=dict)
    needs_all: bool = False
    id: str = ""

    def __repr__(self) -> str:
        counts = ((len(self.answers), "answers"), (len(self.relevant), "relevant"))
        parts = [f"{count} {what}" for count, what in counts if count]
        return f"Question({', '.join([first_words(self.text), *parts])})"

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
        object.__setattr__(self, "answers", tuple(self.answers))
        object.__setattr__(self, "relevant", dict(self.relevant))
        object.__setattr__(self, "id", self.id or self.text)

    @property
    def has_no_answer(self) -> bool:
        """Whether nothing answers it, so that nothing should be found."""
        return not self.answers and not self.relevant


def save_questions(path: str | Path, questions: Iterable[Question]) -> None:
    """Write questions to a file in JSON Lines, which ``read_questions`` reads. A file that is there is replaced."""
    text = "".join(json.dumps(plain_question(each), ensure_ascii=False) + "\n" for each in questions)
    Path(path).write_text(text, encoding="utf-8")


def plain_question(question: Question) -> dict[str, Any]:
    """A question as an object of JSON, such as ``read_questions`` reads."""
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

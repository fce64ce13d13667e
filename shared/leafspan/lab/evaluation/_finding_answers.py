"""Finds the questions' answers in an index's documents."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.lab.evaluation._questions import Answer, Question
from leafspan.text import WITHOUT_SPACES

_LISTED = 5
"""Largest number of questions that an error message names."""

_LETTER = rf"[^\W{WITHOUT_SPACES}]"  # a letter or digit


def find_all_answers(
    questions: Mapping[str, Question], known: Collection[str], texts: Mapping[str, str]
) -> dict[str, list[list[Answer]]]:
    """Return what ``find_answers`` finds for each question, by the question's id.

    Raises:
        InvalidArgument: if an answer or a relevant document is not in the index. The message names all such
            questions.
    """
    found: dict[str, list[list[Answer]]] = {}
    problems: list[str] = []
    for place, question in questions.items():
        try:
            _check_relevant(question, known)
            found[question.id] = find_answers(question, texts)
        except InvalidArgument as error:
            problems.append(f"{place}: {error}")
    if problems:
        more = f"; and {len(problems) - _LISTED} more such questions" if len(problems) > _LISTED else ""
        raise InvalidArgument("; ".join(problems[:_LISTED]) + more)
    return found


def _check_relevant(question: Question, known: Collection[str]) -> None:
    for id_ in question.relevant:
        if id_ not in known:
            raise InvalidArgument(
                f"a relevant document must be in the index, got {shown(id_)} for {shown(question.text)}: "
                "documents() lists their ids"
            )


def find_answers(question: Question, texts: Mapping[str, str]) -> list[list[Answer]]:
    """Return for each answer of a question its pieces of documents: one piece, or every place of a text.

    Raises:
        InvalidArgument: if an answer is in no document, or its document has changed and does not have it any more.
    """
    return [
        _places(each, question, texts) if isinstance(each, str) else [_place(each, question, texts)]
        for each in question.answers
    ]


def _places(answer: str, question: Question, texts: Mapping[str, str]) -> list[Answer]:
    """Every place of a text, ignoring white space and capitals."""
    words = answer.split()
    wanted = re.compile(
        _as_a_word(answer.strip()) if len(words) == 1 else r"\s+".join(map(re.escape, words)), re.IGNORECASE
    )
    places = [Answer(id_, *match.span()) for id_, text in texts.items() for match in wanted.finditer(text)]
    if not places:
        whole = ", which is not in a document as a whole word" if len(words) == 1 else ""
        raise InvalidArgument(
            f"an answer must be in a document of the index, got {shown(answer)} for {shown(question.text)}{whole}; a "
            "question that nothing answers has an empty list of answers"
        )
    return places


def _as_a_word(word: str) -> str:
    """A pattern for a whole word, not a part of a longer word or number. Scripts without spaces have no such limits."""
    pattern = re.escape(word)
    if not any(each.isalnum() for each in word):  # a sign; the pattern for words would find it at the end of each sentence
        return rf"(?<!\S){pattern}(?!\S)"
    if re.match(_LETTER, word[0]):
        pattern = rf"(?<!{_LETTER}){pattern}"
    if re.match(_LETTER, word[-1]):
        pattern = rf"{pattern}(?!{_LETTER})"
    if word[0].isdigit():
        pattern = rf"(?<!\d[.,]){pattern}"
    if word[-1].isdigit():
        pattern = rf"{pattern}(?![.,]\d)"
    return pattern


def _place(answer: Answer, question: Question, texts: Mapping[str, str]) -> Answer:
    """The place of an answer. If its document has changed, the place where its text is now."""
    text = texts.get(answer.document_id, "")
    if answer.end <= len(text) and answer.text in ("", text[answer.start : answer.end]):
        return answer
    if answer.text and text.count(answer.text) == 1:
        start = text.index(answer.text)
        return Answer(answer.document_id, start, start + len(answer.text), answer.text)
    if answer.document_id not in texts:
        what = "but there is no such document"
    elif not answer.text:
        what = f"but the document has {len(text):,} characters"
    else:
        what = f"but its text, {shown(answer.text)}, is {'there several times' if answer.text in text else 'gone'}"
    place = f"characters {answer.start} to {answer.end} of {shown(answer.document_id)}"
    raise InvalidArgument(
        f"an answer must be in a document of the index, got {place} for {shown(question.text)}, {what}: write the "
        "answer as a text, or make the questions again"
    )

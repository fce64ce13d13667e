"""Where the answers of questions stand in the documents of an index."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.lab.evaluation._questions import Answer, Question
from leafspan.text import WITHOUT_SPACES

_LISTED = 5
"""Questions that are named of those that cannot be judged."""

_LETTER = rf"[^\W{WITHOUT_SPACES}]"  # or a digit


def find_all_answers(
    questions: Mapping[str, Question], known: Collection[str], texts: Mapping[str, str]
) -> dict[str, list[list[Answer]]]:
    """For each question, by its id, what ``find_answers`` finds.

    Raises:
        InvalidArgument: if an answer or a relevant document of a question is not there; the message names all such
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
                f"a relevant document must be one of the index, got {shown(id_)} for {shown(question.text)}: "
                "documents() lists their ids"
            )


def find_answers(question: Question, texts: Mapping[str, str]) -> list[list[Answer]]:
    """For each answer of a question the pieces of documents that are this answer: one, or every place of a text.

    Raises:
        InvalidArgument: if an answer is in no document, or is not found again in one that has changed.
    """
    return [
        _places(each, question, texts) if isinstance(each, str) else [_place(each, question, texts)]
        for each in question.answers
    ]


def _places(answer: str, question: Question, texts: Mapping[str, str]) -> list[Answer]:
    """Every place of a text, whatever its white space and capitals."""
    words = answer.split()
    wanted = re.compile(
        _as_a_word(answer.strip()) if len(words) == 1 else r"\s+".join(map(re.escape, words)), re.IGNORECASE
    )
    places = [Answer(id_, *match.span()) for id_, text in texts.items() for match in wanted.finditer(text)]
    if not places:
        whole = ", which stands in none as a whole word" if len(words) == 1 else ""
        raise InvalidArgument(
            f"an answer must stand in a document of the index, got {shown(answer)} for {shown(question.text)}{whole}; a "
            "question that nothing answers has an empty list of answers"
        )
    return places


def _as_a_word(word: str) -> str:
    """A pattern for a word that is not a part of a longer word or number. Scripts without spaces have no such limits."""
    pattern = re.escape(word)
    if not any(each.isalnum() for each in word):  # a sign, which would else be found at the end of each sentence
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
    """The place of an answer; where its document has changed, that at which its text stands now."""
    text = texts.get(answer.document_id, "")
    if answer.end <= len(text) and answer.text in ("", text[answer.start : answer.end]):
        return answer
    if answer.text and text.count(answer.text) == 1:
        start = text.index(answer.text)
        return Answer(answer.document_id, start, start + len(answer.text), answer.text)
    if answer.document_id not in texts:
        what = "and there is no such document"
    elif not answer.text:
        what = f"and this one has {len(text):,} characters"
    else:
        what = f"and its text, {shown(answer.text)}, is {'there several times' if answer.text in text else 'gone'}"
    place = f"characters {answer.start} to {answer.end} of {shown(answer.document_id)}"
    raise InvalidArgument(
        f"an answer must stand in a document of the index, got {place} for {shown(question.text)}, {what}: write the "
        "answer as a text, or make the questions anew"
    )

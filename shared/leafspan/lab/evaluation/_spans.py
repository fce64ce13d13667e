"""Measures how much of a question's answers is among the first words that were retrieved."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from leafspan.checks import shown
from leafspan.errors import InvalidArgument, MissingExtra
from leafspan.lab.evaluation._questions import Answer, Question
from leafspan.text import WITHOUT_SPACES

_WORD = re.compile(r"\S+")

_TOLERANCE = 1  # characters at either end, for example a quotation mark that a splitter cuts off


class SpanScores(NamedTuple):
    """How well passages answer a question, each in [0, 1]."""

    recall: float
    precision: float
    iou: float


def first_words(passages: Iterable[Answer], texts: Mapping[str, str], budget: int) -> list[Answer]:
    """The first passages, with ``budget`` words in all. The last passage is cut.

    A word is a run of characters without white space. Where passages overlap, a word counts each time.
    """
    read: list[Answer] = []
    left = budget
    for document_id, start, end in ((each.document_id, each.start, each.end) for each in passages):
        words = list(islice(_WORD.finditer(texts[document_id], start, end), left + 1))
        if len(words) > left:
            if left:
                read.append(Answer(document_id, start, words[left - 1].end()))
            break
        read.append(Answer(document_id, start, end))
        left -= len(words)
    return read


def span_scores(answers: Sequence[Sequence[Answer]], read: Sequence[Answer], *, needs_all: bool) -> SpanScores:
    """Measure how well the first passages answer a question."""
    enough = all if needs_all else any
    recall = float(enough(any(_is_held(place, read) for place in places) for places in answers))
    read_runs = _runs(read)
    if needs_all:
        wanted = _runs([max(places, key=lambda place: _overlap(_runs([place]), read_runs)) for places in answers])
        precision, iou = _precision_and_iou(wanted, read_runs)
    else:
        pairs = [_precision_and_iou(_runs([place]), read_runs) for places in answers for place in places]
        precision = max(pair[0] for pair in pairs)
        iou = max(pair[1] for pair in pairs)
    return SpanScores(recall, precision, iou)


_Runs = Mapping[str, Sequence[tuple[int, int]]]


def _is_held(answer: Answer, read: Iterable[Answer]) -> bool:
    """Whether the passages together hold every character of an answer, except perhaps one at either end."""
    # An answer of one or two characters must be held completely.
    tolerance = _TOLERANCE if answer.end - answer.start > 2 * _TOLERANCE else 0
    reached, end = answer.start + tolerance, answer.end - tolerance
    for start, last in sorted((each.start, each.end) for each in read if each.document_id == answer.document_id):
        if start > reached:  # a gap: all later runs begin later still
            break
        reached = max(reached, last)
    return reached >= end


def _runs(places: Iterable[Answer]) -> _Runs:
    """Characters as runs that do not touch, for each document."""
    by_document: dict[str, list[tuple[int, int]]] = {}
    for each in sorted(places, key=lambda place: (place.document_id, place.start)):
        runs = by_document.setdefault(each.document_id, [])
        if runs and each.start <= runs[-1][1]:
            runs[-1] = (runs[-1][0], max(runs[-1][1], each.end))
        else:
            runs.append((each.start, each.end))
    return by_document


def _length(runs: _Runs) -> int:
    return sum(end - start for each in runs.values() for start, end in each)


def _overlap(some: _Runs, others: _Runs) -> int:
    return sum(
        max(0, min(end, other_end) - max(start, other_start))
        for document_id, runs in some.items()
        for start, end in runs
        for other_start, other_end in others.get(document_id, ())
    )


def _precision_and_iou(wanted: _Runs, read: _Runs) -> tuple[float, float]:
    both, length = _overlap(wanted, read), _length(read)
    return (both / length if length else 0.0), both / (_length(wanted) + length - both)


MEASURES = ("nDCG@10", "R@10", "RR")
"""The names of the measures in ir-measures: nDCG, recall and the reciprocal rank."""


def check_can_measure() -> None:
    """Check that documents can be measured."""
    try:
        import ir_measures  # noqa: F401
    except ImportError as error:
        raise MissingExtra.of("the measures of documents need ir-measures", "eval") from error


def document_scores(
    ranked: Mapping[str, Sequence[str]], relevant: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, float]]:
    """Return each question's score by each measure."""
    check_can_measure()
    import ir_measures

    measures = {ir_measures.parse_measure(name): name for name in MEASURES}
    # Each rank gets a different score, since ir-measures would order equal scores by id.
    run = {id_: {each: float(-place) for place, each in enumerate(row)} for id_, row in ranked.items()}
    grades = {id_: {each: round(grade) or 1 for each, grade in row.items()} for id_, row in relevant.items()}
    scores = {name: dict.fromkeys(ranked, 0.0) for name in MEASURES}
    for metric in ir_measures.iter_calc(list(measures), grades, run):
        scores[measures[metric.measure]][metric.query_id] = metric.value
    return scores


_LISTED = 5
"""Largest number of questions that an error message names."""

_LETTER = rf"[^\W{WITHOUT_SPACES}]"  # a letter or digit


def find_all_answers(
    questions: Mapping[str, Question], ids: Collection[str], texts: Mapping[str, str]
) -> dict[str, list[list[Answer]]]:
    """Return what ``find_answers`` finds for each question, by the question's id."""
    spans: dict[str, list[list[Answer]]] = {}
    problems: list[str] = []
    for place, question in questions.items():
        try:
            _check_relevant(question, ids)
            spans[question.id] = find_answers(question, texts)
        except InvalidArgument as error:
            problems.append(f"{place}: {error}")
    if problems:
        more = f"; and {len(problems) - _LISTED} more such questions" if len(problems) > _LISTED else ""
        raise InvalidArgument("; ".join(problems[:_LISTED]) + more)
    return spans


def _check_relevant(question: Question, ids: Collection[str]) -> None:
    for id_ in question.relevant:
        if id_ not in ids:
            raise InvalidArgument(
                f"a relevant document must be in the index, got {shown(id_)} for {shown(question.text)}: "
                "documents() lists their ids"
            )


def find_answers(question: Question, texts: Mapping[str, str]) -> list[list[Answer]]:
    """Return for each answer of a question its pieces of documents: one piece, or every place of a text."""
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

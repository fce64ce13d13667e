"""Measures how much of a question's answers is among the first words that were retrieved."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from leafspan.lab.evaluation._questions import Answer

_WORD = re.compile(r"\S+")

_TOLERANCE = 1  # characters at either end, for example a quotation mark that a splitter cuts off


class SpanScores(NamedTuple):
    """How well passages answer a question, each in [0, 1].

    Attributes:
        recall: 1 if the passages hold an answer (or all answers, if all are needed), else 0.
        precision: Share of their characters that are part of an answer.
        iou: Intersection over union: characters in passages and answers, over characters in passages or answers. If an
            answer has several places, or one of several answers is enough, the best one counts.
    """

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
    found: dict[str, list[tuple[int, int]]] = {}
    for each in sorted(places, key=lambda place: (place.document_id, place.start)):
        runs = found.setdefault(each.document_id, [])
        if runs and each.start <= runs[-1][1]:
            runs[-1] = (runs[-1][0], max(runs[-1][1], each.end))
        else:
            runs.append((each.start, each.end))
    return found


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

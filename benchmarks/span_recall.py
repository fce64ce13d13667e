"""Span recall: the share of questions whose answer is among the first words retrieved.

Passages are read in rank order until the budget of words is used up. The last passage is cut there. A word is a run of
characters without white space. A word in several overlapping passages counts each time.

A question is answered if the passages that were read hold its answer. An answer is a span of characters of a document, and
may extend over several passages. If a question has several answers, it says whether one is enough or all are needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

Place = tuple[str, int, int]
"""A passage: the id of its document, its start character (inclusive) and its end character (exclusive)."""

BUDGETS = (150, 300, 600, 1_200)
"""The budgets in words that the benchmarks use."""

TOLERANCE = 1
"""Number of characters that may be missing at either end of an answer, such as a quotation mark that a splitter cuts off.

An answer of one or two characters therefore always counts as held, even if nothing was read.
"""

_WORD = re.compile(r"\S+")


def span_recall(
    results: Sequence[Sequence[Place]],
    questions: Sequence[Mapping[str, Any]],
    texts: Mapping[str, str],
    budget: int,
) -> float:
    """The share of questions, in [0, 1], that are answered within a budget. Questions without an answer are ignored.

    Args:
        results: Passages of each question, best first.
        questions: The questions. Each has ``answers``, a list of mappings with ``doc_id``, ``start`` and ``end``, and may
            have ``answer_mode``: ``"any"`` (the default) or ``"all"``.
        texts: Text of each document, by its id.
        budget: Number of words that are read, >= 0.

    Returns:
        The share; 0 if no question has an answer.

    Raises:
        ValueError: if the numbers of results and questions differ, or ``budget`` is negative.
    """
    answered = answered_by(results, questions, texts, budget)
    return sum(answered) / len(answered) if answered else 0.0


def answered_by(
    results: Sequence[Sequence[Place]],
    questions: Sequence[Mapping[str, Any]],
    texts: Mapping[str, str],
    budget: int,
) -> list[bool]:
    """Whether each question with an answer is answered within a budget. See ``span_recall``.

    Raises:
        ValueError: if the numbers of results and questions differ, or ``budget`` is negative.
    """
    if budget < 0:
        raise ValueError(f"budget must be >= 0, got {budget}")
    if len(results) != len(questions):
        raise ValueError(f"there must be a list of passages for each question, got {len(results)} for {len(questions)}")
    return [
        is_answered(question, first_words(passages, texts, budget))
        for passages, question in zip(results, questions, strict=True)
        if question.get("answers")
    ]


def first_words(passages: Iterable[Place], texts: Mapping[str, str], budget: int) -> list[Place]:
    """The first passages, with ``budget`` words in all. The last passage is cut.

    Args:
        passages: Places of passages, best first.
        texts: Text of each document, by its id.
        budget: Number of words, >= 0.
    """
    read: list[Place] = []
    left = budget
    for document_id, start, end in passages:
        words = list(islice(_WORD.finditer(texts[document_id], start, end), left + 1))
        if len(words) > left:
            if left:
                read.append((document_id, start, words[left - 1].end()))
            break
        read.append((document_id, start, end))
        left -= len(words)
    return read


def is_answered(question: Mapping[str, Any], read: Sequence[Place]) -> bool:
    """Whether the passages that were read hold one of the question's answers, or all of them if it needs all."""
    enough = all if question.get("answer_mode") == "all" else any
    return enough(is_held(answer, read) for answer in question["answers"])


def is_held(answer: Mapping[str, Any], read: Iterable[Place]) -> bool:
    """Whether the passages together hold every character of an answer, except perhaps one at either end."""
    reached, end = answer["start"] + TOLERANCE, answer["end"] - TOLERANCE
    for first, last in sorted((first, last) for document_id, first, last in read if document_id == answer["doc_id"]):
        if first > reached:  # a gap: all later passages begin later still
            break
        reached = max(reached, last)
    return bool(reached >= end)

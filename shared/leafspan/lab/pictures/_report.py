"""Draws a report: questions with their passages and documents, on one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from htpy import Node, a, div, h1, h2, header, li, nav, ol, p, section

from leafspan.lab.pictures._comparison import comparison_picture
from leafspan.lab.pictures._page import page
from leafspan.lab.pictures._results import results_picture
from leafspan.lab.pictures._text import Places, name
from leafspan.values import Passage


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with its passages.

    Attributes:
        question: The question.
        results: The passages by the name of the strategy that found them.
        words: Finds the places of the question's words in a text. None if no word stands out.
    """

    question: str
    results: Mapping[str, Sequence[Passage]]
    words: Places | None = None


def report(subtitle: str, answers: Sequence[Answered], appendix: Mapping[str, Node]) -> str:
    """Return a page in HTML that shows questions with their results. It needs no other files.

    Args:
        subtitle: The searched index, in a few words.
        answers: The questions.
        appendix: Pictures after the questions, such as the index's, by their headings.
    """
    title = answers[0].question if len(answers) == 1 else f"{len(answers)} questions"
    return page(
        title,
        [
            header(".ls-question")[h1[name(title)], p(".ls-count")[name(subtitle)]],
            len(answers) > 1
            and nav[
                ol(".ls-contents")[
                    [li[a(href=f"#{_anchor(number)}")[name(each.question)]] for number, each in enumerate(answers)]
                ]
            ],
            [_answer(each, number, alone=len(answers) == 1) for number, each in enumerate(answers)],
            [section[h2[heading], picture] for heading, picture in appendix.items()],
        ],
    )


def _answer(answered: Answered, number: int, *, alone: bool) -> Node:
    """Draw the results of one strategy, or of several side by side."""
    if len(answered.results) == 1:
        (passages,) = answered.results.values()
        picture = results_picture(passages, None, answered.words)
    else:
        picture = comparison_picture(None, answered.results, answered.words)
    return div(id=_anchor(number))[not alone and h2[name(answered.question)], picture]


def _anchor(number: int) -> str:
    return f"question-{number + 1}"

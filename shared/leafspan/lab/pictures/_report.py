"""Draws a report: questions with their passages and documents, on one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from htpy import Node, a, div, h1, h2, header, li, nav, ol, p, section

from leafspan.errors import LeafspanError
from leafspan.lab.pictures._document import document_picture, facts_of, index_picture
from leafspan.lab.pictures._explanation import explanation_picture
from leafspan.lab.pictures._passage import passage_picture
from leafspan.lab.pictures._results import comparison_picture, results_picture
from leafspan.lab.pictures._text import Places, embedded, name, page
from leafspan.lab.pictures._tree import tree_picture
from leafspan.values import Passage

if TYPE_CHECKING:
    from leafspan.lab.explaining import Explanation
    from leafspan.retrieval import Passages
    from leafspan.trees import Summaries
    from leafspan.values import Document, Passage
    from leafspan.view import View


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with its passages."""

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


def show_document(document: Document) -> str:
    """Draw a document's headings, leaves, metadata and text."""
    return embedded(document_picture(document))


def show_passage(passage: Passage) -> str:
    """Draw a passage's place in its document, its text, and why it was found."""
    return embedded(passage_picture(passage))


def show_passages(passages: Passages) -> str:
    """Draw the documents as strips with the passages on them, then the passages."""
    return embedded(results_picture(passages, passages.question, passages.words, why_no_answer=passages.why_no_answer))


def show_summaries(summaries: Summaries) -> str:
    """Draw each tree, to be opened layer by layer."""
    return embedded(tree_picture(summaries))


def show_explanation(explanation: Explanation) -> str:
    """Draw the obstacles and the passage that they keep out, or the returned passages."""
    return embedded(explanation_picture(explanation))


def show_view(view: View) -> str:
    """Draw what the view holds, how its index was made, and its documents. If reading fails, show the error."""
    title = repr(view)
    try:
        documents, stats = view.documents(), view.stats()
    except LeafspanError as error:  # a failing picture would hide the view
        return embedded(index_picture(title, {"not shown": str(error)}, None))
    return embedded(index_picture(title, facts_of(stats), documents))

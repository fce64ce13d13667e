"""The pictures that notebooks show: see ``leafspan.text.display``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leafspan.errors import LeafspanError
from leafspan.lab.pictures._document import document_picture
from leafspan.lab.pictures._explanation import explanation_picture
from leafspan.lab.pictures._index import facts_of, index_picture
from leafspan.lab.pictures._page import embedded
from leafspan.lab.pictures._passage import passage_picture
from leafspan.lab.pictures._results import results_picture
from leafspan.lab.pictures._tree import tree_picture

if TYPE_CHECKING:
    from leafspan.lab.explaining import Explanation
    from leafspan.retrieval import Passages
    from leafspan.trees import Summaries
    from leafspan.values import Document, Passage
    from leafspan.view import View


def show_document(document: Document) -> str:
    """Draw a document's headings, leaves, metadata and text."""
    return embedded(document_picture(document))


def show_passage(passage: Passage) -> str:
    """Draw a passage's place in its document, its text, and why it was found."""
    return embedded(passage_picture(passage))


def show_passages(found: Passages) -> str:
    """Draw the documents as strips with the passages on them, then the passages."""
    return embedded(results_picture(found, found.question, found.words, why_no_answer=found.why_no_answer))


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

"""Draws passages, results, documents, trees and indexes as HTML, without scripts, and safe with any text."""

from leafspan.errors import MissingExtra

try:
    import htpy as _htpy  # noqa: F401
    import markupsafe as _markupsafe  # noqa: F401
except ModuleNotFoundError as error:
    raise MissingExtra.of("pictures need htpy and markupsafe", "lab") from error

from leafspan.lab.pictures._document import document_picture, facts_of, index_picture
from leafspan.lab.pictures._explanation import explanation_picture
from leafspan.lab.pictures._passage import passage_picture
from leafspan.lab.pictures._report import (
    Answered,
    report,
    show_document,
    show_explanation,
    show_passage,
    show_passages,
    show_summaries,
    show_view,
)
from leafspan.lab.pictures._results import comparison_picture, results_picture
from leafspan.lab.pictures._text import STYLESHEET, Places, code_in, embedded, name, page, shown
from leafspan.lab.pictures._tree import tree_picture

__all__ = [
    "STYLESHEET",
    "Answered",
    "Places",
    "code_in",
    "comparison_picture",
    "document_picture",
    "embedded",
    "explanation_picture",
    "facts_of",
    "index_picture",
    "name",
    "page",
    "passage_picture",
    "report",
    "results_picture",
    "shown",
    "show_document",
    "show_explanation",
    "show_passage",
    "show_passages",
    "show_summaries",
    "show_view",
    "tree_picture",
]

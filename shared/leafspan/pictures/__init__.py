"""Values as pictures: HTML of passages, results, documents, trees and indexes, without scripts, and safe with any text."""

from leafspan.pictures._comparison import comparison_picture
from leafspan.pictures._document import document_picture
from leafspan.pictures._explanation import explanation_picture
from leafspan.pictures._index import index_picture
from leafspan.pictures._page import STYLESHEET, embedded, page
from leafspan.pictures._passage import passage_picture
from leafspan.pictures._report import Answered, report
from leafspan.pictures._results import results_picture
from leafspan.pictures._shown import Places, ShownPassage
from leafspan.pictures._text import name
from leafspan.pictures._tree import tree_picture

__all__ = [
    "STYLESHEET",
    "Answered",
    "Places",
    "ShownPassage",
    "comparison_picture",
    "document_picture",
    "embedded",
    "explanation_picture",
    "index_picture",
    "name",
    "page",
    "passage_picture",
    "report",
    "results_picture",
    "tree_picture",
]

"""Values as pictures: HTML of passages, results, documents, trees and indexes, without scripts, and safe with any text."""

from leafspan.lab.pictures._comparison import comparison_picture
from leafspan.lab.pictures._document import document_picture
from leafspan.lab.pictures._explanation import explanation_picture
from leafspan.lab.pictures._index import index_picture
from leafspan.lab.pictures._page import STYLESHEET, embedded, page
from leafspan.lab.pictures._passage import passage_picture
from leafspan.lab.pictures._report import Answered, report
from leafspan.lab.pictures._results import results_picture
from leafspan.lab.pictures._shown import Places, ShownPassage
from leafspan.lab.pictures._text import name
from leafspan.lab.pictures._tree import tree_picture

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

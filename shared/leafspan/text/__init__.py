"""Tools for any text: its words, folded letters, and a safe display of control characters."""

from leafspan.text._displays import display
from leafspan.text._folding import INVISIBLE, fold, fold_with_places, normalize, without_invisible
from leafspan.text._markdown import name_in_markdown
from leafspan.text._surrogates import UnicodeErrors, without_surrogates
from leafspan.text._visible import escaped_in_json, visible
from leafspan.text._words import (
    BROKEN_WORD,
    LETTERS_IN_A_ROW,
    WITHOUT_SPACES,
    count_words,
    end_of_words,
    first_words,
    has_word,
)

__all__ = [
    "BROKEN_WORD",
    "display",
    "INVISIBLE",
    "LETTERS_IN_A_ROW",
    "UnicodeErrors",
    "WITHOUT_SPACES",
    "count_words",
    "end_of_words",
    "escaped_in_json",
    "first_words",
    "fold",
    "fold_with_places",
    "has_word",
    "name_in_markdown",
    "normalize",
    "visible",
    "without_invisible",
    "without_surrogates",
]

"""Tools for any text: its words, folded letters, and a safe display of control characters."""

from leafspan.text._display import display, escaped_in_json, name_in_markdown, visible
from leafspan.text._words import (
    BROKEN_WORD,
    INVISIBLE,
    LETTERS_IN_A_ROW,
    WITHOUT_SPACES,
    UnicodeErrors,
    count_words,
    end_of_words,
    first_words,
    fold,
    fold_with_places,
    has_word,
    normalize,
    without_invisible,
    without_surrogates,
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

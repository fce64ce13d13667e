"""Words and characters of texts: how many, the first ones, and those that cannot be seen."""

from leafspan.words._beginning import first_words
from leafspan.words._counting import count_words
from leafspan.words._visible import escaped_in_json, visible

__all__ = ["count_words", "escaped_in_json", "first_words", "visible"]

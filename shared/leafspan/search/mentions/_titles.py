"""Titles as texts may mention them: their words, without parentheses."""

from __future__ import annotations

import re
from collections.abc import Mapping

from leafspan.lexical import find_plain_words

MOST_WORDS = 32  # most words of a name; nobody mentions a longer text by its words

_LONGEST = 1_000  # most characters of a name
_PARENTHESES = re.compile(r"\([^()]*\)")
_CAPITALISED = re.compile(r"[^\W\d_]\w*")


def title_words(text: str) -> list[str]:
    """The words of a text in one spelling: without case, accents and the possessive 's.

    In Chinese, Japanese and Korean, each pair of neighbouring characters is a word, so that a name is found without spaces
    around it.
    """
    return find_plain_words(text)


def title_key(text: str) -> str:
    """The words of a title, joined. Two titles with the same key are the same name."""
    return " ".join(title_words(text))


def names_in(title: str | None, metadata: Mapping[str, object], aliases: str | None) -> list[str]:
    """A document's names: its title, the title without parentheses, and its aliases.

    A text of more than 1,000 characters is not a name.
    """
    names = []
    if title:
        names.append(title)
        if "(" in title and len(title) <= _LONGEST and (bare := " ".join(_PARENTHESES.sub(" ", title).split())):
            names.append(bare)
    if aliases is not None:
        more = metadata.get(aliases)
        names += [each for each in (more if isinstance(more, list) else [more]) if isinstance(each, str)]
    return [each for each in names if len(each) <= _LONGEST]


def is_name(key: str) -> bool:
    """Whether a title's words can name it in a text. A single letter, a number or a whole sentence cannot."""
    return len(key) > 1 and not key.isdecimal() and key.count(" ") < MOST_WORDS


def stands_in(word: str, text: str) -> bool:
    """Whether a text has exactly this word."""
    start = text.find(word)
    while start >= 0:
        behind = start + len(word)
        if not (text[start - 1 : start].isalnum() or text[behind : behind + 1].isalnum()):
            return True
        start = text.find(word, behind)
    return False


def capitalised_words(text: str) -> set[str]:
    """The ``title_words`` of a text that begin with a capital letter somewhere, or have no case."""
    return set(title_words(" ".join(word for word in _CAPITALISED.findall(text) if not word[0].islower())))

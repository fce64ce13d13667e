"""Cuts a text into sentences, or to its first sentences or words."""

from __future__ import annotations

import re
from bisect import bisect_right

from leafspan.text import count_words

# Possessive quantifiers keep the time linear in long runs of dots.
_END = re.compile(
    r"""(?<![.!?…])(?P<stop>[.!?…]++["'”’»)\]]*+)(?P<space>\s++)   # a full stop, with closing quotes and brackets
    | [。！？]++["'”’»）」』]*+\s*+
    | (?P<line>\n\s*+)""",
    re.VERBOSE,
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Gen|Col|Lt|Sgt|Rev|Hon|Sr|Jr|vs|cf|ca|Fig|figs?|Eq|No|vol|pp?|e\.g|i\.e|et\sal))\Z"
)
_LONG_LINE = 50  # characters
_WORD_CHARACTERS = 12  # this many characters without a space count as one word, as in leaves


def sentences(text: str) -> list[str]:
    """The sentences of a text, without white space around them. Only white space is lost.

    A sentence ends at a full stop, unless it belongs to an abbreviation or a small letter follows. It also ends at the end
    of a line, unless the line has at least 50 characters and the next one begins with a letter or a digit, as in wrapped
    text.
    """
    pieces = []
    start = 0
    for match in _END.finditer(text):
        if _is_end(text, start, match):
            pieces.append(text[start : match.end()].strip())
            start = match.end()
    pieces.append(text[start:].strip())
    return [sentence for sentence in pieces if sentence]


def _is_end(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether the sentence from ``start`` ends where ``_END`` matches."""
    following = text[match.end() : match.end() + 1]
    if match["line"] is not None:
        line = max(start, text.rfind("\n", 0, match.start()) + 1)
        return match["line"].count("\n") > 1 or match.start() - line < _LONG_LINE or not following.isalnum()
    if match["stop"] is None or match["space"].count("\n") > 1:
        return True
    if following.islower():
        return False
    return match["stop"] != "." or not _ABBREVIATION.search(text, max(start, match.start() - 8), match.start())


def size(text: str) -> int:
    """The length of a text in words. A run without spaces counts as a word for every twelve characters, as in leaves."""
    return max(count_words(text), len(text) // _WORD_CHARACTERS)


def first_words(text: str, limit: int) -> str:
    """The longest start of a text that ends with a word and has a size of at most ``limit``.

    A longer first word is cut.
    """
    text = text.strip()
    if size(text) <= limit:
        return text
    end = bisect_right(range(len(text)), limit, key=lambda length: size(text[:length])) - 1
    start = text[:end]
    # If the next character would be one word too many, a new word starts there, and no word is cut.
    cuts_word = count_words(text[: end + 1]) <= limit and not any(map(str.isspace, text[end - 1 : end + 1]))
    return start.rsplit(maxsplit=1)[0] if cuts_word else start.strip()


def first_sentences(text: str, limit: int) -> str:
    """The longest start of whole sentences with a size of at most ``limit``.

    If the first sentence alone is longer, the result is its first words.
    """
    if size(text) <= limit:
        return text.strip()
    end = 0
    for sentence in sentences(text):
        next_end = text.index(sentence, end) + len(sentence)
        if size(text[:next_end].strip()) > limit:
            break
        end = next_end
    return text[:end].strip() or first_words(text, limit)

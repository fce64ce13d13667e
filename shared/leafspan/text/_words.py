"""Counts the words of a text, the unit of leaves and budgets, and finds its first words."""

from __future__ import annotations

import re

from leafspan.text._folding import without_invisible

# Chinese and Japanese are written without spaces. Each character of these scripts counts as a word, and so does each
# Korean one, as in word processors. (Kana, ideographs with their extensions, Hangul, half-width forms.)
_CJK_BELOW = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f"
_CJK_ABOVE = "\U00020000-\U0003ffff"
_CJK = f"{_CJK_BELOW}{_CJK_ABOVE}"
LETTERS_IN_A_ROW = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u109a-\u109d\u1780-\u17d3\u17d7\u17dc\u17dd"
    "\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa7f"
)
"""Letters and marks of Thai, Lao, Burmese and Khmer, for a class of characters: alphabets without spaces between words."""

# Of these, the marks: each belongs to the letter before it.
_MARKS_IN_A_ROW = (
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d"
    "\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d\u17b4-\u17d3\u17dd\ua9e5\uaa7b-\uaa7d"
)
WITHOUT_SPACES = f"{_CJK}{LETTERS_IN_A_ROW}"
"""Scripts without spaces between words, or with particles joined to them, for a class of characters."""

_WORD = re.compile(f"[{_CJK}]|(?:[{LETTERS_IN_A_ROW}][{_MARKS_IN_A_ROW}]*){{1,4}}|[^\\s{WITHOUT_SPACES}]+")
_ANY = re.compile(f"[{_CJK_BELOW}{LETTERS_IN_A_ROW}]|[{_CJK_ABOVE}]")  # two classes take half the time of one


_LINE_END = r"[ \t]*(?:\r\n?|\n)[ \t]*"
BROKEN_WORD = re.compile(rf"(?<=[^\W_])(?:{_LINE_END}(?=[\xac\xad]))?([-\xac\xad\u2010\u2011]){_LINE_END}(?=[^\W_])")
"""Where a line's end breaks a word: a hyphen or soft hyphen (``\xac`` in some old files), the line's end, and blanks.

A soft hyphen may stand on a line of its own.
"""

_LETTER = re.compile("[^\\W_]|[\u2600-\u27bf\U0001f000-\U0001faff]")


def has_word(text: str) -> bool:
    """Whether a text has a letter, a digit or an emoji: something to find, besides white space and punctuation."""
    return _LETTER.search(without_invisible(text)) is not None


def count_words(text: str) -> int:
    """The number of words of a text: runs without white space, and each Chinese, Japanese or Korean character.

    Four letters of Thai, Lao, Burmese or Khmer count as a word, with their marks.
    """
    if text.isascii() or not _ANY.search(text):
        return len(text.split())
    return len(_WORD.findall(text))


def end_of_words(text: str, words: int, start: int = 0) -> int:
    """The end of the first ``words`` words from ``start``, with the white space after them, or the text's end."""
    for number, match in enumerate(_WORD.finditer(text, start)):
        if number == words:
            return match.start()
    return len(text)


_BEGINNING = 60  # characters


def first_words(text: str, most: int = _BEGINNING) -> str:
    """The start of a text as a one-line Python literal without control characters."""
    line = " ".join(text[: 8 * most].split())
    if len(line) <= most and len(text) <= 8 * most:
        return repr(line)
    words = line[: most - 3].rpartition(" ")[0] or line[: most - 3]
    return repr(f"{words}...")

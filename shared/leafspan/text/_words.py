"""Words: how many a text has, which is the unit of leaves and budgets, and the first of them."""

from __future__ import annotations

import re

from leafspan.text._folding import without_invisible

# Chinese and Japanese are written without spaces. Each character of these scripts counts as a word, and so does each
# Korean one, as in word processors. (Kana, ideographs with their extensions, Hangul, half-width forms.)
_CJK = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
WITHOUT_SPACES = f"{_CJK}\u0e00-\u0eff"
"""Scripts without spaces between words, or with particles joined to them, for a class of characters: also Thai and Lao."""

_WORD = re.compile(f"[{_CJK}]|[^\\s{_CJK}]+")
_ANY_CJK = re.compile(f"[{_CJK}]")


_LETTER = re.compile("[^\\W_]|[\u2600-\u27bf\U0001f000-\U0001faff]")


def has_word(text: str) -> bool:
    """Whether a text has a letter, a digit or an emoji: something to find, besides white space and punctuation."""
    return _LETTER.search(without_invisible(text)) is not None


def count_words(text: str) -> int:
    """The number of words of a text: runs without white space, and each Chinese, Japanese or Korean character."""
    if text.isascii() or not _ANY_CJK.search(text):
        return len(text.split())
    return len(_WORD.findall(text))


def end_of_words(text: str, words: int, start: int = 0) -> int:
    """The end of the first ``words`` words from ``start`` and of the white space behind them, or the text's end."""
    for number, match in enumerate(_WORD.finditer(text, start)):
        if number == words:
            return match.start()
    return len(text)


_BEGINNING = 60  # characters


def first_words(text: str, most: int = _BEGINNING) -> str:
    """The beginning of a text as a literal of Python on one line, in which nothing is obeyed by a terminal."""
    line = " ".join(text[: 8 * most].split())
    if len(line) <= most and len(text) <= 8 * most:
        return repr(line)
    words = line[: most - 3].rpartition(" ")[0] or line[: most - 3]
    return repr(f"{words}...")

"""The sentences of a text one by one, and starts of a text that end where a sentence or a word does."""

from __future__ import annotations

import re
from bisect import bisect_right

from leafspan.words import count_words

# Possessive, so that time stays linear in long runs of dots.
_END = re.compile(
    r"""(?<![.!?…])(?P<stop>[.!?…]++["'”’»)\]]*+)(?P<space>\s++)   # a full stop, and what closes behind it
    | [。！？]++["'”’»）」』]*+\s*+
    | (?P<line>\n\s*+)""",
    re.VERBOSE,
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Gen|Col|Lt|Sgt|Rev|Hon|Sr|Jr|vs|cf|ca|Fig|figs?|Eq|No|vol|pp?|e\.g|i\.e|et\sal))\Z"
)
_LONG_LINE = 50


def sentences(text: str) -> list[str]:
    """The sentences, without white space around them; joined, they lack nothing of the text but white space.

    One ends at a full stop that neither an abbreviation nor a small letter makes doubtful, and at a line end, unless the
    line is at least 50 characters long and the next goes on with a letter or a digit, which is how wrapped text looks.
    """
    found = []
    start = 0
    for match in _END.finditer(text):
        if _ends(text, start, match):
            found.append(text[start : match.end()].strip())
            start = match.end()
    found.append(text[start:].strip())
    return [sentence for sentence in found if sentence]


def _ends(text: str, start: int, match: re.Match[str]) -> bool:
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
    """The words of a text; a run without spaces counts a word for every twelve characters, as in leaves."""
    return max(count_words(text), len(text) // 12)


def first_words(text: str, limit: int) -> str:
    """The longest start with a size of at most ``limit`` that does not end within a word; one endless word is cut."""
    text = text.strip()
    if size(text) <= limit:
        return text
    end = bisect_right(range(len(text)), limit, key=lambda length: size(text[:length])) - 1
    start = text[:end]
    # Where it was the words that ran out, a new one begins here.
    within = count_words(text[: end + 1]) <= limit and not any(map(str.isspace, text[end - 1 : end + 1]))
    return start.rsplit(maxsplit=1)[0] if within else start.strip()


def first_sentences(text: str, limit: int) -> str:
    """The longest start of whole sentences with a size of at most ``limit``; of a longer first sentence its first words."""
    if size(text) <= limit:
        return text.strip()
    end = 0
    for sentence in sentences(text):
        after = text.index(sentence, end) + len(sentence)
        if size(text[:after].strip()) > limit:
            break
        end = after
    return text[:end].strip() or first_words(text, limit)

"""The beginning of a text, for a ``repr``."""

from __future__ import annotations

_BEGINNING = 60  # characters


def first_words(text: str, most: int = _BEGINNING) -> str:
    """The beginning of a text as a literal of Python on one line, in which nothing is obeyed by a terminal.

    Args:
        text: The text.
        most: Characters of it, at most. A longer text is cut after a word, if it has any, and ends with ``...``.
    """
    line = " ".join(text[: 8 * most].split())
    if len(line) <= most and len(text) <= 8 * most:
        return repr(line)
    words = line[: most - 3].rpartition(" ")[0] or line[: most - 3]
    return repr(f"{words}...")

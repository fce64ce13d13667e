"""Escapes foreign names for Markdown, so that they are no markup and end no table cell."""

from __future__ import annotations

import re

from leafspan.text._visible import visible

_MARKUP = re.compile(r"[\\`*\[<&|~$]|(?<!\w)_|_(?!\w)")  # _ within a word is no markup; notebooks set $ as a formula


def name_in_markdown(name: str) -> str:
    """A name on one line of Markdown, also in a cell of a table."""
    return _MARKUP.sub(r"\\\g<0>", visible(name))

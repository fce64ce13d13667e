"""Names of others in Markdown, where they stand as they are: they end no cell of a table, and are no markup."""

from __future__ import annotations

import re

from leafspan.text._visible import visible

_MARKUP = re.compile(r"[\\`*\[<&|~$]|(?<!\w)_|_(?!\w)")  # an underscore within a word is none; notebooks set $ as a formula


def name_in_markdown(name: str) -> str:
    """A name on one line of Markdown, also in a cell of a table."""
    return _MARKUP.sub(r"\\\g<0>", visible(name))

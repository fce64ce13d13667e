"""Where the commands write to."""

from __future__ import annotations

import io
import sys

from rich.console import Console
from rich.text import Text


def console(*, stderr: bool = False, wrap: bool = False) -> Console:
    """Standard output or error as it is now; lines are wrapped for a terminal, others only with ``wrap``."""
    stream = sys.stderr if stderr else sys.stdout
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")  # a text may hold characters that a terminal's encoding has not
    return Console(file=stream, soft_wrap=not (wrap or stream.isatty()), highlight=False)


def plain(text: str, style: str = "") -> Text:
    """A text just as it is: no markup in it is followed, and no terminal's commands."""
    return Text(text.replace("\x1b", "\N{SYMBOL FOR ESCAPE}"), style)


def shortened(text: str, characters: int) -> str:
    """The text on one line of at most so many characters, of which the last is an ellipsis where it is cut."""
    line = " ".join(text.split())
    return line if len(line) <= characters else line[: characters - 1].rstrip() + "…"

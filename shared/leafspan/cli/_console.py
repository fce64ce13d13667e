"""Printing to standard output and standard error."""

from __future__ import annotations

import io
import sys

from rich.console import Console
from rich.text import Text

from leafspan.text import visible


def console(*, stderr: bool = False, wrap: bool = False) -> Console:
    """Return a console for the current standard output or standard error.

    Args:
        stderr: Whether to print to standard error. Default: False.
        wrap: Whether to wrap long lines if the output is not a terminal. For a terminal they are always wrapped. Default:
            False.
    """
    stream = (sys.stderr if stderr else sys.stdout) or io.StringIO()  # a process may have no stream
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")  # the encoding may not have all characters
    return Console(file=stream, soft_wrap=not (wrap or stream.isatty()), highlight=False)


def plain(text: str, style: str = "", *, lines: bool = False) -> Text:
    """Return a text that is printed literally: markup, terminal commands and invisible characters have no effect.

    Args:
        text: The text.
        style: Style of rich, such as ``"bold"``. Default: none.
        lines: Whether it may have several lines. Default: False.
    """
    return Text(visible(text, lines=lines), style)


def without_blank_lines(text: str) -> str:
    """Return the text without blank lines at its start and white space at its end. Its first line keeps its indentation."""
    start = len(text) - len(text.lstrip())
    return text[max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1 :].rstrip()


def shortened(text: str, characters: int) -> str:
    """Return the text on one line, cut to this number of characters. A cut text ends with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= characters else line[: characters - 1].rstrip() + "…"

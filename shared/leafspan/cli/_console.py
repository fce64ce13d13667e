"""Printing to standard output and standard error."""

from __future__ import annotations

import io
import sys

from rich.console import Console
from rich.text import Text

from leafspan.text import visible


def console(*, stderr: bool = False, wrap: bool = False) -> Console:
    """A console for standard output or standard error, as these are at the moment.

    Args:
        stderr: Whether to print to standard error. Default: False.
        wrap: Whether to wrap long lines if the output is not a terminal. For a terminal they are always wrapped.
            Default: False.
    """
    stream = (sys.stderr if stderr else sys.stdout) or io.StringIO()  # a process may have been given none
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")  # texts may have characters that the encoding lacks
    return Console(file=stream, soft_wrap=not (wrap or stream.isatty()), highlight=False)


def plain(text: str, style: str = "", *, lines: bool = False) -> Text:
    """A text that is printed as it is: markup, terminal commands and invisible characters in it have no effect.

    Args:
        text: The text.
        style: Style of rich, such as ``"bold"``. Default: none.
        lines: Whether it may have several lines. Default: False.
    """
    return Text(visible(text, lines=lines), style)


def shortened(text: str, characters: int) -> str:
    """The text on one line, cut to this number of characters. A text that is cut ends with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= characters else line[: characters - 1].rstrip() + "…"

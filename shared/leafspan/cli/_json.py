"""Prints JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

import typer

from leafspan.text import escaped_in_json


def print_json(value: Any, *, one_line: bool = False) -> None:
    """Print a value as JSON. Characters that the output cannot show, or a terminal would obey, are escaped.

    Args:
        value: Anything that JSON can hold.
        one_line: Whether to print it on one line. Default: False.
    """
    text = escaped_in_json(json.dumps(value, indent=None if one_line else 2, ensure_ascii=False))
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except UnicodeEncodeError:  # a file's name may have bytes that are not characters
        text = json.dumps(value, indent=None if one_line else 2)
    typer.echo(text)

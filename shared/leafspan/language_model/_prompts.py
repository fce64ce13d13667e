"""Prompts as templates with named fields."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from string import Formatter

from leafspan.checks import shown
from leafspan.errors import InvalidArgument


def check_template(prompt: object, fields: Mapping[str, object], *, optional: Collection[str] = ()) -> None:
    """Check that a prompt is a template with these fields, and no others."""
    names = " and ".join(f"{{{field}}}" for field in fields if field not in optional)
    names += "".join(f", if wanted {{{field}}}" for field in fields if field in optional)
    rule = f"prompt must be a text with {names}, and no other fields (braces of its own doubled)"
    if not isinstance(prompt, str):
        raise InvalidArgument(f"{rule}, got {shown(prompt)}")
    try:
        found = {field for _, field, _, _ in Formatter().parse(prompt) if field is not None}
        if set(fields) - set(optional) <= found <= set(fields):
            prompt.format(**fields)
            return
    except ValueError as error:
        raise InvalidArgument(f"{rule}, got {shown(prompt)}: {error}") from None
    raise InvalidArgument(f"{rule}, got {shown(prompt)}")

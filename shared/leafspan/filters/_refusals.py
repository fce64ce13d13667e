"""Errors about a filter in a dialect: they name the rule, and show the part of the filter that breaks it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from leafspan.errors import InvalidArgument

_LONGEST = 200  # characters of a part in a message


def refusal(rule: str, part: object, advice: str = "") -> InvalidArgument:
    """An error with the message ``where: {rule} in {part}; {advice}``. A long part is shortened."""
    try:
        text = repr(part)
    except Exception as error:  # nested too deep, or a user's own repr fails
        text = f"a part whose repr fails with {type(error).__name__}"
    shown = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    return InvalidArgument(f"where: {rule} in {shown}{f'; {advice}' if advice else ''}")


@contextmanager
def showing(part: object, advice: str = "") -> Iterator[None]:
    """Add the ``part`` of the filter, and advice, to every InvalidArgument that is raised inside."""
    try:
        yield
    except InvalidArgument as error:
        raise refusal(str(error), part, advice) from None

"""Errors about a filter in a dialect: the rule, and the part of the filter that breaks it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from leafspan.errors import InvalidArgument

_LONGEST = 200


def refusal(rule: str, part: object, advice: str = "") -> InvalidArgument:
    """``where: {rule} in {part}; {advice}``, with a long part cut short."""
    text = repr(part)
    shown = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    return InvalidArgument(f"where: {rule} in {shown}{f'; {advice}' if advice else ''}")


@contextmanager
def showing(part: object) -> Iterator[None]:
    """Adds ``part`` to what the checks of values have to say."""
    try:
        yield
    except InvalidArgument as error:
        raise refusal(str(error), part) from None

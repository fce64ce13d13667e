"""Strategies by names that users give them."""

from __future__ import annotations

from collections.abc import Mapping

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.strategies._strategy import Strategy, check_strategy


def check_named_strategies(option: str, one: str, value: object) -> dict[str, Strategy]:
    """The strategies by their names, as a copy that nobody else changes.

    Args:
        option: Name of the option in errors, such as ``"targets"``.
        one: What one of them is called, such as ``"target"``.
        value: What was given.

    Raises:
        InvalidArgument: if it is no mapping from texts that are not blank to strategies.
    """
    if not isinstance(value, Mapping):
        raise InvalidArgument(f"{option} must be a mapping from names to strategies, got {shown(value)}")
    for name, each in value.items():
        if not isinstance(name, str) or not name.strip():
            raise InvalidArgument(f"a name in {option} must be a text that is not blank, got {shown(name)}")
        check_strategy(f"{one} {name!r}", each)
    return dict(value)

"""Strategies by names, which users give them or which they have in configurations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from leafspan.checks import shown
from leafspan.config import config_name
from leafspan.errors import InvalidArgument
from leafspan.strategies._choosing import to_strategy
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


def name_strategies(option: str, strategies: Sequence[object], *, between: str = " ") -> dict[str, Strategy]:
    """The strategies of a list by the names that configurations have for them, such as ``"auto-merging"``.

    The first of those with the same name has it as it is, the others with a number, such as ``"hybrid 2"``.

    Args:
        option: Name of the option in errors, such as ``"strategies"``.
        strategies: Strategies, their names or their configurations.
        between: What stands before the number. Default: a space.

    Raises:
        InvalidArgument: if one is no strategy.
    """
    named: dict[str, Strategy] = {}
    met: Counter[str] = Counter()
    for given in strategies:
        made = to_strategy(f"each of {option}", given)
        name = given if isinstance(given, str) else config_name(type(made))
        met[name] += 1
        named[name if met[name] == 1 else f"{name}{between}{met[name]}"] = made
    return named

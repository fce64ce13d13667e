"""Strategies by name, in configurations or in a user's mapping."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from leafspan.checks import did_you_mean, shown
from leafspan.config import config_name, kind_named, kinds_below
from leafspan.errors import InvalidArgument
from leafspan.strategies._strategy import Strategy, check_strategy

StrategyLike = Strategy | str | Mapping[str, Any]
"""A strategy, its name such as ``"hybrid"``, or a mapping such as ``to_config`` returns."""


def to_strategy(name: str, value: object) -> Strategy:
    """The strategy for the value of the option ``name``.

    Raises:
        InvalidArgument: if no strategy has that name, an option of its configuration is out of its range, or the value is
            something else.
    """
    if isinstance(value, str) and kind_named(value, [Strategy]) is None:
        names = kinds_below(Strategy)
        alone = ", ".join(repr(each) for each in names if _stands_alone(each))
        raise InvalidArgument(f"{name} must be one of {alone}, got {shown(value)}{did_you_mean(value, names)}")
    if isinstance(value, str | Mapping | Path):
        return Strategy.from_config(value)
    check_strategy(name, value)
    assert isinstance(value, Strategy)
    return value


def _stands_alone(name: str) -> bool:
    """Whether the strategy of this name needs no options."""
    try:
        Strategy.from_config(name)
    except InvalidArgument:
        return False
    return True


def check_named_strategies(option: str, one: str, value: object) -> dict[str, Strategy]:
    """A checked copy of the strategies by name."""
    if not isinstance(value, Mapping):
        raise InvalidArgument(f"{option} must be a mapping from names to strategies, got {shown(value)}")
    for name, each in value.items():
        if not isinstance(name, str) or not name.strip():
            raise InvalidArgument(f"a name in {option} must be a text that is not blank, got {shown(name)}")
        check_strategy(f"{one} {name!r}", each)
    return dict(value)


def name_strategies(option: str, strategies: Sequence[object], *, between: str = " ") -> dict[str, Strategy]:
    """The strategies of a list by their names in configurations, such as ``"auto-merging"``.

    The first strategy of a name has the name alone, later ones have a number, such as ``"hybrid 2"``.

    Args:
        option: Name of the option in errors, such as ``"strategies"``.
        strategies: Strategies, their names or their configurations.
        between: Text before the number. Default: a space.

    Raises:
        InvalidArgument: if one is not a strategy.
    """
    named: dict[str, Strategy] = {}
    met: Counter[str] = Counter()
    for given in strategies:
        made = to_strategy(f"each of {option}", given)
        name = given if isinstance(given, str) else config_name(type(made))
        met[name] += 1
        named[name if met[name] == 1 else f"{name}{between}{met[name]}"] = made
    return named

"""A strategy from what a user says of it: itself, its name, or its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leafspan.checks import did_you_mean, shown
from leafspan.config import kind_named, kinds_below
from leafspan.errors import InvalidArgument
from leafspan.strategies._strategy import Strategy, check_strategy

StrategyLike = Strategy | str | Mapping[str, Any]
"""What stands for a strategy: one, a name such as ``"hybrid"``, or a mapping such as ``to_config`` gives."""


def to_strategy(name: str, value: object) -> Strategy:
    """The strategy that an option of this name stands for.

    Raises:
        InvalidArgument: if there is none of that name, an option of its configuration is out of its range, or it is
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

"""What a strategy is: its context, its base class, and its name in configurations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from leafspan.checks import did_you_mean, short_repr, shown, what_makes_one, with_option_names
from leafspan.config import (
    Location,
    config_name,
    kind_named,
    kinds_below,
    load_config,
    read_config,
    register,
    register_later,
    write_config,
)
from leafspan.errors import InvalidArgument
from leafspan.strategies._requests import RetrievalContext, StrategyFlow
from leafspan.values import Candidate, Query

_OF_A_CALL = ("k", "candidates", "budget", "where", "min_score", "timeout")
"""Options of ``View.retrieve`` that not every strategy has."""


class Strategy(ABC):
    """A frozen value that finds spans of leaves. Subclass it to write a strategy of your own.

    ``retrieve`` is the one method that a subclass must have. It is written once, without I/O, as a generator of requests.
    The properties below say what is special about a strategy; a subclass overrides those that differ. See
    docs/write-a-strategy.md for a worked example.
    """

    # A base class, not a protocol: subclasses inherit defaults, and a misspelt flag would go unnoticed in a lookup by name.
    __slots__ = ()

    configurable: ClassVar[bool] = True
    """Whether configurations can name the class. False if only leafspan itself makes it."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.configurable:
            register(cls)
        if cls.__repr__ is Strategy.__repr__:
            cls.__repr__ = Strategy.__repr__  # type: ignore[method-assign]  # so that ``dataclass`` makes none
        if {"__init__", "__dataclass_fields__"} <= vars(cls).keys():  # dataclass makes the class again, for its slots
            cls.__init__ = with_option_names(cls.__init__, of_a_call=_OF_A_CALL)  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """The class with the options that differ from their defaults."""
        return short_repr(self) if is_dataclass(self) else super().__repr__()

    @abstractmethod
    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """A list of candidates for each query, best first.

        Args:
            queries: The questions, each as text, vector, or both.
            context: The number of results to find, the filter, and more.
        """

    @property
    def finds_spans(self) -> bool:
        """Whether candidates can be longer than one leaf, or summaries, so that no strategy can merge or widen them."""
        return False

    @property
    def needs_query(self) -> bool:
        """Whether it needs a query. If not, None and a blank text are queries, too."""
        return True

    @property
    def returns_all(self) -> bool:
        """Whether it returns everything it finds without ``k`` and ``budget``. Other strategies return five results.

        Such a strategy is run again with more candidates until it finds no new result.
        """
        return False

    @property
    def looks_once(self) -> bool:
        """Whether it finds the same for any number of candidates, so that it need not run again with more of them."""
        return False

    @property
    def query_instruction(self) -> str:
        """Text before each query when it is embedded."""
        return ""

    def with_summaries(self) -> Strategy | None:
        """The same strategy that also searches the summaries of the trees, or None if it cannot."""
        return None

    def to_config(self, *, given: Mapping[str, object] | None = None, full: bool = False) -> dict[str, Any]:
        """The strategy as plain values, from which ``from_config`` makes an equal one.

        Args:
            given: Objects that cannot be written, such as functions, by name. The name is written in their place.
                Default: none.
            full: Whether to write options that have their default, too. Default: False.

        Raises:
            InvalidArgument: if an option cannot be written, such as a function that is not among ``given``.
        """
        written = write_config(self, given or {}, full=full)
        return written if isinstance(written, dict) else {"type": written}

    @classmethod
    def from_config(cls, config: str | Mapping[str, Any] | Path, *, given: Mapping[str, object] | None = None) -> Self:
        """The strategy that a configuration describes.

        Args:
            config: The name of a strategy, such as ``"auto-merging"``; a mapping with the name as ``type``, and the options
                that differ from their defaults; or the ``pathlib.Path`` of a file in YAML or JSON that has one of these.
            given: Objects by name; each one replaces ``{"given": name}``. Default: none.

        Raises:
            InvalidArgument: if a name is unknown, or an option is out of its range; the message says where.
        """
        place = Location()
        if isinstance(config, Path):
            config, place = load_config(config)
        if not isinstance(config, str | Mapping):
            raise place.error(f"a strategy must be a name or a mapping, got {shown(config)}")
        made: Self = read_config(config, cls, given or {}, place)
        return made


register_later(Strategy, "leafspan.strategies", "leafspan.sources", "leafspan.private")


def check_strategy(name: str, value: object) -> None:
    """Check that an option is a strategy.

    Raises:
        InvalidArgument: if it is not.
    """
    if not isinstance(value, Strategy):
        forgotten = isinstance(value, type) and issubclass(value, Strategy)
        hint = "; did you forget the parentheses?" if forgotten else what_makes_one(value, ["as_strategy"])
        raise InvalidArgument(f"{name} must be a strategy such as Vector(), got {shown(value)}{hint}")


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
    counts: Counter[str] = Counter()
    for each in strategies:
        made = to_strategy(f"each of {option}", each)
        name = each if isinstance(each, str) else config_name(type(made))
        counts[name] += 1
        named[name if counts[name] == 1 else f"{name}{between}{counts[name]}"] = made
    return named

"""The strategies' tunable options, and the values to try."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from leafspan.lab.tuning._options import Kind
from leafspan.lexical import BM25Settings
from leafspan.strategies import BM25, AutoMerging, Ensemble, Hybrid, RelevantSegments, SentenceWindow, Strategy, Vector

LEAF = "leaf_words"
"""The only parameter that is an option of the index, and not of the strategy."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One number of a strategy that can be changed.

    Attributes:
        name: Where it is in the strategy, such as ``"base.neighbour_bonus"``.
        values: The values to try, in order, including the strategy's present value.
        read: Returns the strategy's value.
        change: Returns the strategy with another value.
    """

    name: str
    values: tuple[Any, ...]
    read: Callable[[Strategy], Any]
    change: Callable[[Strategy, Any], Strategy]


def parameters_of(strategy: Strategy, kinds: Collection[Kind], bm25: BM25Settings) -> list[Parameter]:
    """The tunable parameters of a strategy and of its inner strategies. The outermost come first."""
    own = _ensemble(strategy) if isinstance(strategy, Ensemble) else _GRIDS.get(type(strategy), ())
    found = [each.parameter(strategy, bm25) for each in own if each.kind in kinds and each.applies(strategy)]
    for field in fields(strategy):  # type: ignore[arg-type]
        inner = getattr(strategy, field.name)
        if isinstance(inner, Strategy):
            found += [_of_part(field.name, None, each) for each in parameters_of(inner, kinds, bm25)]
        elif isinstance(inner, tuple):
            parts = [(place, part) for place, part in enumerate(inner) if isinstance(part, Strategy)]
            found += [
                _of_part(field.name, place, each) for place, part in parts for each in parameters_of(part, kinds, bm25)
            ]
    return found


def leaf_length(present: int | None, lengths: Sequence[int]) -> Parameter:
    """The longest leaf of an index, which a strategy does not know."""
    return Parameter(LEAF, _with_value(tuple(sorted(lengths)), present), lambda _: present, lambda strategy, _: strategy)


def with_values(strategy: Strategy, parameters: Sequence[Parameter], values: Mapping[str, Any]) -> Strategy:
    """The strategy with other values of some parameters, by their names."""
    for each in parameters:
        if each.name in values:
            strategy = each.change(strategy, values[each.name])
    return strategy


def _of_part(option: str, place: int | None, parameter: Parameter) -> Parameter:
    """The same parameter for an outer strategy that has this strategy as an option, or in a list of strategies."""

    def part(whole: Strategy) -> Strategy:
        given = getattr(whole, option)
        return given if place is None else given[place]  # type: ignore[no-any-return]

    def read(whole: Strategy) -> Any:
        return parameter.read(part(whole))

    def change(whole: Strategy, value: Any) -> Strategy:
        changed: Any = parameter.change(part(whole), value)
        if place is not None:
            given = getattr(whole, option)
            changed = (*given[:place], changed, *given[place + 1 :])
        return _with(whole, {option: changed})

    name = option if place is None else f"{option}.{place + 1}"
    return Parameter(f"{name}.{parameter.name}", parameter.values, read, change)


def _with(strategy: Any, options: Mapping[str, Any]) -> Strategy:
    return replace(strategy, **options)  # type: ignore[no-any-return]


def _always(_: Any) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class _Grid:
    """The values to try for one number of a class of strategies.

    Attributes:
        kind: The kind of the option.
        name: Its name in the class.
        values: The values to try, in order.
        read: Returns a strategy's value, given the strategy and the index's BM25 settings.
        options: Returns the options that another value changes, given the strategy, the settings and the value.
        applies: Whether the number has an effect in a strategy.
    """

    kind: Kind
    name: str
    values: tuple[Any, ...]
    read: Callable[[Any, BM25Settings], Any]
    options: Callable[[Any, BM25Settings, Any], dict[str, Any]]
    applies: Callable[[Any], bool] = _always

    def parameter(self, strategy: Strategy, bm25: BM25Settings) -> Parameter:
        def read(each: Strategy) -> Any:
            return self.read(each, bm25)

        def change(each: Strategy, value: Any) -> Strategy:
            return _with(each, self.options(each, bm25, value))

        return Parameter(self.name, _with_value(self.values, read(strategy)), read, change)


def _with_value(values: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    """The values with another one at a place. None, for no limit, keeps its place."""
    if value in values:
        return values
    numbers = sorted([value, *(each for each in values if each is not None)])
    if None not in values:
        return tuple(numbers)
    return (None, *numbers) if values[0] is None else (*numbers, None)


def _plain(kind: Kind, name: str, *values: Any, applies: Callable[[Any], bool] = _always) -> _Grid:
    """The grid of an option that is one number."""

    def read(strategy: Any, _: BM25Settings) -> Any:
        return getattr(strategy, name)

    def options(_: Any, __: BM25Settings, value: Any) -> dict[str, Any]:
        return {name: value}

    return _Grid(kind, name, values, read, options, applies)


def _of_bm25(name: str, *values: float, applies: Callable[[Any], bool] = _always) -> _Grid:
    """The grid of a number in ``BM25Settings``."""

    def read(strategy: Any, bm25: BM25Settings) -> Any:
        return getattr(strategy.bm25 or bm25, name)

    def options(strategy: Any, bm25: BM25Settings, value: Any) -> dict[str, Any]:
        return {"bm25": replace(strategy.bm25 or bm25, **{name: value})}

    return _Grid("weights", f"bm25.{name}", values, read, options, applies)


def _share_of_bm25(strategy: Any, _: BM25Settings) -> float:
    words, vectors = map(float, strategy.weights)
    return round(words / (words + vectors), 3)


def _weights(_: Any, __: BM25Settings, share: float) -> dict[str, Any]:
    return {"weights": (share, round(1 - share, 3))}


def _scale(place: int, name: str) -> _Grid:
    """The grid of one of the three numbers of ``Hybrid.scales``."""

    def read(strategy: Any, _: BM25Settings) -> Any:
        return strategy.scales[place]

    def options(strategy: Any, _: BM25Settings, value: Any) -> dict[str, Any]:
        scales = list(strategy.scales)
        scales[place] = value
        return {"scales": tuple(scales)}

    return _Grid("weights", f"scales.{name}", (0.0, 0.1, 0.2, 0.3, 0.5, 0.8), read, options, _scores_are_relative)


def _scores_are_relative(strategy: Hybrid) -> bool:
    return strategy.fusion == "relative_score"


def _has_scales(strategy: Hybrid) -> bool:
    return _scores_are_relative(strategy) and any(strategy.scales)


def _hybrid() -> Iterator[_Grid]:
    yield _Grid("weights", "weights", (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9), _share_of_bm25, _weights)
    for place, name in enumerate(("parent", "section", "document")):
        yield _scale(place, name)
    yield _plain("weights", "soft_matches", 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, applies=_has_scales)
    yield _plain("weights", "neighbour_bonus", 0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)
    yield _plain("weights", "references", 0.0, 0.3, 0.6, 0.9)
    yield _of_bm25("k1", 0.3, 0.6, 0.9, 1.2, 1.6, 2.0)
    yield _of_bm25("b", 0.0, 0.2, 0.4, 0.6, 0.8)
    yield _plain(
        "thresholds",
        "min_answer_probability",
        *(None, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
        applies=lambda strategy: bool(strategy.scores_are_probabilities),
    )


def _ensemble(strategy: Ensemble) -> Iterator[_Grid]:
    """The grids of the weights of all retrievers except the first one, whose weight is 1."""
    if strategy.fusion == "maximum":  # then a weight changes the meaning of a score
        return
    for place in range(1, len(strategy.retrievers)):

        def read(ensemble: Any, _: BM25Settings, place: int = place) -> Any:
            return round(float(_relative(ensemble)[place]), 3)

        def options(ensemble: Any, _: BM25Settings, value: Any, place: int = place) -> dict[str, Any]:
            weights = _relative(ensemble)
            return {"weights": (*weights[:place], value, *weights[place + 1 :])}

        values = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
        yield _Grid("weights", f"weights.{place + 1}", values, read, options)


def _relative(ensemble: Ensemble) -> list[float]:
    """The weights of all retrievers as multiples of the first retriever's weight."""
    weights = ensemble.weights or [1.0] * len(ensemble.retrievers)
    return [each / weights[0] for each in weights]


_GRIDS: Mapping[type[Strategy], Sequence[_Grid]] = {
    Hybrid: tuple(_hybrid()),
    BM25: (
        _of_bm25("k1", 0.3, 0.6, 0.9, 1.2, 1.6, 2.0),
        _of_bm25("b", 0.0, 0.2, 0.4, 0.6, 0.8),
    ),
    Vector: (_plain("thresholds", "min_score", None, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6),),
    SentenceWindow: (
        _plain("windows", "after", 0, 1, 2, 3, 4),
        _plain("windows", "before", 0, 1, 2, 3, 4),
        _plain("windows", "max_words", 60, 100, 200, 300, 500, None),
    ),
    RelevantSegments: (
        _plain("windows", "run_cost", 0, 5, 10, 20, 30, 50, 80, 120),
        _plain("windows", "max_words", 60, 100, 200, 300, 500, None),
    ),
    AutoMerging: (
        _plain("windows", "fill_gaps", 0, 1, 2, 3),
        _plain("windows", "max_words", 100, 200, 400, 600, 1_000, None),
        _plain("thresholds", "threshold", 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
    ),
}

"""The strategies inside of a strategy, and where each of them is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from leafspan.strategies import Strategy

Place = tuple[str | int, ...]
"""A name or number for each step into a strategy."""


def inside(strategy: Strategy, place: Place = ()) -> Iterator[tuple[Place, Strategy]]:
    """The strategies inside of a strategy with their places, those further in first, and at last itself."""
    if is_dataclass(strategy):
        for each in fields(strategy):
            for step, found in _strategies_in(getattr(strategy, each.name)):
                yield from inside(found, (*place, each.name, *step))
    yield place, strategy


def _strategies_in(value: object) -> Iterator[tuple[Place, Strategy]]:
    if isinstance(value, Strategy):
        yield (), value
    elif isinstance(value, Mapping):
        yield from (((str(name),), each) for name, each in value.items() if isinstance(each, Strategy))
    elif isinstance(value, list | tuple):
        yield from (((number,), each) for number, each in enumerate(value) if isinstance(each, Strategy))


def changed(thing: Any, place: Place, value: object) -> Any:
    """A strategy with another value at a place. Nothing is changed in place."""
    name, *rest = place
    if isinstance(thing, Mapping):
        return {**thing, name: changed(thing[name], tuple(rest), value) if rest else value}
    if isinstance(thing, list | tuple):
        new = [changed(each, tuple(rest), value) if rest else value for each in [thing[int(name)]]]
        return (*thing[: int(name)], *new, *thing[int(name) + 1 :])
    return replace(thing, **{str(name): changed(getattr(thing, str(name)), tuple(rest), value) if rest else value})


def in_words(place: Place) -> str:
    """A place as one would write it in Python, such as ``retrievers[1].depth``."""
    text = ""
    for number, step in enumerate(place):
        is_key = isinstance(step, int) or (number > 0 and place[number - 1] in ("retrievers", "targets"))
        text += f"[{step!r}]" if is_key else f"{'.' if text else ''}{step}"
    return text

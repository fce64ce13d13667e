"""Makes a strategy from the options of a host's retriever, and plain values of the options."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from functools import cache
from inspect import getattr_static
from typing import Any

from leafspan.checks import shown, what_makes_one
from leafspan.config import Location, hints_of, read_option, write_config
from leafspan.errors import InvalidArgument
from leafspan.filters import Where
from leafspan.spans import Budget
from leafspan.strategies import Strategy
from leafspan.view import View

LIMITS = ("k", "candidates", "budget", "where")
"""Options of ``View.retrieve`` that a strategy may have, too. For a retriever they are options of the call."""

CALL_OPTIONS = (*LIMITS, "min_score", "per_document", "as_of")


class LastStrategy:
    """The strategy that a retriever was last asked with, kept until one of its options is another object.

    A retriever is compared, copied and pickled without it.
    """

    def __init__(self) -> None:
        self._made: tuple[dict[str, object], Strategy] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LastStrategy)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[LastStrategy], tuple[()]]:
        return LastStrategy, ()

    def of(self, kind: type[Strategy], retriever: object, converted: Mapping[str, object]) -> Strategy:
        """The strategy of this retriever, made and checked only if an option has changed."""
        options = {name: getattr(retriever, name) for name in _plain_names(kind, retriever, converted)}
        options |= {name: value for name, value in converted.items() if value is not None or name in _required(kind)}
        earlier, strategy = self._made or ({}, None)
        if strategy is None or not (
            options.keys() == earlier.keys() and all(map(_are_same, options.values(), earlier.values()))
        ):
            strategy = kind(**options)
            self._made = options, strategy
        return strategy


def _are_same(one: object, other: object) -> bool:
    """Whether two options are one object, or lists or mappings of the same strategies, as a host makes them."""
    if isinstance(one, dict) and isinstance(other, dict) and list(one) == list(other):
        return _are_same(list(one.values()), list(other.values()))
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return all(isinstance(a, Strategy) and a is b for a, b in zip(one, other, strict=True))
    return one is other


def plain_options(
    kind: type[Strategy], retriever: object, strategy: Strategy, converted: Collection[str]
) -> dict[str, Any]:
    """The options of a retriever in the strategy's form, which differs for some names and types."""
    if not isinstance(strategy, kind):
        return {}
    return {name: getattr(strategy, name) for name in _plain_names(kind, retriever, converted)}


def _plain_names(kind: type[Strategy], retriever: object, converted: Collection[str]) -> list[str]:
    """The options that the retriever has in the same form as the strategy."""
    return [name for name in _own_names(kind) if name not in converted and hasattr(retriever, name)]


@cache
def _own_names(kind: type[Strategy]) -> tuple[str, ...]:
    """The strategy's options without the call's options."""
    return tuple(each.name for each in fields(kind) if each.name not in LIMITS)  # type: ignore[arg-type]


@cache
def names_to_convert(kind: type[Strategy]) -> tuple[str, ...]:
    """The options of a retriever that a strategy needs in another form."""
    converted = {"generate": "llm"} | {name: name for name in ("base", "retrievers", "targets", "choose", "how", "rerank")}
    return tuple(converted[name] for name in _own_names(kind) if name in converted)


@cache
def _required(kind: type[Strategy]) -> frozenset[str]:
    """The options of a strategy that have no default."""
    return frozenset(each.name for each in fields(kind) if each.default is each.default_factory is MISSING)  # type: ignore[arg-type]


def check_index(index: object) -> None:
    """Check that an option is an index, a view or None."""
    if index is not None and not isinstance(index, View):
        raise InvalidArgument(f"index must be an Index or a view of one, got {shown(index)}")


def check_base_retriever(name: str, thing: object, host: str) -> Strategy:
    """A base that must be a strategy, since it is not a retriever of the host."""
    if not isinstance(thing, Strategy):
        hint = what_makes_one(thing, ["as_strategy", "as_retriever"])
        raise InvalidArgument(f"{name} must be a strategy or a {host} retriever, got {shown(thing)}{hint}")
    return thing


def is_plain(retriever: object, base: type, methods: Collection[str]) -> bool:
    """Whether a retriever inherits these methods from ``base``, so that it only runs its strategy."""
    return all(getattr_static(retriever, name) is getattr_static(base, name) for name in methods)


_COMMON: Mapping[str, Any] = {"strategy": Strategy, "where": Where | None, "budget": int | Budget | None}


def write_options(
    kind: type[Strategy] | None, options: Mapping[str, object], objects: Mapping[str, object] | None, *, strict: bool = True
) -> dict[str, Any]:
    written: dict[str, Any] = dict(options)
    for name, value in options.items():
        try:
            written[name] = write_config(value, objects or {}, base=_hints(kind).get(name, Any))
        except InvalidArgument as error:
            if strict:
                raise InvalidArgument(f"{name}: {error}") from error
    return written


def read_options(
    kind: type[Strategy] | None, options: Mapping[str, Any], objects: Mapping[str, object] | None = None
) -> dict[str, Any]:
    """A retriever's options, made from plain values. Values that are not plain stay unchanged."""
    # The call itself checks options such as a filter, unless ``write_options`` wrote them.
    hints = ({} if kind is None else hints_of(kind)) if objects is None else _hints(kind)
    return {name: read_option(value, hints.get(name, Any), objects, Location((name,))) for name, value in options.items()}


def _hints(kind: type[Strategy] | None) -> Mapping[str, Any]:
    return _COMMON if kind is None else {**hints_of(kind), **_COMMON}

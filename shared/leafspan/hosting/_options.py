"""Makes a strategy from the options of a host's retriever, and plain values of the options."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields
from functools import cache
from inspect import getattr_static
from typing import Any

from leafspan.checks import shown, what_makes_one
from leafspan.config import Place, hints_of, read_option, write_config
from leafspan.errors import InvalidArgument
from leafspan.filters import Where
from leafspan.spans import Budget
from leafspan.strategies import Strategy
from leafspan.view import View

LIMITS = ("k", "candidates", "budget", "where")
"""Options of ``View.retrieve`` that a strategy may have, too. For a retriever they are options of the call."""

CALL_OPTIONS = (*LIMITS, "min_score", "per_document")
"""The options of a call of ``View.retrieve``."""


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
def _required(kind: type[Strategy]) -> frozenset[str]:
    """The options of a strategy that have no default."""
    return frozenset(each.name for each in fields(kind) if each.default is each.default_factory is MISSING)  # type: ignore[arg-type]


def to_strategies(retrievers: object, to_strategy: Callable[[str, object], Strategy]) -> object:
    """The retrievers of an ensemble as a list of strategies."""
    if not isinstance(retrievers, Sequence) or isinstance(retrievers, str):
        return retrievers
    return [to_strategy(f"retriever {number}", each) for number, each in enumerate(retrievers, start=1)]


def to_named_strategies(one: str, given: object, to_strategy: Callable[[str, object], Strategy]) -> object:
    """The retrievers of a router, or the targets of references, as strategies by name."""
    if not isinstance(given, Mapping):
        return given
    return {name: to_strategy(f"{one} {name!r}", each) if isinstance(name, str) else each for name, each in given.items()}


def check_index(index: object, strategy: Strategy | None = None) -> None:
    """Check that an option is an index, a view or None, and that the strategy can search it."""
    check_view = getattr(strategy, "check_view", None)
    if check_view is not None and isinstance(index, View):
        check_view(index)
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
_TYPE, _OPTIONS = "type", "init_parameters"


def write_options(
    kind: type[Strategy] | None, options: Mapping[str, object], given: Mapping[str, object] | None, *, strict: bool = True
) -> dict[str, Any]:
    """The options of a retriever as plain values."""
    written: dict[str, Any] = dict(options)
    for name, value in options.items():
        try:
            written[name] = write_config(value, given or {}, base=_hints(kind).get(name, Any))
        except InvalidArgument as error:
            if strict:
                raise InvalidArgument(f"{name}: {error}") from error
    return written


def read_options(
    kind: type[Strategy] | None, options: Mapping[str, Any], given: Mapping[str, object] | None = None
) -> dict[str, Any]:
    """A retriever's options, made from plain values. Values that are not plain stay unchanged."""
    # The call itself checks options such as a filter, unless ``write_options`` wrote them.
    hints = ({} if kind is None else hints_of(kind)) if given is None else _hints(kind)
    return {name: read_option(value, hints.get(name, Any), given, Place((name,))) for name, value in options.items()}


def own_options(
    with_defaults: Mapping[str, tuple[object, object]], unwrapped: Callable[[object], object]
) -> dict[str, Any]:
    """The options of a retriever that differ from their defaults."""
    own = {name: value for name, (value, default) in with_defaults.items() if not _same(value, default)}
    return {name: _each(value, unwrapped) for name, value in own.items()}


def write_retriever(
    retriever: object, kind: type[Strategy] | None, options: Mapping[str, object], given: Mapping[str, object] | None
) -> dict[str, Any]:
    """A retriever as plain values, as Haystack has them: its class, and its options as ``write_options`` gives them."""
    return {_TYPE: _name(type(retriever)), _OPTIONS: write_options(kind, options, given)}


def read_retriever(
    retriever: type, kind: type[Strategy] | None, data: object, given: Mapping[str, object] | None
) -> dict[str, Any]:
    """The options from the plain values that ``write_retriever`` made of a retriever of this class."""
    options = data.get(_OPTIONS) if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or not isinstance(options, Mapping) or data.get(_TYPE) != _name(retriever):
        rule = f"data must be what to_dict of {retriever.__qualname__} gives, with type {_name(retriever)!r} and {_OPTIONS}"
        raise InvalidArgument(f"{rule}, got {shown(data)}")
    return read_options(kind, options, given or {})


def _name(retriever: type) -> str:
    return f"{retriever.__module__}.{retriever.__qualname__}"


def _same(value: object, default: object) -> bool:
    with suppress(Exception):  # a comparison may be foreign code, such as an array's
        return value is default or (isinstance(value, bool) == isinstance(default, bool) and bool(value == default))
    return False


def _each(value: object, change: Callable[[object], object]) -> object:
    """Apply ``change`` to a value, or to each value of a list or mapping."""
    if isinstance(value, Mapping):
        return {name: change(each) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [change(each) for each in value]
    return change(value)


def _hints(kind: type[Strategy] | None) -> Mapping[str, Any]:
    return _COMMON if kind is None else {**hints_of(kind), **_COMMON}

"""The options of a host's retriever as plain values, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from leafspan.checks import shown
from leafspan.config import Place, hints_of, read_option, write_config
from leafspan.errors import InvalidArgument
from leafspan.filters import Where
from leafspan.spans import Budget
from leafspan.strategies import Strategy

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

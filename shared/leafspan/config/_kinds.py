"""The classes that a configuration can name, and their options' type hints."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import Field, fields, is_dataclass
from functools import cache
from importlib import import_module
from itertools import chain
from typing import Any, Union

from leafspan.errors import InvalidArgument

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_kinds: dict[str, list[type]] = {}
_bases: set[type] = set()  # the registered classes and their base classes
_later: dict[type, tuple[str, ...]] = {}  # for each base class, packages with subclasses that may not be imported yet


@cache
def config_name(kind: type | str) -> str:
    """Return the name in configurations of a class or a class's name: ``"auto-merging"`` for ``AutoMerging``."""
    return _WORD.sub("-", kind if isinstance(kind, str) else kind.__name__).lower()


def register(kind: type) -> None:
    """Let configurations name a class, a dataclass or one whose base class is registered.

    A class replaces an earlier one of the same module and name. ``dataclass(slots=True)`` makes such classes.
    """
    same_name = _kinds.setdefault(config_name(kind), [])
    same_name[:] = [
        each for each in same_name if (each.__module__, each.__qualname__) != (kind.__module__, kind.__qualname__)
    ]
    if kind.__module__.startswith("leafspan."):
        same_name.insert(0, kind)  # a user's class may have been registered before it was imported
    else:
        same_name.append(kind)
    _bases.update(kind.__mro__[:-1])  # without object


def register_later(base: type, *packages: str) -> None:
    """Also look for subclasses of ``base`` in these packages. Each package is imported when its name is looked up."""
    _bases.add(base)
    _later[base] = packages


def _import_named(name: str) -> None:
    """Import the class with this name, so that it registers itself."""
    for package in chain.from_iterable(_later.values()):
        module = import_module(package)
        for each in module.__all__:
            if config_name(each) == name:
                getattr(module, each)


def kinds_below(base: type) -> dict[str, type]:
    """Return the registered dataclasses that are this class or inherit from it, by name.

    If several have the same name, the first one keeps it: no user's class can replace one of leafspan's.
    """
    for each, packages in _later.items():
        if issubclass(each, base) or issubclass(base, each):
            for module in map(import_module, packages):
                for name in module.__all__:
                    getattr(module, name)  # imports the class, which registers itself
    firsts = {name: kinds[0] for name, kinds in sorted(_kinds.items())}
    return {name: kind for name, kind in firsts.items() if issubclass(kind, base) and is_dataclass(kind)}


def kind_named(name: object, bases: Sequence[type]) -> type | None:
    """Return the registered dataclass with this name that is one of the bases or inherits from it, or None."""
    if not isinstance(name, str):
        return None
    _import_named(name)
    kind = next(iter(_kinds.get(name, ())), None)
    return kind if kind is not None and is_dataclass(kind) and issubclass(kind, tuple(bases)) else None


def is_registered(kind: object) -> bool:
    """Whether it is a registered class, which configurations refer to by name."""
    if not isinstance(kind, type):
        return False
    _import_named(config_name(kind))  # a user's class may have the same name as one of leafspan's
    return kind in _kinds.get(config_name(kind), ())[:1]


@cache
def hints_of(kind: type) -> Mapping[str, Any]:
    """Return the type hints of a class's options. An unresolvable hint of a user's class allows anything."""
    try:
        return typing.get_type_hints(kind)
    except (NameError, TypeError):
        return {each.name: each.type if not isinstance(each.type, str) else Any for each in options_of(kind)}


def options_of(kind: type) -> list[Field[Any]]:
    if not is_dataclass(kind):
        raise InvalidArgument(f"a class must be a dataclass to have a configuration, got {kind.__qualname__}")
    return [each for each in fields(kind) if each.init]


def alternatives(hint: Any) -> tuple[Any, ...]:
    """Return a union's parts, or the hint alone."""
    if typing.get_origin(hint) in (Union, types.UnionType):
        return tuple(part for each in typing.get_args(hint) for part in alternatives(each))
    return (hint,)


def classes_in(hint: Any) -> list[type]:
    """Return the classes of values with this hint that are registered, or have registered subclasses."""
    return [each for each in alternatives(hint) if isinstance(each, type) and each in _bases]


def item_hint(hint: Any) -> Any:
    """Return the hint of a list's items or of a mapping's values."""
    for each in alternatives(hint):
        origin = typing.get_origin(each)
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return typing.get_args(each)[1]
        if isinstance(origin, type) and issubclass(origin, Sequence):
            return typing.get_args(each)[0]
    return Any


def is_mapping(hint: Any) -> bool:
    """Whether a value with this hint can be a mapping with the user's own names."""
    origins = [typing.get_origin(each) or each for each in alternatives(hint)]
    return any(isinstance(each, type) and issubclass(each, Mapping) for each in origins)

"""The classes that a configuration can name, and what the type hints of their options say."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import Field, fields, is_dataclass
from functools import cache
from importlib import import_module
from typing import Any, Union

from leafspan.errors import InvalidArgument

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_kinds: dict[str, list[type]] = {}
_bases: set[type] = set()  # the registered classes and what they inherit from
_settings: dict[str, tuple[type, Mapping[str, Any]]] = {}
_later: set[str] = set()  # packages whose classes have not all been imported


def config_name(kind: type) -> str:
    """The name of a class in configurations: ``"auto-merging"`` for ``AutoMerging``."""
    return _WORD.sub("-", kind.__name__).lower()


def register(kind: type) -> None:
    """Let configurations name a class, a dataclass or one whose base class is registered.

    A class that takes the place of another one of the same module and name, as ``dataclass(slots=True)`` makes it, takes
    its place here as well.
    """
    known = _kinds.setdefault(config_name(kind), [])
    known[:] = [each for each in known if (each.__module__, each.__qualname__) != (kind.__module__, kind.__qualname__)]
    if kind.__module__.startswith("leafspan."):
        known.insert(0, kind)  # one of a user's may have been there before it was imported
    else:
        known.append(kind)
    _bases.update(kind.__mro__[:-1])  # but for object


def register_later(package: str) -> None:
    """Import all that a package offers before a name is looked up, so that its classes have registered themselves."""
    _later.add(package)


def _import_all() -> None:
    for package in tuple(_later):
        module = import_module(package)
        for name in dir(module):
            getattr(module, name)
        _later.discard(package)  # another thread may have done the same


def register_setting(name: str, kind: type, **options: Any) -> None:
    """Let a name of its own stand for a registered class with these options."""
    _settings[name] = kind, options


def settings_below(base: type) -> dict[str, tuple[type, Mapping[str, Any]]]:
    """The names that stand for this class, or one that inherits from it, with options, and what they stand for."""
    _import_all()
    return {name: (kind, options) for name, (kind, options) in list(_settings.items()) if issubclass(kind, base)}


def names_below(base: type) -> list[str]:
    """The names that stand for objects of this class, or of one that inherits from it."""
    return sorted([*kinds_below(base), *settings_below(base)])


def kinds_below(base: type) -> dict[str, type]:
    """The registered dataclasses that are this class or inherit from it, by name.

    Of classes with the same name, the name stands for the first one: nobody takes one of leafspan's own away.
    """
    _import_all()
    firsts = {name: kinds[0] for name, kinds in sorted(_kinds.items())}
    return {name: kind for name, kind in firsts.items() if issubclass(kind, base) and is_dataclass(kind)}


def is_registered(kind: object) -> bool:
    """Whether it is a registered class, for which its name stands."""
    _import_all()
    return isinstance(kind, type) and kind in _kinds.get(config_name(kind), ())[:1]


@cache
def hints_of(kind: type) -> Mapping[str, Any]:
    """The type hints of a class's options. A hint of a user's class that cannot be resolved allows anything."""
    try:
        return typing.get_type_hints(kind)
    except (NameError, TypeError):
        return {each.name: each.type if not isinstance(each.type, str) else Any for each in options_of(kind)}


def options_of(kind: type) -> list[Field[Any]]:
    """The options of a dataclass.

    Raises:
        InvalidArgument: if it is none.
    """
    if not is_dataclass(kind):
        raise InvalidArgument(f"a class must be a dataclass to have a configuration, got {kind.__qualname__}")
    return [each for each in fields(kind) if each.init]


def alternatives(hint: Any) -> tuple[Any, ...]:
    """The parts of a union, or the hint alone."""
    if typing.get_origin(hint) in (Union, types.UnionType):
        return tuple(part for each in typing.get_args(hint) for part in alternatives(each))
    return (hint,)


def classes_in(hint: Any) -> list[type]:
    """The classes that a value with this hint can be of, which are registered, or of which registered ones are made."""
    _import_all()
    return [each for each in alternatives(hint) if isinstance(each, type) and each in _bases]


def item_hint(hint: Any) -> Any:
    """The hint of the items of a list or of the values of a mapping."""
    for each in alternatives(hint):
        origin = typing.get_origin(each)
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return typing.get_args(each)[1]
        if isinstance(origin, type) and issubclass(origin, Sequence):
            return typing.get_args(each)[0]
    return Any


def is_mapping(hint: Any) -> bool:
    """Whether a value with this hint can be a mapping of the user's own names."""
    origins = [typing.get_origin(each) or each for each in alternatives(hint)]
    return any(isinstance(each, type) and issubclass(each, Mapping) for each in origins)

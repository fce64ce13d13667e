"""Puts a change of a module into effect in this process, after everything has been imported.

Each function gets its code and defaults from the changed module, and each class its plain values. So all importers of a
function get the changed function, without another import.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

_PLAIN = (bool, int, float, str, bytes, tuple, frozenset, re.Pattern, type(None))


def apply(module: str, code: str) -> None:
    """Give the functions of a module their code from the module's changed text.

    Args:
        module: Path of the module below ``shared/leafspan``.
        code: The changed text.
    """
    name = "leafspan." + module.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    live = importlib.import_module(name)
    changed = ModuleType(name)
    changed.__file__ = live.__file__
    changed.__package__ = live.__package__
    # Dataclasses look their module up while they are made.
    exec(compile(code, live.__file__ or name, "exec"), vars(changed))
    functions = dict(_functions(vars(live), name))
    for path, new in _functions(vars(changed), name):
        old = functions.get(path)
        if old is not None and old.__code__.co_freevars == new.__code__.co_freevars:
            old.__code__ = new.__code__
            if len(old.__defaults__ or ()) == len(new.__defaults__ or ()):
                pairs = zip(old.__defaults__ or (), new.__defaults__ or (), strict=True)
                old.__defaults__ = tuple(map(_default, pairs)) or None
            elif _plain(new.__defaults__):
                old.__defaults__ = new.__defaults__
            if old.__kwdefaults__ and new.__kwdefaults__ and old.__kwdefaults__.keys() == new.__kwdefaults__.keys():
                both = {key: (value, new.__kwdefaults__[key]) for key, value in old.__kwdefaults__.items()}
                old.__kwdefaults__ = {key: _default(pair) for key, pair in both.items()}
    for each, value in list(vars(changed).items()):
        if not each.startswith("__") and isinstance(value, _PLAIN) and vars(live).get(each) != value:
            setattr(live, each, value)
    for each, new_class in list(vars(changed).items()):
        old_class = vars(live).get(each)
        if isinstance(new_class, type) and isinstance(old_class, type) and new_class.__module__ == name:
            for attribute, value in list(vars(new_class).items()):
                if not attribute.startswith("__") and isinstance(value, _PLAIN) and vars(old_class).get(attribute) != value:
                    setattr(old_class, attribute, value)


def _default(pair: tuple[Any, Any]) -> Any:
    """The new value of a default if the value is plain. Others, such as marks of dataclasses, are new objects each time."""
    old, new = pair
    return new if isinstance(new, _PLAIN) and new != old else old


def _plain(values: Any) -> bool:
    return all(isinstance(value, _PLAIN) for value in values or ())


def _functions(namespace: dict[str, Any], module: str, path: str = "") -> Iterator[tuple[str, FunctionType]]:
    """The functions of a module and of its classes, by their place, without their decorators."""
    for name, value in list(namespace.items()):
        place = f"{path}.{name}"
        if isinstance(value, type):
            if value.__module__ == module and not path:
                yield from _functions(dict(vars(value)), module, place)
            continue
        for kind, function in _unwrapped(value):
            if function.__module__ == module or path:
                yield f"{place} {kind}", function


def _unwrapped(value: Any) -> Iterator[tuple[str, FunctionType]]:
    if isinstance(value, property):
        for kind in ("fget", "fset", "fdel"):
            if getattr(value, kind) is not None:
                yield from ((kind, function) for _, function in _unwrapped(getattr(value, kind)))
        return
    for attribute in ("__func__", "func", "__wrapped__"):
        inner = value.__dict__.get(attribute) if attribute == "__wrapped__" and hasattr(value, "__dict__") else None
        inner = inner or (getattr(value, attribute, None) if attribute != "__wrapped__" else None)
        if inner is not None and not isinstance(value, FunctionType):
            yield from _unwrapped(inner)
            return
        if inner is not None and attribute == "__wrapped__":
            yield from _unwrapped(inner)
            return
    if isinstance(value, FunctionType):
        yield "", value

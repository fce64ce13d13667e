"""Turns a configuration's plain values into an object."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from typing import Any

from leafspan.checks import did_you_mean, shown
from leafspan.config._kinds import (
    alternatives,
    classes_in,
    config_name,
    hints_of,
    is_mapping,
    item_hint,
    kind_named,
    kinds_below,
    options_of,
)
from leafspan.config._writing import REFERENCE, TYPE, is_reference
from leafspan.errors import InvalidArgument
from leafspan.filters import Where, to_filter

Path = tuple[str | int, ...]

_FIRST_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Location:
    """Where a value is in a configuration, for errors."""

    path: Path = ()  # the keys and numbers that lead to it
    source: str = ""  # the file's name. Empty without a file
    lines: Mapping[Path, int] = field(default_factory=dict, repr=False)

    def __truediv__(self, key: str | int) -> Location:
        return Location((*self.path, key), self.source, self.lines)

    def __str__(self) -> str:
        line = next(
            (self.lines[self.path[:end]] for end in range(len(self.path), -1, -1) if self.path[:end] in self.lines), 0
        )
        file = f"{self.source}, line {line}" if self.source and line else self.source or (f"line {line}" if line else "")
        path = "".join(f"[{shown(key)}]" if isinstance(key, int) else f".{key}" for key in self.path).removeprefix(".")
        # A lone surrogate cannot be printed, and makes pydantic raise another error.
        return ": ".join(part for part in (file, path) if part).encode(errors="backslashreplace").decode()

    def error(self, message: str) -> InvalidArgument:
        place = str(self)
        return InvalidArgument(f"{place}: {message}" if place else message)


def read_config(plain: object, base: type, objects: Mapping[str, object], place: Location) -> Any:
    """Return a configuration's object. ``objects`` are those that the configuration names."""
    return _Reading(objects).value(plain, base, place)


def read_option(value: object, hint: Any, objects: Mapping[str, object] | None, place: Location) -> Any:
    """Read an option that may contain configurations. Values that are not, or cannot be, configurations stay unchanged."""
    reading, items = _Reading(objects or {}), item_hint(hint)
    try:
        if objects is not None and is_reference(value):
            return reading.value(value, hint, place)
        if isinstance(value, str | Mapping | Sequence) and (classes_in(hint) or Where in alternatives(hint)):
            return reading.value(value, hint, place)
        if isinstance(value, Mapping) and classes_in(items):
            return {key: reading.value(each, items, place / str(key)) for key, each in value.items()}
        if isinstance(value, list | tuple) and classes_in(items):
            return [reading.value(each, items, place / number) for number, each in enumerate(value)]
    except RecursionError:  # too deep for a configuration
        pass
    return value


class _Reading:
    def __init__(self, objects: Mapping[str, object]) -> None:
        self._objects = objects

    def value(self, plain: Any, hint: Any, place: Location) -> Any:
        if is_reference(plain):
            if (name := plain[REFERENCE]) not in self._objects:
                raise place.error(f"{name!r} must be given beside the configuration: given={{{name!r}: ...}}")
            return self._objects[name]
        bases = classes_in(hint)
        if isinstance(plain, str) and bases and str not in alternatives(hint):
            kinds = {} if kind_named(plain, bases) else _possible_kinds(bases)
            if len(kinds) == 1:  # a text instead of the options of the only possible class
                [(name, kind)] = kinds.items()
                or_number = " or a whole number" if int in alternatives(hint) else ""
                first = options_of(kind)[0].name
                raise place.error(f"{name} must be a mapping with options such as {first}{or_number}, got {shown(plain)}")
            return self._object({TYPE: plain}, bases, place)
        if isinstance(plain, Mapping) and bases:
            return self._object(plain, bases, place)
        if isinstance(plain, str | Mapping) and Where in alternatives(hint):
            try:
                return to_filter(plain)
            except InvalidArgument as error:
                raise place.error(str(error)) from error
        if isinstance(plain, Mapping):
            items = item_hint(hint) if is_mapping(hint) else Any
            return {key: self.value(each, items, place / key) for key, each in plain.items()}
        if isinstance(plain, Sequence) and not isinstance(plain, str | bytes):
            return tuple(self.value(each, item_hint(hint), place / number) for number, each in enumerate(plain))
        return plain

    def _object(self, plain: Mapping[str, Any], bases: Sequence[type], place: Location) -> Any:
        if TYPE in plain:
            name = plain[TYPE]
            if (kind := kind_named(name, bases)) is None:
                names = sorted(_possible_kinds(bases))
                raise (place / TYPE if place.path or len(plain) > 1 else place).error(
                    f"type must be one of {', '.join(names)}, got {shown(name)}{did_you_mean(name, names)}"
                )
        else:
            kinds = _possible_kinds(bases)
            if len(kinds) != 1:
                raise place.error(f"type must name one of {', '.join(kinds)}, got {shown(dict(plain))}")
            [kind] = kinds.values()
        options = {key: each for key, each in plain.items() if key != TYPE}
        fields = {each.name: each for each in options_of(kind)}
        for key in options:
            if key not in fields:
                raise (place / key).error(f"{config_name(kind)} has no option {shown(key)}{did_you_mean(key, fields)}")
        for key, each in fields.items():
            if key not in options and each.default is each.default_factory is MISSING:
                raise place.error(f"{config_name(kind)} must have {key}")
        hints = hints_of(kind)
        read = {name: self.value(each, hints[name], place / name) for name, each in options.items()}
        try:
            return kind(**read)
        except InvalidArgument as error:
            # An option's message starts with the option's name.
            about = _FIRST_WORD.match(str(error))
            raise (place / about[0] if about and about[0] in options else place).error(str(error)) from error


def _possible_kinds(bases: Sequence[type]) -> dict[str, type]:
    return {name: kind for base in bases for name, kind in kinds_below(base).items()}

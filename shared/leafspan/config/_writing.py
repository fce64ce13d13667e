"""Turns an object into its configuration's plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import MISSING
from typing import Any

from leafspan.checks import is_number, shown, whole_number
from leafspan.config._kinds import classes_in, config_name, hints_of, is_registered, item_hint, options_of
from leafspan.errors import InvalidArgument
from leafspan.filters import Where

TYPE = "type"
GIVEN = "given"


def write_config(value: object, given: Mapping[str, object], *, base: Any = Any, full: bool = False) -> Any:
    """Return the plain values from which ``read_config`` makes an equal object."""
    return _Writing(given, full).value(value, base, "")


def is_given(value: object) -> bool:
    """Whether plain values refer to an object that is passed beside them: ``{"given": name}``."""
    return isinstance(value, Mapping) and list(value) == [GIVEN] and isinstance(value[GIVEN], str)


class _Writing:
    def __init__(self, given: Mapping[str, object], full: bool) -> None:
        self._names = {id(value): name for name, value in given.items()}
        self._full = full

    def value(self, value: object, hint: Any, place: str) -> Any:
        if id(value) in self._names and value is not None:
            return {GIVEN: self._names[id(value)]}
        if value is None or isinstance(value, bool | int | str):
            return value
        if (number := whole_number(value)) is not None:
            return number
        if is_number(value):
            return float(value)  # type: ignore[arg-type]
        if isinstance(value, Where):
            return repr(value)
        if is_registered(type(value)):
            return self._object(value, hint, place)
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value) and not is_given(value):
            written = {key: self.value(each, item_hint(hint), f"{place}.{key}") for key, each in value.items()}
            # A class written only by its name would be read as the name of a given object here.
            return {GIVEN: {TYPE: written[GIVEN]}} if is_given(written) else written
        if isinstance(value, Sequence | AbstractSet) and not isinstance(value, bytes):
            items = sorted(value, key=repr) if isinstance(value, AbstractSet) else value
            return [self.value(each, item_hint(hint), f"{place}[{number}]") for number, each in enumerate(items)]
        raise InvalidArgument(
            f"{place.removeprefix('.') or 'it'} must be plain values to be written, got {shown(value)}: name it in given=, "
            "when writing and when reading"
        )

    def _object(self, value: object, hint: Any, place: str) -> Any:
        kind: Any = type(value)
        hints = hints_of(kind)
        written: dict[str, Any] = {}
        for each in options_of(kind):
            option = getattr(value, each.name)
            default = each.default if each.default_factory is MISSING else each.default_factory()
            if self._full or default is MISSING or bool(option != default) or type(option) is not type(default):
                written[each.name] = self.value(option, hints[each.name], f"{place}.{each.name}")
        if classes_in(hint) == [kind]:
            return written
        return {TYPE: config_name(kind), **written} if written or not place else config_name(kind)

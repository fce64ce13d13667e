"""Writes an object as plain values of a configuration, and the JSON schema of configurations."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import MISSING
from typing import Any, Literal

from leafspan.checks import is_number, shown, whole_number
from leafspan.config._kinds import (
    alternatives,
    classes_in,
    config_name,
    hints_of,
    is_registered,
    item_hint,
    kinds_below,
    options_of,
)
from leafspan.errors import InvalidArgument
from leafspan.filters import Where

TYPE = "type"
REFERENCE = "given"


def write_config(value: object, objects: Mapping[str, object], *, base: Any = Any, full: bool = False) -> Any:
    """Return the plain values from which ``read_config`` makes an equal object."""
    return _Writing(objects, full).value(value, base, "")


def is_reference(value: object) -> bool:
    """Whether plain values refer to an object that is passed beside them: ``{"given": name}``."""
    return isinstance(value, Mapping) and list(value) == [REFERENCE] and isinstance(value[REFERENCE], str)


class _Writing:
    def __init__(self, objects: Mapping[str, object], full: bool) -> None:
        self._names = {id(value): name for name, value in objects.items()}
        self._full = full

    def value(self, value: object, hint: Any, place: str) -> Any:
        if id(value) in self._names and value is not None:
            return {REFERENCE: self._names[id(value)]}
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
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value) and not is_reference(value):
            written = {key: self.value(each, item_hint(hint), f"{place}.{key}") for key, each in value.items()}
            # A class written only by its name would be read as the name of a given object here.
            return {REFERENCE: {TYPE: written[REFERENCE]}} if is_reference(written) else written
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


_PLAIN = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
_OPTION = re.compile(r"^    (\w+): (.*(?:\n        .*)*)", re.MULTILINE)
_REFERENCE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {REFERENCE: {"type": "string"}},
    "required": [REFERENCE],
    "additionalProperties": False,
    "description": "A function or other object, by the name under which the program gives it.",
}


def schema_of(base: type) -> dict[str, Any]:
    """Return the JSON schema for configurations of a class and its subclasses."""
    schema = _Schema()
    top = schema.of_base(base)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **top,
        "$defs": dict(sorted(schema.definitions.items())),
    }


class _Schema:
    def __init__(self) -> None:
        self.definitions: dict[str, Any] = {}

    def of_base(self, base: type) -> dict[str, Any]:
        """Return the schema for any registered class that is this one or inherits from it: its name, or a mapping."""
        subclasses = kinds_below(base)
        if base.__name__ not in self.definitions:
            self.definitions[base.__name__] = {}  # so that classes that refer to each other are described once
            names: list[Any] = [] if len(subclasses) == 1 else [{"enum": sorted(subclasses)}]
            kinds = [self._of_kind(name, kind, alone=len(subclasses) == 1) for name, kind in subclasses.items()]
            self.definitions[base.__name__] = {"anyOf": [*names, *kinds, _REFERENCE_SCHEMA]}
        return {"$ref": f"#/$defs/{base.__name__}"}

    def _of_kind(self, name: str, kind: type, *, alone: bool) -> dict[str, Any]:
        hints, texts = hints_of(kind), _texts(kind)
        properties: dict[str, Any] = {TYPE: {"const": name}}
        required = [] if alone else [TYPE]
        for each in options_of(kind):
            properties[each.name] = {**self.of_hint(hints[each.name]), **_described(texts.get(each.name), each)}
            if each.default is each.default_factory is MISSING:
                required.append(each.name)
        summary = (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")
        described = {"description": summary} if summary else {}
        return {
            **described,
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }

    def of_hint(self, hint: Any) -> dict[str, Any]:
        parts: list[dict[str, Any]] = []
        for each in alternatives(hint):
            part = self._of_part(each)
            if part not in parts:
                parts.append(part)
        return parts[0] if len(parts) == 1 else {"anyOf": parts}

    def _of_part(self, hint: Any) -> dict[str, Any]:
        if classes_in(hint):
            return self.of_base(hint)
        if hint in _PLAIN:
            return {"type": _PLAIN[hint]}
        if hint is Where:
            return {"type": ["string", "object"], "description": 'A filter such as F("year") >= 2020.'}
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is Literal:
            return {"enum": list(arguments)}
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of_hint(arguments[1])}
        if origin is tuple and Ellipsis not in arguments:
            items = [self.of_hint(each) for each in arguments]
            return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
        if isinstance(origin, type) and issubclass(origin, Sequence):
            return {"type": "array", "items": self.of_hint(arguments[0])}
        return _REFERENCE_SCHEMA if callable(hint) and origin is not None else {}


def _texts(kind: type) -> dict[str, str]:
    """Return each option's description in the docstring."""
    return {name: re.sub(r"\s+", " ", text).strip() for name, text in _OPTION.findall(inspect.getdoc(kind) or "")}


def _described(text: str | None, option: Any) -> dict[str, Any]:
    described: dict[str, Any] = {"description": text} if text else {}
    default = option.default if option.default_factory is MISSING else option.default_factory()
    if default is not MISSING and default is not None:
        with suppress(InvalidArgument):  # a function
            described["default"] = write_config(default, {})
    return described

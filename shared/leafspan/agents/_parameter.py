"""A tool's parameters: their schema for the model, and the check of the model's values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leafspan.checks import check_choice, check_flag, check_text, check_whole, did_you_mean, shown
from leafspan.errors import InvalidArgument

_MISSING = ("", "null", "none")  # of models that fill in every argument
_JSON_TYPES = {str: "string", int: "integer", bool: "boolean", dict: "object"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A named value that a model can give to a tool."""

    name: str
    kind: type
    description: str
    default: Any = None
    required: bool = False
    least: int = 0
    most: int | None = None
    choices: tuple[str, ...] = ()
    or_object: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        """Its JSON schema."""
        schema: dict[str, Any] = {"type": _JSON_TYPES[self.kind], "description": self.description}
        if self.kind is int:
            schema["minimum"] = self.least
            if self.most is not None:
                schema["maximum"] = self.most
        if self.kind is str and self.most is not None:
            schema["maxLength"] = self.most
        if self.choices:
            schema["enum"] = list(self.choices)
        if self.default is not None:
            schema["default"] = self.default
        return schema

    def checked(self, value: Any) -> Any:
        """The checked value. A whole number such as 300.0 becomes an int, and so does the text "300".

        Raises:
            InvalidArgument: if the value has another type, or is out of its range.
        """
        value = value if self.kind is str else _from_text(value)
        if self.choices:
            check_choice(self.name, value, self.choices)
        elif self.or_object and isinstance(value, Mapping):
            pass
        elif self.kind is str:
            check_text(self.name, value)
            if self.most is not None and len(value) > self.most:
                raise InvalidArgument(f"{self.name} must have at most {self.most} characters, got {len(value)}")
        elif self.kind is bool:
            check_flag(self.name, value)
        elif self.kind is dict:
            if not isinstance(value, Mapping):
                raise InvalidArgument(f"{self.name} must be an object, got {shown(value)}")
        else:
            value = int(value) if isinstance(value, float) and value.is_integer() else value
            value = check_whole(self.name, value, self.least)
            if self.most is not None and value > self.most:
                raise InvalidArgument(f"{self.name} must be at most {self.most}, got {value}")
        return value


def _from_text(value: Any) -> Any:
    """The value in a text, since many clients write all values as texts. Anything else stays as it is."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value.lower() if value.strip().isalpha() else value)  # True of Python is true
    except (ValueError, RecursionError):
        return value


def schema_of(parameters: Sequence[Parameter]) -> dict[str, Any]:
    """The JSON schema of the arguments of a tool."""
    return {
        "type": "object",
        "properties": {each.name: each.schema for each in parameters},
        "required": [each.name for each in parameters if each.required],
        "additionalProperties": False,
    }


def read_arguments(tool: str, parameters: Sequence[Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """All checked arguments of a call by name. An argument that is missing or None has its default.

    Raises:
        InvalidArgument: if an argument is unknown, missing, of another type, or out of its range.
    """
    known = {each.name: each for each in parameters}
    for name in given:
        if name not in known:
            raise InvalidArgument(f"{tool} takes {', '.join(known)}, got {shown(name)}{did_you_mean(name, known)}")
    arguments = {}
    for name, each in known.items():
        value = given.get(name)
        if each.kind is not str and isinstance(value, str) and value.strip().lower() in _MISSING:
            value = None
        if value is None and each.required:
            raise InvalidArgument(f"{tool} must be given {name}")
        arguments[name] = each.default if value is None else each.checked(value)
    return arguments

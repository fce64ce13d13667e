"""A tool of an agent, for any framework that offers it to a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from leafspan.agents._citations import shortened
from leafspan.checks import check_choice, check_flag, check_text, check_whole, did_you_mean, shown
from leafspan.errors import InvalidArgument, RetrievalTimeout
from leafspan.flows import Flow, arun_within, run_within
from leafspan.text import escaped_in_json, visible
from leafspan.values import Passage

_MISSING = ("", "null", "none")  # of models that fill in every argument
_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object"}


def _schema(kind: Any) -> dict[str, Any]:
    """The JSON schema of a type, of a list with one type, or of an object with types by its keys; of ``object``, any."""
    if isinstance(kind, list):
        return {"type": "array", "items": _schema(kind[0])}
    if isinstance(kind, Mapping):
        return {"type": "object", "properties": {key: _schema(each) for key, each in kind.items()}}
    return {} if kind is object else {"type": _JSON_TYPES[kind]}


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
        bounds = {int: {"minimum": self.least, "maximum": self.most}, str: {"maxLength": self.most}}.get(self.kind, {})
        limits = {**bounds, "enum": list(self.choices) or None, "default": self.default}
        present = {name: value for name, value in limits.items() if value is not None}
        return {"type": _JSON_TYPES[self.kind], "description": self.description, **present}

    def checked(self, value: Any) -> Any:
        """The checked value. A whole number such as 300.0 becomes an int, and so does the text "300"."""
        value = value if self.kind is str else _from_text(value)
        if self.choices:
            check_choice(self.name, value, self.choices)
        elif self.kind is str and not (self.or_object and isinstance(value, Mapping)):
            check_text(self.name, value)
            if self.most is not None and len(value) > self.most:
                raise InvalidArgument(f"{self.name} must have at most {self.most} characters, got {len(value)}")
        elif self.kind is bool:
            check_flag(self.name, value)
        elif self.kind is dict and not isinstance(value, Mapping):
            raise InvalidArgument(f"{self.name} must be an object, got {shown(value)}")
        elif self.kind is int:
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


def read_arguments(tool: str, parameters: Sequence[Parameter], values: Mapping[str, Any]) -> dict[str, Any]:
    """All checked arguments of a call by name. An argument that is missing or None has its default."""
    by_name = {each.name: each for each in parameters}
    for name in values:
        if name not in by_name:
            raise InvalidArgument(f"{tool} takes {', '.join(by_name)}, got {shown(name)}{did_you_mean(name, by_name)}")
    arguments = {}
    for name, each in by_name.items():
        value = values.get(name)
        if each.kind is not str and isinstance(value, str) and value.strip().lower() in _MISSING:
            value = None
        if value is None and each.required:
            raise InvalidArgument(f"{tool} must be given {name}")
        arguments[name] = each.default if value is None else each.checked(value)
    return arguments


_LONGEST_ERROR = 2_000  # characters


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool."""

    content: dict[str, Any]  # plain values, as JSON has them
    passages: tuple[Passage, ...] = ()  # of ``content``, in its order, for code that cites or shows them

    @property
    def text(self) -> str:
        """The content as JSON, for a model: no document text can end a value, control a terminal, or turn writing."""
        return _as_json(self.content)

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The content for a model that cites: JSON without the cited texts, and each of them as a ``search_result``."""
        parts = self.content.get("passages", [self.content])
        cited = [each for each in parts if "citation" in each and each["text"].strip()]  # Anthropic refuses other texts
        rest = self.content | ({"passages": [*map(_without_text, parts)]} if "passages" in self.content else {})
        blocks = (
            search_result(each["citation"], (each.get("title"), *each.get("headings", ())), each["text"]) for each in cited
        )
        return [{"type": "text", "text": _as_json(_without_text(rest))}, *blocks]


def _without_text(part: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name != "text" or "citation" not in part}


def title_with(above: Iterable[str | None]) -> str:
    """A document's title and the headings above a text as one text; headings that repeat are left out."""
    return " > ".join(dict.fromkeys(filter(None, above)))


def search_result(citation: str, above: Iterable[str | None], text: str) -> dict[str, Any]:
    """A text with its citation, and the title and headings above it, as a block of Anthropic's API."""
    return {
        "type": "search_result",
        "source": citation,
        "title": title_with(above) or citation,
        "content": [{"type": "text", "text": text}],
        "citations": {"enabled": True},
    }


def _as_json(content: object) -> str:
    return escaped_in_json(json.dumps(content, ensure_ascii=False))


def error_text(error: Exception) -> str:
    """An error for a model: message and notes on one line, at most 2,000 characters, without control characters."""
    message = "; ".join([str(error), *getattr(error, "__notes__", [])])
    return shortened(visible(" ".join(message[: 2 * _LONGEST_ERROR].split())), _LONGEST_ERROR)


Action = Callable[[Mapping[str, Any]], Flow[ToolResult]]  # a tool's function of its checked arguments


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A function over a view that a model can call: it passes arguments, and gets plain values with citations."""

    name: str
    description: str  # for the model: at most 1,024 characters, as some models demand
    parameters: tuple[Parameter, ...]
    action: Action
    timeout: float | None = None  # seconds, > 0, after which a call ends with an error
    writes: bool = False  # changes documents
    deletes: bool = False  # may lose earlier documents
    citation_blocks: bool = False  # hosts give a model a result's blocks instead of its text
    returns: Mapping[str, Any] = field(default_factory=dict)  # the types of its result's content, which may lack keys

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        return {
            "type": "object",
            "properties": {each.name: each.schema for each in self.parameters},
            "required": [each.name for each in self.parameters if each.required],
            "additionalProperties": False,
        }

    @property
    def output_schema(self) -> dict[str, Any]:
        """The JSON schema of its result's content."""
        return _schema(self.returns)

    def most(self, parameter: str) -> int | None:
        """The largest value, or the greatest length, of a parameter."""
        return next(each.most for each in self.parameters if each.name == parameter)

    def flow(self, arguments: Mapping[str, Any]) -> Flow[ToolResult]:
        """The tool's result for these arguments, as a flow."""
        return self.action(read_arguments(self.name, self.parameters, arguments))

    def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """The tool's result for these arguments."""
        with self._late_writes():
            return run_within(self.flow(arguments), self.timeout)

    async def acall(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Like ``call``, without blocking the event loop."""
        with self._late_writes():
            return await arun_within(self.flow(arguments), self.timeout)

    @contextmanager
    def _late_writes(self) -> Iterator[None]:
        """A context in which the error of a late change says that the change may still be made."""
        try:
            yield
        except RetrievalTimeout as error:
            if not self.writes:
                raise
            rule = f"{self.name} must be done within its timeout, and may still be done later"
            raise RetrievalTimeout(f"{rule}: check whether it was, and try again") from error

"""Configurations as text, in YAML or JSON."""

from __future__ import annotations

import json
import re
from functools import cache
from math import isfinite
from pathlib import Path as FilePath
from typing import Any, ClassVar

from leafspan.checks import reason_of, shown
from leafspan.config._reading import Location, Path
from leafspan.errors import InvalidArgument

_DEEPEST = 100
_MOST_BYTES = 1_000_000  # PyYAML takes a second or more for such a file
_STRANGE = re.compile(r"[^\n -~\u00a0-\u2027\u2030-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_NOT_IN_YAML = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_TAG = "tag:yaml.org,2002:"
# YAML 1.2's core schema, where "no" is a text and 1e3 a number. PyYAML itself follows YAML 1.1.
_PATTERNS = {
    "null": (r"~|null|Null|NULL|", "~nN"),
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": (r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    "float": (r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", "-+.0123456789"),
}


@cache
def _yaml() -> tuple[Any, Any]:
    """Return PyYAML's loader and dumper with these patterns. PyYAML is loaded at first use."""
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

    class Dumper(yaml.SafeDumper):  # type: ignore[misc]
        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

        def ignore_aliases(self, data: Any) -> bool:
            return True  # write equal parts in full

        def serialize(self, node: Any) -> None:
            if not isinstance(node, yaml.ScalarNode):
                node.flow_style = False  # of the top level: a line for each option, with plain values on one line
            super().serialize(node)

        def represent_str(self, data: str) -> Any:
            # Other styles lose unusual line ends.
            style = '"' if _STRANGE.search(data) else None
            return self.represent_scalar(f"{_TAG}str", data, style=style)

    Dumper.add_representer(str, Dumper.represent_str)

    for kind in (Loader, Dumper):
        for name, (pattern, first) in _PATTERNS.items():
            kind.add_implicit_resolver(f"{_TAG}{name}", re.compile(f"^(?:{pattern})$"), [*first, ""])
    return Loader, Dumper


def config_text(plain: object, *, json_text: bool = False) -> str:
    """Return plain values as YAML or JSON."""
    if json_text:
        return json.dumps(plain, indent=2, ensure_ascii=False) + "\n"
    import yaml

    return str(yaml.dump(plain, Dumper=_yaml()[1], sort_keys=False, default_flow_style=None, allow_unicode=True, width=100))


def load_config(path: str | FilePath) -> tuple[Any, Location]:
    """Like ``parse_config``, for a file."""

    def refused(reason: str) -> InvalidArgument:
        return InvalidArgument(f"a configuration must be a file in UTF-8, got {shown(str(path))}: {reason}")

    file = FilePath(path)
    try:
        if file.exists() and not file.is_file():  # such as a FIFO, which would block
            raise refused("it is a folder" if file.is_dir() else "it is no regular file")
        with file.open("rb") as opened:
            content = opened.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise refused(f"it has more than {_MOST_BYTES:,} bytes")
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise refused(f"line {line} has a byte that is not UTF-8") from error
    except InvalidArgument:
        raise
    except (OSError, ValueError) as error:
        raise refused(reason_of(error)) from error
    return parse_config(text, str(path))


def parse_config(text: str, source: str = "") -> tuple[Any, Location]:
    """Return a text's plain values in YAML or JSON, and the root place, which knows the line of each part."""
    import yaml

    lines: dict[Path, int] = {}
    place = Location((), source, lines)
    try:
        node = yaml.compose(_escaped(text), Loader=_yaml()[0])
    except (yaml.YAMLError, RecursionError) as error:
        problem, line = _what_is_wrong(error, text)
        lines.update({} if line is None else {(): line})
        raise place.error(f"a configuration must be YAML or JSON: {problem}") from None
    return None if node is None else _plain(node, place, lines, set()), place


def _escaped(text: str) -> str:
    """Escape control characters in a JSON text, which YAML does not allow. Other texts stay unchanged."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    return _NOT_IN_YAML.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _what_is_wrong(error: Exception, text: str) -> tuple[str, int | None]:
    """Return PyYAML's error about a text, and its line, or None if the line is unknown."""
    if (position := getattr(error, "position", None)) is not None:  # of an unreadable character
        return f"it must have no control characters, got {shown(text[position])}", text[:position].count("\n") + 1
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or str(error) or type(error).__name__
    hint = ": indent with spaces, not with tabs" if r"'\t'" in problem else ""
    return f"{problem}{hint}", None if mark is None else mark.line + 1


def _plain(node: Any, place: Location, lines: dict[Path, int], seen: set[int]) -> Any:
    """Return the plain value of a node of PyYAML, and note the lines of its parts."""
    lines.setdefault(place.path, node.start_mark.line + 1)
    if len(place.path) > _DEEPEST:
        raise place.error(f"a configuration must be at most {_DEEPEST} levels deep")
    if id(node) in seen:
        raise place.error("a configuration must have no aliases (*)")
    seen.add(id(node))
    match node.id, node.tag.removeprefix(_TAG):
        case "mapping", "map":
            values: dict[str, Any] = {}
            for key_node, value_node in node.value:
                key = key_node.value
                if not isinstance(key, str):
                    raise place.error("a key must be a text")
                of_key = place / key
                lines[of_key.path] = key_node.start_mark.line + 1
                if key in values:
                    raise of_key.error(f"{key} must occur once, and occurs twice")
                values[key] = _plain(value_node, of_key, lines, seen)
            return values
        case "sequence", "seq":
            return [_plain(each, place / number, lines, seen) for number, each in enumerate(node.value)]
        case "scalar", "str":
            return node.value
        case "scalar", "null":
            return None
        case "scalar", "bool":
            return node.value.lower() == "true"
        case "scalar", ("int" | "float") as kind:
            return _number(kind, node.value, place)
    raise place.error(f"a configuration must have no tags, got {shown(node.tag)}")


def _number(kind: str, text: str, place: Location) -> int | float:
    try:
        number = int(text, 0) if text[:2] in ("0x", "0o") else int(text) if kind == "int" else float(text)
        if isfinite(number):
            return number
    except (ValueError, OverflowError):  # an int of thousands of digits, too large for a float
        pass
    raise place.error(f"a number must be finite, and no larger than a float can be, got {shown(text)}")

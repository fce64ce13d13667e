"""Source code: finds classes, functions and other definitions with tree-sitter, and returns them as headings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from leafspan.errors import MissingExtra
from leafspan.splitting._headings import DEEPEST, Heading

_BLOCK_END = re.compile(rb"\W*(?:end\b\W*)?")
_LONGEST_NAME = 200  # characters
_ABOVE = ("comment", "line_comment", "block_comment", "attribute_item", "decorator", "attribute_list", "annotation")
# Nodes that wrap a definition.
_WITHIN = ("decorated_definition", "export_statement", "template_declaration", "type_declaration")
_NAMES = ("name", "declarator", "type")  # fields with a definition's name, or on the way to it


class _Language(NamedTuple):
    module: str
    types: frozenset[str]
    function: str = "language"


def _language(module: str, types: str, function: str = "language") -> _Language:
    return _Language(f"tree_sitter_{module}", frozenset(types.split()), function)


_SCRIPT = "class_declaration function_declaration generator_function_declaration method_definition"
_TYPED = (
    f"{_SCRIPT} abstract_class_declaration interface_declaration enum_declaration type_alias_declaration internal_module"
)
_C = "function_definition struct_specifier enum_specifier union_specifier"

LANGUAGES: Mapping[str, _Language] = {
    "python": _language("python", "class_definition function_definition"),
    "javascript": _language("javascript", _SCRIPT),
    "typescript": _language("typescript", _TYPED, "language_typescript"),
    "tsx": _language("typescript", _TYPED, "language_tsx"),
    "go": _language("go", "function_declaration method_declaration type_spec"),
    "rust": _language(
        "rust", "function_item struct_item enum_item union_item trait_item impl_item mod_item macro_definition"
    ),
    "java": _language(
        "java",
        "class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration "
        "method_declaration constructor_declaration",
    ),
    "c": _language("c", _C),
    "cpp": _language("cpp", f"{_C} class_specifier namespace_definition"),
    "csharp": _language(
        "c_sharp",
        "class_declaration interface_declaration struct_declaration enum_declaration record_declaration "
        "namespace_declaration method_declaration constructor_declaration",
    ),
    "ruby": _language("ruby", "class module method singleton_method"),
    "php": _language(
        "php",
        "class_declaration interface_declaration trait_declaration enum_declaration function_definition method_declaration",
        "language_php",
    ),
}
"""The languages that are split at their definitions, by name."""


class _Definition(NamedTuple):
    """A definition. Its places are bytes: the start, the end of the line with its name, and the end of its last line."""

    start: int
    named: int
    end: int
    depth: int
    name: str


def find_definitions(text: str, language: str) -> list[Heading]:
    """Return a source text's definitions as headings, each with the comments and decorators above it.

    Where a definition ends and something else follows, a heading without text follows, so that the rest is not below it.
    """
    data = text.encode()
    definitions = sorted(_definitions(parser_of(language).parse(data).root_node, data, LANGUAGES[language].types))
    marks = [(each.start, each.named, each.depth, each.name) for each in definitions]
    begins = {each.start for each in definitions} | {len(data)}
    next_text: dict[int, int] = {}
    marks += [
        (each.end, each.end, each.depth, "") for each in definitions if _next_text(data, each.end, next_text) not in begins
    ]
    place = _character_of(data)
    headings: list[Heading] = []
    for start, end, depth, name in sorted(marks):
        if headings and name and place(start) < headings[-1].end:
            continue  # it starts in another one's line
        if headings and not name and not headings[-1].text and headings[-1].start == place(start):
            headings[-1] = headings[-1]._replace(depth=min(depth, headings[-1].depth))  # both end here
        else:
            headings.append(Heading(place(start), place(end), min(depth, DEEPEST), name))
    return headings


def parser_of(language: str) -> Any:
    try:
        from tree_sitter import Parser
    except ImportError as error:
        raise MissingExtra.of("source code needs tree-sitter", "code") from error
    return Parser(_grammar(language))


@cache
def _grammar(language: str) -> Any:
    from tree_sitter import Language

    grammar = LANGUAGES[language]
    return Language(getattr(import_module(grammar.module), grammar.function)())


def _definitions(root: Any, data: bytes, types: frozenset[str]) -> Iterator[_Definition]:
    waiting = [(root, 1, root.start_byte, root.end_byte)]
    while waiting:
        node, depth, first, end = waiting.pop()
        if node.type in types and (name := _name_of(node)) is not None:
            words = " ".join(name.text.decode(errors="replace").split())[:_LONGEST_NAME]
            start = data.rfind(b"\n", 0, first) + 1
            yield _Definition(start, _line_end(data, name.end_byte), _line_end(data, end), depth, words)
            depth += 1
        above: Any = None  # first of the comments and attributes directly above the next child
        line = 0
        for child in node.named_children:
            if child.type in _ABOVE:
                above, line = above if above is not None and child.start_point[0] <= line + 1 else child, child.end_point[0]
                continue
            is_below = above is not None and child.start_point[0] <= line + 1
            start = above.start_byte if is_below else child.start_byte
            # A wrapped definition has its wrapper's place.
            waiting.append((child, depth, *((first, end) if node.type in _WITHIN else (start, child.end_byte))))
            above = None


def _name_of(node: Any) -> Any:
    """Return the node with a definition's name, or None for a node without a name, or a use such as ``struct point p;``."""
    if node.type.endswith("_specifier") and node.child_by_field_name("body") is None:
        return None
    name = next((child for field in _NAMES if (child := node.child_by_field_name(field)) is not None), None)
    while name is not None and (inner := name.child_by_field_name("declarator")) is not None:
        name = inner
    return name


def _line_end(data: bytes, place: int) -> int:
    end = data.find(b"\n", place)
    return len(data) if end < 0 else end + 1


def _next_text(data: bytes, place: int, next_of: dict[int, int]) -> int:
    """Return the start of the first line from ``place`` on that does not only end a block, or the text's end.

    Many definitions may end before the same text, which is ``next_of`` then.
    """
    passed: list[int] = []
    while place < len(data) and place not in next_of and _BLOCK_END.fullmatch(data, place, end := _line_end(data, place)):
        passed.append(place)
        place = end
    place = next_of.get(place, place)
    next_of.update(dict.fromkeys(passed, place))
    return place


def _character_of(data: bytes) -> Callable[[int], int]:
    """Return a function that converts bytes' offsets, in ascending order, to characters."""
    if data.isascii():
        return lambda byte: byte
    before = [0, 0]

    def place(byte: int) -> int:
        byte_before, character = before
        if byte < byte_before:
            return len(data[:byte].decode())
        before[:] = byte, character + len(data[byte_before:byte].decode())
        return before[1]

    return place

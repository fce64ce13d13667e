"""Filters from their text, such as ``F("year") >= 2020``, as in files and commands. The text is never executed."""

from __future__ import annotations

import ast
import json
import operator
from collections.abc import Callable, Mapping
from typing import Any

from leafspan.checks import did_you_mean, reason_of, shown
from leafspan.errors import InvalidArgument
from leafspan.filters._builder import F
from leafspan.filters._expression import Where

_LONGEST = 100_000  # characters
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_METHODS = ("in_", "not_in", "contains", "contains_any", "contains_all", "text_match", "exists")
_RULE = 'where, given as a text, must be like (F("year") >= 2020) & ~F("tags").contains("draft")'


def filter_from_text(text: str) -> Where:
    """The filter for its ``repr``, or for a text of the same form.

    Raises:
        InvalidArgument: if it is anything else, or no document can have a key or value in it.
    """
    if len(text) > _LONGEST:
        raise InvalidArgument(f"a filter's text must have at most {_LONGEST:,} characters, got {len(text):,}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        condition = _read(tree, text)
    except InvalidArgument:
        raise
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:  # a TypeError: F("a") & F("b")
        raise InvalidArgument(f"{_RULE}, got {shown(text)}: {reason_of(error)}") from None
    if not isinstance(condition, Where):
        raise InvalidArgument(f"{_RULE}, got {shown(text)}, which compares nothing")
    return condition


def filter_from_option(text: str) -> Where | dict[str, Any]:
    """The filter of a text option ``where``: from a filter's text, or as JSON in a dialect, unchanged.

    Raises:
        InvalidArgument: if the text is neither.
    """
    if text.lstrip().startswith(("F(", "(", "~")):
        return filter_from_text(text)
    try:
        condition = json.loads(text)
    except ValueError as error:
        reason = f": {reason_of(error)}" if text.lstrip().startswith("{") else ""  # else the user did not mean JSON
        raise InvalidArgument(f'where must be JSON, or like F("year") >= 2020, got {shown(text)}{reason}') from None
    except RecursionError:
        raise InvalidArgument(f"where must not be nested so deep, got {shown(text)}") from None
    if not isinstance(condition, dict):
        raise InvalidArgument(f'where must be a JSON object such as {{"year": 2020}}, got {shown(text)}')
    return condition


def _read(node: ast.expr, text: str) -> Any:
    """A filter, or a key, from a part of the text."""
    match node:
        case ast.Call(func=ast.Name(id="F"), args=[argument], keywords=[]):
            return F(_constant(argument, text))
        case ast.Call(func=ast.Attribute(value=key, attr=method), args=arguments, keywords=named):
            if method not in _METHODS:
                raise InvalidArgument(f"{_RULE}, got .{method}() in {shown(text)}{did_you_mean(method, _METHODS)}")
            options = {each.arg: _constant(each.value, text) for each in named if each.arg is not None}
            of = _read(key, text)
            if isinstance(of, F) and len(options) == len(named):
                return getattr(of, method)(*(_constant(each, text) for each in arguments), **options)
        case ast.Compare(left=key, ops=[comparison], comparators=[value]) if type(comparison) in _COMPARISONS:
            of = _read(key, text)
            if isinstance(of, F):
                return _COMPARISONS[type(comparison)](of, _constant(value, text))
        case ast.BinOp(left=left, op=ast.BitAnd(), right=right):
            return _read(left, text) & _read(right, text)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _read(left, text) | _read(right, text)
        case ast.UnaryOp(op=ast.Invert(), operand=operand):
            return ~_read(operand, text)
        case _:
            pass
    raise InvalidArgument(f"{_RULE}, got {shown(ast.unparse(node))} in {shown(text)}")


def _constant(node: ast.expr, text: str) -> Any:
    """A plain value from a part of the text.

    Raises:
        InvalidArgument: if it is a name, a call or another expression without a constant value.
    """
    try:
        return ast.literal_eval(node)
    except ValueError:
        value = f"got {ast.unparse(node)} in {shown(text)}"
        raise InvalidArgument(f"a filter's values must be written out, such as 'draft', 2020 or True, {value}") from None

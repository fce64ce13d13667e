"""The builder: ``F("year") >= 2020`` is a filter, in Python and as a text, which is never executed."""

from __future__ import annotations

import ast
import json
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Never

from leafspan.checks import did_you_mean, reason_of, shown
from leafspan.errors import InvalidArgument
from leafspan.filters._conditions import (
    Contains,
    Equal,
    Exists,
    OneOf,
    Ordered,
    TextMatch,
    all_of,
    any_of,
    checked_moment,
    checked_scalars,
)
from leafspan.filters._expression import Where


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class F:
    """A key of the metadata. Comparing it gives a filter: ``(F("year") >= 2020) & ~F("tags").contains("draft")``.

    A document without the key matches ``!=``, ``not_in`` and every other negation, and no other comparison. See
    docs/filters.md for a table of all comparisons.

    Args:
        key: Name of the key. ``"doc_id"`` is the document's id, ``"language"`` its detected language.

    Raises:
        InvalidArgument: if no document can have the key. Each comparison raises it if no document can have the value.
    """

    key: str
    __hash__ = None  # type: ignore[assignment]  # in a set, two keys would be compared by ==, which gives a filter

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", Exists(self.key).key)  # Exists checks the key, and makes it a plain str

    def __repr__(self) -> str:
        return f"F({self.key!r})"

    def __eq__(self, value: object) -> Where:  # type: ignore[override]
        """A filter: the value equals this one. Ints equal floats by value, True is not 1, a list equals an equal list."""
        return self._filter(lambda: Equal(self.key, value))  # type: ignore[arg-type]

    def __ne__(self, value: object) -> Where:  # type: ignore[override]
        """A filter: the negation of ``==``. Documents without the key match."""
        return ~(self == value)

    def __lt__(self, bound: object) -> Where:
        """A filter: the value is less. Numbers compare with numbers, ISO dates by time, other texts by code points."""
        return self._ordered("<", bound)

    def __le__(self, bound: object) -> Where:
        """A filter: the value is less, as for ``<``, or the same number, text or time."""
        return self._ordered("<=", bound)

    def __gt__(self, bound: object) -> Where:
        """A filter: the value is greater. Values compare as for ``<``."""
        return self._ordered(">", bound)

    def __ge__(self, bound: object) -> Where:
        """A filter: the value is greater, as for ``>``, or the same number, text or time."""
        return self._ordered(">=", bound)

    def in_(self, values: Iterable[object]) -> Where:
        """A filter: the value equals one of these.

        Args:
            values: Values of one type; ints and floats may be mixed. Without values, no document matches.
        """
        return self._filter(lambda: OneOf(self.key, values))  # type: ignore[arg-type]

    def not_in(self, values: Iterable[object]) -> Where:
        """A filter: the negation of ``in_``. Documents without the key match.

        Args:
            values: Values of one type; ints and floats may be mixed. Without values, every document matches.
        """
        return ~self.in_(values)

    def contains(self, member: object) -> Where:
        """A filter: the value is a list with this member."""
        return self._filter(lambda: Contains(self.key, member))  # type: ignore[arg-type]

    def contains_any(self, members: Iterable[object]) -> Where:
        """A filter: the value is a list with one of these members.

        Args:
            members: Values of one type. Without values, no document matches.
        """
        return self._filter(lambda: any_of(Contains(self.key, member) for member in checked_scalars(members)))

    def contains_all(self, members: Iterable[object]) -> Where:
        """A filter: the value is a list with all of these members.

        Args:
            members: Values of one type. Without values, every document matches.
        """
        return self._filter(lambda: all_of(Contains(self.key, member) for member in checked_scalars(members)))

    def text_match(self, part: str, *, ignore_case: bool = False) -> Where:
        """A filter: the value is a text that contains this part.

        Args:
            part: The part.
            ignore_case: Whether upper and lower case are the same. Default: False.
        """
        return self._filter(lambda: TextMatch(self.key, part, ignore_case))

    def exists(self) -> Where:
        """A filter: the document has the key."""
        return Exists(self.key)

    @staticmethod
    def valid_at(moment: object) -> Where:
        """A filter: the document is valid at this moment, from ``valid_from`` on and before ``valid_until``.

        A document without one of these keys is valid on that side for ever. A value that is not a date does not match.

        Args:
            moment: A date (its start), a datetime, or an ISO text of one. Without an offset it is UTC.
        """
        text = checked_moment("moment", moment)
        first, end = F("valid_from"), F("valid_until")
        valid: Where = (~first.exists() | (first <= text)) & (~end.exists() | (end > text))
        return valid

    def __invert__(self) -> Never:
        raise TypeError(f"{self!r} is not a filter yet: ~{self!r}.exists() is for documents without this key")

    def __and__(self, other: object) -> Never:
        raise TypeError(
            f"{self!r} is not a filter yet, or lacks parentheses beside & or |: write "
            '(F("a") == 1) & (F("b") == 2) with each comparison in parentheses, or '
            f"{self!r}.exists() for documents with this key"
        )

    __rand__ = __or__ = __ror__ = __and__

    def _ordered(self, operator: str, bound: object) -> Where:
        return self._filter(lambda: Ordered(self.key, operator, bound))  # type: ignore[arg-type]

    def _filter(self, make: Callable[[], Where]) -> Where:
        """The filter that ``make`` makes. An error names the key."""
        try:
            return make()
        except InvalidArgument as error:
            raise InvalidArgument(f"F({self.key!r}): {error}") from None


def valid_documents(where: Where | None, as_of: str | None) -> Where | None:
    """The filter ``where`` together with a retrieval's option ``as_of``."""
    if as_of is None:
        return where
    valid = F.valid_at(datetime.now(UTC) if as_of == "now" else as_of)
    return valid if where is None else where & valid


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
    """The filter for its ``repr``, or for a text of the same form."""
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
    """The filter of a text option ``where``: from a filter's text, or as JSON in a dialect, unchanged."""
    if text.lstrip().startswith(("F(", "F.", "(", "~")):
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
        case ast.Call(func=ast.Attribute(value=ast.Name(id="F"), attr="valid_at"), args=[argument], keywords=[]):
            return F.valid_at(_constant(argument, text))
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
    """A plain value from a part of the text."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        value = f"got {ast.unparse(node)} in {shown(text)}"
        raise InvalidArgument(f"a filter's values must be written out, such as 'draft', 2020 or True, {value}") from None

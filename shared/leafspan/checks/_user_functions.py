"""Calls of users' functions: their errors become a ``FunctionFailed`` that names the function and its argument.

leafspan's own errors pass unchanged, and so do other exceptions than Exception, such as Ctrl-C and a task's cancellation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from inspect import isawaitable, iscoroutine
from typing import Any

from leafspan.checks._options import shown
from leafspan.errors import FunctionFailed, LeafspanError, UnusableResult

_SHOWN = 60  # characters of a text in a message


@contextmanager
def calling(role: str, function: object, argument: object = None, *, of: str = "") -> Iterator[None]:
    """A context for calling a user's function."""
    try:
        yield
    except LeafspanError:
        raise
    except Exception as error:
        raise function_failed(role, function, argument, error, of=of) from error


def function_failed(role: str, function: object, argument: object, error: Exception, *, of: str = "") -> LeafspanError:
    """The error for a user's function that raised an Exception, or that Exception itself if it is leafspan's."""
    if isinstance(error, LeafspanError):
        return error
    name = f"{role} {name_of(function)} failed with {type(error).__name__}"
    made = FunctionFailed(f"{name}: {error}{_about(argument, of)}", name)
    made.__cause__ = error
    return made


def unusable(
    role: str, function: object, rule: str, got: object, argument: object = None, *, of: str = ""
) -> UnusableResult:
    """The error for a user's function that returned a wrong value."""
    start = f"{role} {name_of(function)} must {rule}"
    if iscoroutine(got):
        got.close()  # otherwise Python warns that it was never awaited
    hint = ", which must be awaited: give its coroutine function apart from it" if isawaitable(got) else ""
    return UnusableResult(f"{start}, got {shown(got)}{hint}{_about(argument, of)}", f"{start}, got something else")


def refuse_coroutine(name: str, answer: object) -> None:
    """Check that a function did not return a coroutine."""
    if isawaitable(answer):
        if iscoroutine(answer):
            answer.close()  # otherwise Python warns that it was never awaited
        message = f"{name} must not return a coroutine: give the coroutine function as a{name}, and {name} beside it"
        raise UnusableResult(message, message)


def name_of(function: object) -> str:
    """A function's name for messages: the module and qualified name of the function or its class. A str is a name."""
    if isinstance(function, str):
        return function
    inner = function
    while (wrapped := getattr(inner, "func", None)) is not None and callable(wrapped):  # of functools.partial
        inner = wrapped
    named = inner if isinstance(getattr(inner, "__qualname__", None), str) else type(inner)
    module = getattr(named, "__module__", None)
    return f"{module}.{named.__qualname__}" if isinstance(module, str) else str(named.__qualname__)  # type: ignore[attr-defined]


def beginning(text: object) -> str:
    """The beginning of a text in quotes, on one line; for other values, the start of their repr."""
    if not isinstance(text, str):
        return shown(text)
    line = " ".join(text[: 4 * _SHOWN].split())
    return repr(line if len(line) <= _SHOWN and len(text) <= 4 * _SHOWN else f"{line[: _SHOWN - 3]}...")


def _about(argument: Any, of: str = "") -> str:
    """The end of a message: the function's argument."""
    if argument is None:
        return ""
    if of:
        return f"; it was given {of}, {beginning(argument)}"
    if isinstance(argument, Sequence) and not isinstance(argument, str):
        if len(argument) == 1:
            return f"; it was given {beginning(argument[0])}"
        return f"; it was given {len(argument)} texts, the first {beginning(argument[0])}" if argument else ""
    return f"; it was given {beginning(argument)}"

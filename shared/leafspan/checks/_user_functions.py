"""Calls of functions of the user's: what they raise becomes a ``FunctionFailed`` that names them and what they were given.

Errors of leafspan's pass as they are, and so does what is no Exception, such as Ctrl-C and the cancellation of a task.
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
def calling(role: str, function: object, given: object = None, *, of: str = "") -> Iterator[None]:
    """A context in which a function of the user's is called.

    Raises:
        FunctionFailed: in place of any Exception that is raised inside, which is its cause.
    """
    try:
        yield
    except LeafspanError:
        raise
    except Exception as error:
        raise function_failed(role, function, given, error, of=of) from error


def function_failed(role: str, function: object, given: object, error: Exception, *, of: str = "") -> LeafspanError:
    """The error for a function of the user's that raised an Exception. It is the error itself if that is leafspan's."""
    if isinstance(error, LeafspanError):
        return error
    name = f"{role} {name_of(function)} failed with {type(error).__name__}"
    made = FunctionFailed(f"{name}: {error}{_given(given, of)}", name)
    made.__cause__ = error
    return made


def unusable(role: str, function: object, rule: str, got: object, given: object = None, *, of: str = "") -> UnusableResult:
    """The error for a function of the user's that returned something else than it must."""
    start = f"{role} {name_of(function)} must {rule}"
    if iscoroutine(got):
        got.close()  # or Python warns that it was never awaited
    hint = ", which must be awaited: give its coroutine function apart from it" if isawaitable(got) else ""
    return UnusableResult(f"{start}, got {shown(got)}{hint}{_given(given, of)}", f"{start}, got something else")


def refuse_coroutine(name: str, answer: object) -> None:
    """Check that a function did not return what should have been awaited.

    Raises:
        UnusableResult: if it did.
    """
    if isawaitable(answer):
        if iscoroutine(answer):
            answer.close()  # or Python warns that it was never awaited
        message = f"{name} must not return a coroutine: give the coroutine function as a{name}, and {name} beside it"
        raise UnusableResult(message, message)


def name_of(function: object) -> str:
    """What a message calls a function: its module and its qualified name, or those of its class. A str is a name."""
    if isinstance(function, str):
        return function
    inner = function
    while (wrapped := getattr(inner, "func", None)) is not None and callable(wrapped):  # of functools.partial
        inner = wrapped
    named = inner if isinstance(getattr(inner, "__qualname__", None), str) else type(inner)
    module = getattr(named, "__module__", None)
    return f"{module}.{named.__qualname__}" if isinstance(module, str) else str(named.__qualname__)  # type: ignore[attr-defined]


def beginning(text: object) -> str:
    """The beginning of a text in quotes, on one line; the start of the repr of what is no text."""
    if not isinstance(text, str):
        return shown(text)
    line = " ".join(text[: 4 * _SHOWN].split())
    return repr(line if len(line) <= _SHOWN and len(text) <= 4 * _SHOWN else f"{line[: _SHOWN - 3]}...")


def _given(given: Any, of: str = "") -> str:
    """The end of a message: what the function was given."""
    if given is None:
        return ""
    if of:
        return f"; it was given {of}, {beginning(given)}"
    if isinstance(given, Sequence) and not isinstance(given, str):
        if len(given) == 1:
            return f"; it was given {beginning(given[0])}"
        return f"; it was given {len(given)} texts, the first {beginning(given[0])}" if given else ""
    return f"; it was given {beginning(given)}"

"""Users' functions: checks, and calls whose errors become a ``FunctionFailed`` that names the function and its argument.

leafspan's own errors pass unchanged, and so do other exceptions than Exception, such as Ctrl-C and a task's cancellation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from inspect import isawaitable, iscoroutine, iscoroutinefunction, signature
from typing import Any

from leafspan.checks._options import shown
from leafspan.errors import FunctionFailed, InvalidArgument, LeafspanError, UnusableResult

_SHOWN = 60  # characters of a text in a message


def check_functions(
    name: str,
    function: object,
    coroutine_function: object,
    rule: str = "a function",
    *,
    arguments: int = 1,
    optional: bool = False,
) -> None:
    """Check that ``function`` is a normal function, and ``coroutine_function`` a coroutine function or None.

    Both must take this number of arguments. If ``optional``, both may be None.
    """
    if function is None and optional:
        if coroutine_function is not None:
            raise InvalidArgument(f"a{name} must have {name} beside it, got a{name} alone")
        return
    if not callable(function):
        raise InvalidArgument(f"{name} must be {rule}, got {shown(function)}")
    if iscoroutinefunction(function):
        raise InvalidArgument(f"{name} must be a function that is not awaited, got {shown(function)}: that is for a{name}")
    if coroutine_function is not None and not callable(coroutine_function):
        twin = f"a coroutine function like {name}" if rule == "a function" else rule
        raise InvalidArgument(f"a{name} must be {twin}, got {shown(coroutine_function)}")
    for called, each in ((name, function), (f"a{name}", coroutine_function)):
        if callable(each) and not _takes(each, arguments):
            raise InvalidArgument(
                f"{called} must be callable with {arguments} argument{'s' if arguments > 1 else ''}, got {shown(each)}, "
                f"which takes {signature(each)}"
            )


def check_model(generate: object, agenerate: object) -> None:
    """Check that these are None, or a function from a prompt to a text, with or without its coroutine function."""
    check_functions("generate", generate, agenerate, "a function from a prompt to a text", optional=True)


def _takes(function: Callable[..., object], arguments: int) -> bool:
    """Whether a function can be called with this number of positional arguments, as far as Python knows."""
    try:
        signature(function).bind(*range(arguments))
    except TypeError:
        return False
    except ValueError:  # a builtin without a signature
        return True
    return True


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

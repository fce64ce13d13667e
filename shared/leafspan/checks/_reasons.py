"""Turns errors of other libraries into words that need no knowledge of Python."""

from __future__ import annotations

from json import JSONDecodeError


def reason_of(error: BaseException) -> str:
    """The end of an error message: why a file cannot be read, or a text is not JSON."""
    if isinstance(error, OSError) and error.strerror:
        return _lower(error.strerror)
    if isinstance(error, UnicodeDecodeError):
        return f"the byte at place {error.start} is no {error.encoding.upper()}"
    if isinstance(error, JSONDecodeError):
        line = "" if error.lineno == 1 else f" of line {error.lineno}"
        return f"{_lower(error.msg)} at character {error.colno}{line}"
    if isinstance(error, SyntaxError):
        return _lower(error.msg)
    return str(error)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]

"""Keeping passwords out of messages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, quote_plus

_HIDDEN = "***"
_PAIR = re.compile(r"(?i)\b(\w*(?:password|passwd|pwd|secret|token|api_?key))(\s*[=:]\s*)('[^']*'|\"[^\"]*\"|[^\s;,&)]+)")
_IN_ADDRESS = re.compile(r"(?<=://)([^\s:/@]*):([^\s@]+)@")
_SECRET = re.compile(r"(?i)password|passwd|pwd|secret|token|key")


def secrets_of(url: Any) -> tuple[str, ...]:
    """The secrets in a database's URL: its password, and options whose names sound like passwords."""
    found: list[str] = [] if url.password is None else [str(url.password)]
    for name, value in url.query.items():
        if _SECRET.search(name):
            found += [value] if isinstance(value, str) else value
    return tuple(secret for secret in found if secret)


def without_secrets(message: str, secrets: Iterable[str]) -> str:
    """The message without secrets: neither the known ones nor anything that looks like one."""
    for secret in sorted(secrets, key=len, reverse=True):
        for form in {secret, quote(secret, safe=""), quote_plus(secret), repr(secret)[1:-1]}:
            message = message.replace(form, _HIDDEN)
    message = _IN_ADDRESS.sub(rf"\1:{_HIDDEN}@", message)
    return _PAIR.sub(rf"\1\2{_HIDDEN}", message)


def safe_address(url: Any) -> str:
    """The URL of a database without its secrets, for messages and ``repr``."""
    kept = {name: value for name, value in url.query.items() if not _SECRET.search(name)}
    return str(url.set(query=kept).render_as_string(hide_password=True))

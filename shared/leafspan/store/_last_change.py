"""Remembers the last seen change of an index behind a server."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class LastChange:
    """The last change that was seen. If it is the same later, the index has not changed."""

    token: str | None = None  # the manifest's token; None if it was not read yet or there was no change

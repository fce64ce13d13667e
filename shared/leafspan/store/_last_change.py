"""Which change of an index behind a server was seen last."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class LastChange:
    """The last change that was seen: what is equal later has not changed meanwhile.

    Attributes:
        token: What the manifest said. None: nothing yet, or there was no change.
    """

    token: str | None = None

"""The use of Chroma's files by one open client, until a call fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from leafspan.engines.chroma._files import Files
from leafspan.engines.local._waiting import deadline_after
from leafspan.errors import StorageFailed


@dataclass(slots=True)
class ClientState:
    """Whether a client of Chroma can be used.

    Attributes:
        failed: Whether a call has failed.
    """

    failed: bool = False


class Use:
    """Writing calls of one open client.

    After a failure, a later call of the same client can hang for ever. So leafspan replaces the client.
    """

    def __init__(self, files: Files, state: ClientState, timeout: float) -> None:
        self._files = files
        self._state = state
        self._timeout = timeout

    def call(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Any:
        """Call a function while the files are locked, and return its result.

        Raises:
            WriterBusy: if another process does not release the files within the timeout.
            StorageFailed: if the disk is full or read-only, or an earlier call of this client has failed.
        """
        if self._state.failed:
            raise StorageFailed(
                f"an earlier write to {str(self._files.path)!r} has failed, and what is left of it must be looked at "
                "first: do it again"
            )
        with self._files.locked(deadline_after(self._timeout)):
            try:
                return function(*arguments, **options)
            except BaseException as error:
                self._state.failed = True
                if explained := self._files.explain(error, "write"):
                    raise explained from error
                raise

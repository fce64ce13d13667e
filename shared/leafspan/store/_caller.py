"""How Chroma is called: a server must answer in time, and what it or Chroma raises becomes an error of ours."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, NoReturn
from urllib.parse import urlsplit

from leafspan.flows import Call, in_thread
from leafspan.store._failures import late_answer, translated

_LEAST_SECONDS = 1.0  # to answer in: a timeout of 0 means that no other writer is waited for


@dataclass(frozen=True, slots=True)
class Caller:
    """How a Chroma is called.

    Attributes:
        place: Where it is, for errors.
        native: Whether its methods are coroutine functions.
        timeout: Seconds in which it must answer. None for a Chroma in this process.
        late_writes: Requests to write that nobody waits for any more, and that have not ended.
    """

    place: str
    native: bool = False
    timeout: float | None = None
    late_writes: set[Future[Any]] = field(default_factory=set, compare=False)

    @property
    def in_process(self) -> bool:
        """Whether Chroma runs in this process, where no other Python code runs while it writes."""
        return self.timeout is None and not self.native

    @classmethod
    def of(cls, thing: Any, timeout: float = 30.0) -> Caller:
        """How a client, or a collection of one, is called."""
        native = iscoroutinefunction(getattr(thing, "get_collection", None) or getattr(thing, "get", None))
        server = server_of(thing)
        if hasattr(server, "get_api_url"):
            return cls(f"the Chroma server at {_address(server.get_api_url())}", native, max(timeout, _LEAST_SECONDS))
        settings: Any = getattr(getattr(server, "_system", None), "settings", None)
        if getattr(settings, "is_persistent", False):
            return cls(f"the folder {os.path.normpath(settings.persist_directory)!r}", native)
        return cls("this Chroma", native)

    def call(
        self,
        doing: str,
        function: Callable[..., Any],
        arguments: tuple[Any, ...] = (),
        options: dict[str, Any] | None = None,
        *,
        finish: bool = False,
    ) -> Call:
        """The call of a method."""
        options = options or {}
        if self.native:
            awaited = _named(partial(self._await, doing, finish, function), function)
            return Call(None, arguments, options, awaited, finish, self.place)
        make = self._make if self.timeout is None else self._make_in_time
        made = _named(partial(make, doing, finish, function), function)
        return Call(made, arguments, options, None, finish, self.place)

    def _make(self, doing: str, writing: bool, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except BaseException as error:
            self._raise(error, doing, writing)

    def _make_in_time(
        self, doing: str, writing: bool, function: Callable[..., Any], /, *arguments: Any, **options: Any
    ) -> Any:
        future = in_thread(partial(function, **options), *arguments)
        try:
            return future.result(self.timeout)
        except BaseException as error:
            if future.done():
                self._raise(error, doing, writing)
            if writing:
                self.late_writes.add(future)
                future.add_done_callback(self.late_writes.discard)
            if isinstance(error, TimeoutError):
                raise late_answer(doing, self.place, self._late, writing=writing) from None
            raise

    async def _await(
        self, doing: str, writing: bool, function: Callable[..., Any], /, *arguments: Any, **options: Any
    ) -> Any:
        limit = asyncio.timeout(self.timeout)
        try:
            async with limit:
                return await function(*arguments, **options)
        except BaseException as error:
            if isinstance(error, TimeoutError) and limit.expired():
                raise late_answer(doing, self.place, self._late, writing=writing) from None
            self._raise(error, doing, writing)

    @property
    def _late(self) -> str:
        return f"it has not answered within the timeout of {self.timeout:g} seconds"

    def _raise(self, error: BaseException, doing: str, writing: bool) -> NoReturn:
        ours = translated(error, doing, self.place, server=self.timeout is not None, writing=writing)
        if ours is None:
            raise error
        raise ours from error


def _named(call: partial[Any], function: Callable[..., Any]) -> partial[Any]:
    """The call under the name of the function, by which drivers of flows tell calls apart."""
    call.__name__ = getattr(function, "__name__", "")  # type: ignore[attr-defined]
    return call


def server_of(thing: Any) -> Any:
    """What sends the requests of a client or of a collection."""
    return getattr(thing, "_server", None) or getattr(thing, "_client", None)


def _address(url: str) -> str:
    """The address of a server without what is secret in it."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}"

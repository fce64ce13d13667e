"""Makes the callers of Chroma's clients and collections."""

from __future__ import annotations

import os
from inspect import iscoroutinefunction
from typing import Any
from urllib.parse import urlsplit

from leafspan.engines._caller import LEAST_SECONDS, Caller
from leafspan.engines.chroma._failures import translated


def caller_of(thing: Any, timeout: float = 30.0) -> Caller:
    """Return the caller of a client or of a client's collection."""
    native = iscoroutinefunction(getattr(thing, "get_collection", None) or getattr(thing, "get", None))
    server = server_of(thing)
    if hasattr(server, "get_api_url"):
        place = f"the Chroma server at {_address(server.get_api_url())}"
        return Caller(place, native, max(timeout, LEAST_SECONDS), translate=translated)
    settings: Any = getattr(getattr(server, "_system", None), "settings", None)
    if getattr(settings, "is_persistent", False):
        place = f"the folder {os.path.normpath(settings.persist_directory)!r}"
        return Caller(place, native, translate=translated)
    return Caller("this Chroma", native, translate=translated)


def server_of(thing: Any) -> Any:
    """Return the object that sends the requests of a client or a collection."""
    return getattr(thing, "_server", None) or getattr(thing, "_client", None)


def _address(url: str) -> str:
    """Return a server's address without its secrets."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}"

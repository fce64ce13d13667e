"""The address of an index behind a Chroma server: ``http://localhost:8000/kb``."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit

from leafspan.checks import check_number, shown
from leafspan.engines._caller import LEAST_SECONDS, Caller
from leafspan.engines.chroma._failures import translated
from leafspan.errors import InvalidArgument
from leafspan.flows import Flow

_SCHEMES = {"http": 8000, "https": 443}  # with each scheme's default port


def connect(address: str, timeout: float) -> Flow[tuple[Any, str | None]]:
    """Connect to an address. Return the client, and the index name in the address, or None if it names no index.

    Chroma reads everything else, such as credentials, from its own environment variables.

    Raises:
        InvalidArgument: if the address is not valid.
        ServerTimeout: if the server does not answer within the timeout.
        StorageFailed: if the server cannot be reached.
    """
    check_number("timeout", timeout, at_least=0, unit="seconds")
    try:
        parts = urlsplit(address)
        name = unquote(parts.path.strip("/"))
        port = parts.port or _SCHEMES[parts.scheme]
    except ValueError:
        parts, name, port = urlsplit(""), "", 0
    if not port or not parts.hostname or "/" in name or parts.query or parts.fragment or parts.username is not None:
        raise InvalidArgument(
            f"the address of an index must be http://host:port/name, got {shown(address)}; credentials come from Chroma's "
            "environment variables, or pass a client that chromadb makes"
        )
    place = f"the Chroma server at {parts.scheme}://{parts.hostname}:{port}"
    caller = Caller(place, timeout=max(timeout, LEAST_SECONDS), translate=translated)
    client = yield caller.call("connect", _client, (parts.hostname, port, parts.scheme == "https"))
    return client, name or None


def _client(host: str, port: int, ssl: bool) -> Any:
    import chromadb
    from chromadb.config import Settings

    return chromadb.HttpClient(host, port, ssl, settings=Settings(anonymized_telemetry=False))

"""Serves clients on this machine that have the token, over HTTP."""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import uvicorn
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware.authentication import AuthenticationMiddleware

from leafspan.cli.mcp_server._ending import end_process
from leafspan.connections import BoundedProtocol
from leafspan.errors import InvalidArgument

_HOST = "127.0.0.1"
_PATH = "/mcp"
_SHORTEST_TOKEN = 16
_GRACE = 3  # seconds for pending answers when the server ends


class HTTPPlace(NamedTuple):
    """A server's address and token.

    Attributes:
        url: Its address.
        token: The token that a client must send, as the header ``Authorization: Bearer TOKEN``.
    """

    url: str
    token: str


def serve_http(
    server: Server[Any], *, port: int = 0, token: str | None = None, started: Callable[[HTTPPlace], None]
) -> NoReturn:
    """Serve streamable HTTP on 127.0.0.1 until a signal comes, and then end the process.

    Requests without the token are refused. So are requests with another Host or Origin than this machine's, which a
    browser's pages could otherwise send (DNS rebinding).

    Raises:
        InvalidArgument: if the token is too short or not valid in a header, or the port is taken.
    """
    token = secrets.token_urlsafe(32) if token is None else _checked(token)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((_HOST, port))
            listening.listen()  # so that clients that get the address can connect at once
        except OSError as error:
            raise InvalidArgument(f"port must be a free one, got {port}: {error.strerror}") from error
        url = f"http://{_HOST}:{listening.getsockname()[1]}{_PATH}"
        # No log of each request: it would contain session ids, and standard output is reserved.
        config = uvicorn.Config(
            http_app(server, token),
            http=BoundedProtocol,
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=_GRACE,
        )
        started(HTTPPlace(url, token))
        try:
            asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))
        except KeyboardInterrupt:  # uvicorn raises caught signals again
            end_process(128 + signal.SIGINT)
        end_process(0)


def http_app(server: Server[Any], token: str) -> Starlette:
    """Return the application that serves clients with the token."""
    hosts = [_HOST, "localhost"]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[f"{host}:*" for host in hosts],
        allowed_origins=[f"http://{host}:*" for host in hosts],
    )
    known = _OneToken(token)
    app = server.streamable_http_app(
        streamable_http_path=_PATH, host=_HOST, transport_security=security, token_verifier=known
    )
    app.add_middleware(AuthenticationMiddleware, backend=BearerAuthBackend(known))
    return app


class _OneToken:
    """Checks one token."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the token's access, or None for another token."""
        if not secrets.compare_digest(token.encode(errors="surrogateescape"), self._token):
            return None
        return AccessToken(token=token, client_id="client", scopes=[])


def _checked(token: str) -> str:
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidArgument(
            f"token must have {_SHORTEST_TOKEN} or more printable ASCII characters and no space, got one of {len(token)}"
        )
    return token

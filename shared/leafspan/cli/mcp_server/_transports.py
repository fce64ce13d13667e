"""Serves over standard input and output, or over HTTP."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

import uvicorn
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware.authentication import AuthenticationMiddleware

from leafspan.connections import TimedProtocol
from leafspan.errors import InvalidArgument


def end_process(code: int) -> NoReturn:
    """End the process at once. Abandoned calls stop, and an interrupted write is treated like a kill.

    A normal exit would close the engine while threads of such calls still use it, which crashes, and would wait for the
    thread that reads standard input, which cannot be woken up.
    """
    sys.stderr.flush()
    os._exit(code)


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def serve_stdio(server: Server[Any], *, started: Callable[[], None] = lambda: None) -> NoReturn:
    """Serve until standard input is closed, or a signal comes, and then end the process, even during calls.

    Only the protocol is written to standard output. The exit code is 0, or 128 plus the signal's number (SIGINT, SIGTERM).
    """
    for number in _SIGNALS:
        with suppress(ValueError):  # only the first thread gets signals
            signal.signal(number, lambda number, _: end_process(128 + number))
    started()
    asyncio.run(_serve(server))


async def _serve(server: Server[Any]) -> NoReturn:
    try:
        async with stdio_server() as (received, sent):
            await server.run(received, sent, server.create_initialization_options())
    except* BrokenPipeError:
        pass  # the client reads no more answers
    end_process(0)


_HOST = "127.0.0.1"
_PATH = "/mcp"
_SHORTEST_TOKEN = 16
_GRACE = 3  # seconds for pending answers when the server ends


class HTTPPlace(NamedTuple):
    """A server's address and token."""

    url: str
    token: str


def serve_http(
    server: Server[Any], *, port: int = 0, token: str | None = None, started: Callable[[HTTPPlace], None]
) -> NoReturn:
    """Serve streamable HTTP on 127.0.0.1 until a signal comes, and then end the process.

    Requests without the token are refused. So are requests with another Host or Origin than this machine's, which a
    browser's pages could otherwise send (DNS rebinding).
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
            http_app(server, token), http=TimedProtocol, log_config=None, access_log=False, timeout_graceful_shutdown=_GRACE
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
    verifier = _OneToken(token)
    app = server.streamable_http_app(
        streamable_http_path=_PATH, host=_HOST, transport_security=security, token_verifier=verifier
    )
    app.add_middleware(AuthenticationMiddleware, backend=BearerAuthBackend(verifier))
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

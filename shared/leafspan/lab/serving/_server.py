"""Serves an index until a signal arrives."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import uvicorn

from leafspan.configuration import Config
from leafspan.connections import TimedProtocol
from leafspan.errors import InvalidArgument
from leafspan.lab.serving._app import HOST, make_app
from leafspan.view import View

_GRACE = 3  # seconds to finish answers when the server ends


def serve(
    view: View, strategies: Mapping[str, Config], *, port: int = 0, timeout: float = 30.0, started: Callable[[str], None]
) -> None:
    """Serve pages to ask the view in a browser, on 127.0.0.1, until SIGINT or SIGTERM. Call it in the main thread.

    Args:
        view: The index or view to ask. It is only read.
        strategies: The available strategies, by name. The first one is selected at the start.
        port: The port, in [0, 65535]. 0 for any free port. Default: 0.
        timeout: Longest time to read a page. Unit: seconds. Default: 30.
        started: Function that is called with the address when the server is ready.

    Raises:
        InvalidArgument: if the port cannot be used.
    """
    token = secrets.token_urlsafe(16)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
            listening.listen()
        except OSError as error:
            raise InvalidArgument(f"port must be a free one, got {port}: {error.strerror}") from error
        used = listening.getsockname()[1]
        app = make_app(view, strategies, token=token, port=used, timeout=timeout)
        config = uvicorn.Config(
            app,
            http=TimedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level=logging.CRITICAL,  # the pages log their own failures
            access_log=False,  # it would contain the token and the questions
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_GRACE,
        )
        server = uvicorn.Server(config)
        with _ended_by_signals(server):
            started(f"http://{HOST}:{used}/{token}/")
            asyncio.run(server.serve(sockets=[listening]))
    if app.cut_off:
        # An abandoned request may still use the engine, and closing the engine would crash. The request only reads.
        sys.stdout.flush()
        os._exit(0)


@contextmanager
def _ended_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """A context in which signals only end the server.

    uvicorn handles signals while it serves, and raises them again afterwards. That would end the process before it has
    closed the index.
    """

    def end(*_: object) -> None:
        server.should_exit = True

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

"""Serves the client that started this process, over standard input and output."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from leafspan.cli.mcp_server._ending import end_process

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

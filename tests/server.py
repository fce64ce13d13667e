"""A real Chroma server on loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOST = "127.0.0.1"
_PATIENCE = 60.0
_ATTEMPTS = 3  # another process can take a free port before the server does


@contextmanager
def running_server(folder: Path) -> Iterator[tuple[str, int]]:
    """``chroma run`` over a folder, as (host, port); killed at the end."""
    log = folder / "server.log"
    for attempt in range(1, _ATTEMPTS + 1):
        port = _free_port()
        process = _start(folder, port, log)
        try:
            _wait_for(process, port, log)
            yield HOST, port
            return
        except _Ended:
            if attempt == _ATTEMPTS:
                raise
        finally:
            process.kill()
            process.wait()


class _Ended(RuntimeError):
    """The server ended before it answered."""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _start(folder: Path, port: int, log: Path) -> subprocess.Popen:
    command = [
        sys.executable,
        "-c",
        "import sys, chromadb_rust_bindings as chroma; chroma.cli(['chroma', *sys.argv[1:]])",  # as the command, which imports more
        "run",
        "--path",
        str(folder),
        "--host",
        HOST,
        "--port",
        str(port),
    ]
    environment = {**os.environ, "ANONYMIZED_TELEMETRY": "False"}
    with log.open("wb") as output:
        return subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)


def _wait_for(process: subprocess.Popen, port: int, log: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise _Ended(f"the server ended by itself: {log.read_text()}")
        try:
            with urllib.request.urlopen(f"http://{HOST}:{port}/api/v2/heartbeat", timeout=1):
                return
        except (urllib.error.URLError, OSError):
            # Nothing listens yet; the process says when it has failed.
            time.sleep(0.05)
    raise TimeoutError(f"the server did not answer within {_PATIENCE:g} seconds: {log.read_text()}")

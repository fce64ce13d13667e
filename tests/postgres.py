"""A private PostgreSQL on loopback, from the programs of Debian's package."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOST = "127.0.0.1"
USER = "tests"
PASSWORD = "sesame-4711"
_PATIENCE = 60  # seconds


class NoPostgres(RuntimeError):
    """PostgreSQL cannot be started here; the message says why."""


def programs() -> Path:
    """The folder of PostgreSQL's programs, of the newest version.

    Raises:
        NoPostgres: if it is not installed.
    """
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    if elsewhere := shutil.which("initdb"):
        return Path(elsewhere).resolve().parent
    raise NoPostgres("PostgreSQL is not installed (apt-get install postgresql)")


@contextmanager
def running_postgres() -> Iterator[str]:
    """The URL of a server that was started for the tests, and is stopped at the end.

    Raises:
        NoPostgres: if it cannot be started.
    """
    folder = programs()
    place = Path(tempfile.mkdtemp(prefix="leafspan-postgres-"))
    as_user: list[str] = []
    if os.geteuid() == 0:  # as root it refuses to run
        if (
            shutil.which("runuser") is None
            or subprocess.run(["id", "postgres"], capture_output=True, check=False).returncode
        ):
            raise NoPostgres("PostgreSQL does not run as root, and there is no user postgres")
        as_user = ["runuser", "-u", "postgres", "--"]
        shutil.chown(place, "postgres")
    data, password = place / "data", place / "password"
    password.write_text(PASSWORD)
    if as_user:
        shutil.chown(password, "postgres")
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = int(probe.getsockname()[1])
    options = f"-c listen_addresses={HOST} -c port={port} -c unix_socket_directories='' -c fsync=off -c autovacuum=off"
    try:
        _run(
            [
                *as_user,
                folder / "initdb",
                "-D",
                data,
                "-U",
                USER,
                "-A",
                "scram-sha-256",
                f"--pwfile={password}",
                "-E",
                "UTF8",
            ]
        )
        _run([*as_user, folder / "pg_ctl", "-D", data, "-w", "-t", _PATIENCE, "-l", place / "log", "-o", options, "start"])
        try:
            yield f"postgresql+psycopg://{USER}:{PASSWORD}@{HOST}:{port}/postgres"
        finally:
            _run([*as_user, folder / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _run(command: list[object]) -> None:
    # Its output goes to a file: a pipe would stay open as long as the server does.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(
            list(map(str, command)),
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            cwd="/",
            timeout=2 * _PATIENCE,
            check=False,
        )
        if done.returncode:
            output.seek(0)
            raise NoPostgres(f"{command[-1]}: {output.read().decode(errors='replace')[-400:]}")

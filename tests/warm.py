"""Python processes that are there in milliseconds: forks of one process that has imported leafspan and Chroma, and nothing else.

``Popen`` and ``run`` take the same commands as in ``subprocess``, such as ``[sys.executable, "-c", code, argument]``, and
run them in a fork. Tests of imports, of interpreters and of what happens at an exit need a real process.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import random
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests import processor_time

IMPORTED = ("chromadb", "leafspan.cli", "leafspan.engines.chroma", "leafspan.indexing", "tests.corpus")
_ROOT = Path(__file__).parents[1]
_MOST_BYTES = 1 << 18
_mutex = threading.Lock()
_servers: dict[int, tuple[socket.socket, subprocess.Popen[bytes]]] = {}  # by the process that has started it


def run(
    command: list[Any], *, check: bool = False, capture_output: bool = False, timeout: float | None = None, **options: Any
) -> subprocess.CompletedProcess[Any]:
    """Like ``subprocess.run``."""
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Popen(command, **options) as process:
        try:
            output, errors = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(command, process.returncode, output, errors)
    if check:
        done.check_returncode()
    return done


class Popen(subprocess.Popen):  # type: ignore[type-arg]
    """Like ``subprocess.Popen``, for a command that begins with this interpreter."""

    _ended: int

    def _execute_child(self, arguments: Any, *options: Any) -> None:
        program, *words = map(os.fspath, arguments)
        assert program == sys.executable
        directory, environment = options[4:6]
        read, _, _, write, _, errors = ends = options[9:15]
        self._ended, status = os.pipe()
        message = json.dumps(
            {"words": words, "cwd": os.fspath(directory or os.getcwd()), "env": dict(environment or os.environ)}
        ).encode()
        assert len(message) < _MOST_BYTES
        streams = [0 if read == -1 else read, 1 if write == -1 else write, 2 if errors == -1 else errors]
        with _mutex:
            socket.send_fds(_server(), [message], [*streams, status])
        os.close(status)
        self._close_pipe_fds(*ends)  # type: ignore[attr-defined]
        self.pid = int(_line(self._ended))
        self._child_created = True

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None and select.select([self._ended], [], [], 0)[0]:
            self._read_end()
        return self.returncode

    def _wait(self, timeout: float | None) -> int:
        if self.returncode is None:
            if not select.select([self._ended], [], [], timeout)[0]:
                assert timeout is not None
                raise subprocess.TimeoutExpired(self.args, timeout)
            self._read_end()
        return self.returncode

    def _read_end(self) -> None:
        code, seconds = json.loads(_line(self._ended))
        os.close(self._ended)
        processor_time.add(seconds)
        self.returncode = code


def _line(descriptor: int) -> bytes:
    read = b""
    while not read.endswith(b"\n"):
        if not (piece := os.read(descriptor, 1)):
            raise AssertionError("the warm process has ended")
        read += piece
    return read


def _server() -> socket.socket:
    """A socket to this process's own server, which ends with it."""
    if os.getpid() not in _servers:
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with its:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.warm", str(its.fileno())],
                cwd=_ROOT,
                pass_fds=[its.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        _servers[os.getpid()] = ours, process
    return _servers[os.getpid()][0]


def close() -> None:
    """End the server of this process; the next request starts another."""
    with _mutex:
        if server := _servers.pop(os.getpid(), None):
            server[0].close()
            server[1].wait()


def _serve(requests: socket.socket) -> Callable[[], object] | None:
    """Fork for each request. In a fork, what it has to run; in the server at the end, None."""
    for module in IMPORTED:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that wait
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, _MOST_BYTES, 4)
        if not message:
            return None
        if os.fork():
            for each in descriptors:
                os.close(each)
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        requests.close()
        *streams, status = descriptors
        if pid := os.fork():
            for each in streams:
                os.close(each)
            os.write(status, b"%d\n" % pid)
            _, code, usage = os.wait4(pid, 0)
            end = [os.waitstatus_to_exitcode(code), usage.ru_utime + usage.ru_stime]
            os.write(status, json.dumps(end).encode() + b"\n")
            os._exit(0)
        os.close(status)
        return _entered(json.loads(message), streams)


def _entered(request: dict[str, Any], streams: list[int]) -> Callable[[], object]:
    """What a new process would run, once this one is as that would be."""
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    for descriptor in streams:
        if descriptor > 2:
            os.close(descriptor)
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        errors = "backslashreplace" if name == "stderr" else "strict"
        stream = open(number, mode, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115 (until the end)
        stream.reconfigure(line_buffering=True)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    random.seed()
    words = request["words"]
    while words[0] == "-W":
        warnings.simplefilter(words[1])  # type: ignore[arg-type]
        words = words[2:]
    how, what, *rest = words if words[0] in ("-c", "-m") else ["", *words]
    sys.argv = [how or what, *rest]
    if how == "-m":
        sys.path[0] = os.getcwd()
        return lambda: runpy.run_module(what, run_name="__main__", alter_sys=True)
    if how == "":
        sys.path[0] = os.path.dirname(what)
        return lambda: runpy.run_path(what, run_name="__main__")
    sys.path[0] = ""
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    return lambda: exec(compile(what, "<string>", "exec"), vars(main))


if __name__ == "__main__":
    if (entered := _serve(socket.socket(fileno=int(sys.argv[1])))) is not None:
        entered()

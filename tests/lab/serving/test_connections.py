"""Silent, slow or unresponsive connections do not block others."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial

import pytest
import uvicorn

from leafspan.connections import TimedProtocol

BIG = b"x" * 20_000_000
HEADER = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"


class Quick(TimedProtocol):
    request_seconds = 0.6
    reading_seconds = 0.6


class Patient(TimedProtocol):
    """How busy the machine is does not matter."""

    request_seconds = reading_seconds = 600.0


async def app(scope, receive, send):
    more = scope["method"] == "POST"
    while more:
        more = (await receive()).get("more_body", False)
    body = BIG if scope["path"] == "/big" else b"here"
    if scope["path"] == "/slow":
        await asyncio.sleep(1.5)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@contextmanager
def serving(protocol: type[TimedProtocol] = Quick) -> Iterator[int]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(256)
        config = uvicorn.Config(app, http=protocol, lifespan="off", ws="none", log_config=None, timeout_keep_alive=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(60)


def ask(port: int, path: str = "/") -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=120) as answer:
        return answer.read()


def is_closed(connection: socket.socket, seconds: float) -> bool:
    connection.settimeout(seconds)
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def read_answer(connection: socket.socket) -> bytes:
    answer = b""
    while not answer.endswith(b"here") and (more := connection.recv(4096)):
        answer += more
    return answer


def read_all(connection: socket.socket) -> int:
    """The number of bytes until the connection is closed."""
    count = 0
    with suppress(ConnectionError):
        while more := connection.recv(1_000_000):
            count += len(more)
    return count


@pytest.mark.parametrize("begun", [b"", b"G", HEADER, HEADER + b"Content-Length: 5\r\n\r\nab"])
def test_many_connections_that_do_not_ask_keep_nobody_out(begun: bytes):
    with serving(Patient) as port, ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(socket.create_connection(("127.0.0.1", port))).sendall(begun)
        assert [ask(port) for _ in range(20)] == [b"here"] * 20


@pytest.mark.parametrize("asked", [HEADER + b"\r\n", HEADER + b"Content-Length: 5\r\n\r\nab"])
def test_a_new_connection_is_not_closed_for_those_that_were_answered_since(asked: bytes):
    with serving(Patient) as port, ExitStack() as stack:
        connect = partial(socket.create_connection, ("127.0.0.1", port), 120)
        new = stack.enter_context(connect())
        for _ in range(30):
            other = stack.enter_context(connect())
            other.sendall(asked)
            assert read_answer(other).endswith(b"here")
        new.sendall(HEADER + b"\r\n")
        assert read_answer(new).endswith(b"here")


@pytest.mark.parametrize("drip", [b"", b"x", b"X-Header: 1\r\n"])
@pytest.mark.parametrize("begun", [b"", HEADER, b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 999\r\n\r\n"])
def test_a_request_that_does_not_come_or_never_ends_is_given_up(begun: bytes, drip: bytes):
    with serving() as port, socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(begun)
        began = time.monotonic()
        while not is_closed(connection, 0.1):
            assert time.monotonic() - began < 10
            if drip:
                try:
                    connection.sendall(drip)
                except ConnectionError:
                    break
        assert time.monotonic() - began < 5


def test_a_peer_that_does_not_read_is_given_up_and_one_that_reads_slowly_is_not():
    with serving() as port:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"GET /big HTTP/1.1\r\nHost: h\r\n\r\n")
            time.sleep(3)
            assert read_all(connection) < len(BIG)
        assert ask(port, "/big") == BIG


def test_a_long_answer_and_a_reused_connection_are_not_cut_off():
    with serving() as port, socket.create_connection(("127.0.0.1", port)) as connection:
        for path in (b"/", b"/slow", b"/"):
            connection.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: h\r\n\r\n")
            answer = b""
            while not answer.endswith(b"here"):
                connection.settimeout(20)
                more = connection.recv(4096)
                assert more
                answer += more
            time.sleep(0.3)


def test_requests_that_are_being_answered_are_never_given_up_for_others():
    with serving() as port:
        answers: list[bytes] = []
        threads = [threading.Thread(target=lambda: answers.append(ask(port, "/slow"))) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == [b"here"] * 20

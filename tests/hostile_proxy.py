"""A proxy in front of a Chroma server that treats requests like bad networks and broken servers do."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tests.server import HOST

DRIP_SECONDS = 0.2
_HTML = b"<html><body><h1>502 Bad Gateway</h1></body></html>"


class HostileProxy:
    """Passes requests on, or does ``mode`` to those that ``chosen`` chooses by their method and path.

    ``pass``: passes it on. ``stall``: takes it and never answers. ``drip``: answers a byte at a time. ``cut``: closes the
    connection. ``lose``: passes it on, and closes the connection instead of answering. ``garbage``: answers with bytes
    that are no HTTP. ``broken``: answers with JSON that is cut off. ``change``: answers with what ``change`` makes of the JSON. ``other``: answers with JSON that says something else.
    ``html``: answers 502 with a page. ``failure``: answers 500. ``hold``: passes it on once ``release`` is called, and
    nobody gets the answer.
    """

    def __init__(self, upstream: tuple[str, int]) -> None:
        self.mode = "pass"
        self.change: Callable[[object], object] = lambda answer: answer
        self.chosen: Callable[[str, str], bool] = lambda method, path: True
        self.requests: list[tuple[str, str]] = []
        self._upstream = upstream
        self._released = threading.Event()
        self._holding: list[threading.Thread] = []
        self._closed = threading.Event()
        self._listener = socket.create_server((HOST, 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def do(self, mode: str, chosen: Callable[[str, str], bool] = lambda method, path: True) -> None:
        """From now on, do this to the requests that are chosen."""
        self.chosen, self.mode = chosen, mode

    def release(self) -> None:
        """Pass on what is held, and wait until the server has answered it."""
        self._released.set()
        for thread in self._holding:
            thread.join(10)
        self._holding.clear()
        self._released.clear()

    def close(self) -> None:
        """Stop. Whoever still waits is cut off."""
        self._closed.set()
        self._released.set()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError), client.makefile("rb") as incoming:
            while line := incoming.readline():
                method, path, _ = line.decode().split()
                headers = {}
                while (header := incoming.readline().strip()) != b"":
                    name, _, value = header.decode().partition(":")
                    headers[name.lower()] = value.strip()
                body = incoming.read(int(headers.get("content-length", 0)))
                if self._closed.is_set():
                    return
                self.requests.append((method, path))
                mode = self.mode if self.chosen(method, path) else "pass"
                if not self._answer(client, mode, method, path, headers, body):
                    return

    def _answer(self, client, mode, method, path, headers, body) -> bool:
        """Answer a request. False to close the connection."""
        if mode == "cut":
            return False
        if mode == "stall":
            self._closed.wait(120)
            return False
        if mode == "hold":
            self._holding.append(threading.current_thread())
            self._released.wait(120)
            self._ask(method, path, headers, body)
            return False
        if mode == "garbage":
            client.sendall(b"\x00\xff\x13 what is this\r\n\r\n" * 20)
            return False
        if mode == "html":
            client.sendall(_response(502, _HTML, "text/html"))
            return True
        if mode == "failure":
            client.sendall(_response(500, b'{"error":"InternalError","message":"the disk is on fire"}'))
            return True
        if mode == "other":
            client.sendall(_response(200, b'{"surprise": [1, 2]}'))
            return True
        status, answer = self._ask(method, path, headers, body)
        if mode == "lose":
            return False
        if mode == "change" and status == 200 and answer:
            answer = json.dumps(self.change(json.loads(answer))).encode()
        if mode == "broken":
            answer = answer[: len(answer) // 2] or b"{"
        sent = _response(status, answer)
        if mode == "drip":
            for byte in sent:
                if self._closed.wait(DRIP_SECONDS):
                    return False
                client.sendall(bytes([byte]))
            return True
        client.sendall(sent)
        return True

    def _ask(self, method, path, headers, body) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(*self._upstream, timeout=30)
        passed = {name: value for name, value in headers.items() if name not in ("host", "connection", "accept-encoding")}
        connection.request(method, path, body, passed)
        response = connection.getresponse()
        answer = response.read()
        connection.close()
        return response.status, answer


def _response(status: int, body: bytes, kind: str = "application/json") -> bytes:
    head = f"HTTP/1.1 {status} OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


@contextmanager
def proxy_before(server: tuple[str, int]) -> Iterator[HostileProxy]:
    """A proxy before a server, closed at the end."""
    proxy = HostileProxy(server)
    try:
        yield proxy
    finally:
        proxy.close()

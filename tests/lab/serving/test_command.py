"""``leafspan serve`` in a separate process."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

import pytest
from typer.testing import CliRunner

from leafspan import Document, Index
from leafspan.cli import app
from tests.lab.serving.serving import Served, command, process, served
from tests.profiles import quick

CODE = 2


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served") / "kb"
    with Index.open(folder) as index:
        index.add([Document("bees", "Bees make honey.", "Bees", {"tenant": "a"}), Document("wax", "Wax is made by bees.")])
    return folder


@pytest.fixture(scope="module")
def server(kb: Path) -> Iterator[Served]:
    with served(kb) as running:
        yield running


def fetched(address: str, **fields: str) -> str:
    with urlopen(f"{address}?{urlencode(fields)}", timeout=60) as answer:
        return answer.read().decode()


def status_of(address: str, **headers: str) -> int:
    try:
        with urlopen(Request(address, headers=headers), timeout=60) as answer:
            return answer.status
    except HTTPError as error:
        with error:
            return error.code


def test_it_prints_an_address_of_this_machine_with_a_token_and_serves_there(server: Served):
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{22}/", server.address)
    assert "Bees make" in fetched(server.address, q="honey", s="hybrid")


def test_without_the_token_or_by_another_name_there_is_nothing(server: Served):
    port = urlsplit(server.address).port
    assert status_of(f"http://127.0.0.1:{port}/") == 404
    assert status_of(server.address, Host=f"evil.example:{port}") == 421


def test_no_other_interface_is_served(server: Served):
    port = urlsplit(server.address).port
    with socket.socket() as other, pytest.raises(ConnectionRefusedError):
        other.connect(("127.0.0.2", port))


def test_many_ask_at_the_same_time(server: Served):
    def ask(number: int) -> bool:
        return f"honey {number}" in fetched(server.address, q=f"honey {number}", s="hybrid")

    with ThreadPoolExecutor(16) as threads:
        assert all(threads.map(ask, range(64)))


def test_idle_connections_keep_nobody_out(server: Served):
    place = ("127.0.0.1", urlsplit(server.address).port)
    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(socket.create_connection(place)).sendall(b"GET / HTTP/1.1\r\n")
        assert "honey" in fetched(server.address, q="honey", s="hybrid")


def test_what_another_process_adds_is_found_by_the_next_question(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("bees", "Bees make honey."))
    with served(tmp_path / "kb") as running:
        assert "Flowers" not in fetched(running.address, q="sweet", s="hybrid")
        with Index.open(tmp_path / "kb") as index:
            index.add(Document("flowers", "Flowers have sweet juice."))
            assert "Flowers have" in fetched(running.address, q="sweet", s="hybrid")  # while the other has it open
            index.delete(["flowers"])
        assert "Flowers" not in fetched(running.address, q="sweet", s="hybrid")
        assert "flowers" not in fetched(f"{running.address}documents")


@pytest.mark.parametrize("number", quick(1, [signal.SIGINT, signal.SIGTERM]))
def test_it_ends_with_a_signal(kb: Path, number: int):
    with served(kb) as running:
        assert "honey" in fetched(running.address, q="honey")
        assert running.end(number) == (0, "")
    with Index.open(kb) as index:
        assert index.repair() == []


@pytest.mark.slow
def test_it_ends_while_a_browser_holds_a_connection(kb: Path):
    with served(kb) as running, socket.create_connection(("127.0.0.1", urlsplit(running.address).port)) as waiting:
        waiting.sendall(b"GET / HTTP/1.1\r\n")
        assert running.end(signal.SIGTERM)[0] == 0


SLOW = """
import asyncio, sys
from leafspan import Config, Index
from leafspan.lab.serving import serve

async def never(*_, **__):
    print("asked", flush=True)
    await asyncio.sleep(600)

Index.aretrieve = never
with Index.open(sys.argv[1], create=False) as index:
    serve(index, {"slow": Config()}, timeout=600, started=lambda address: print(address, flush=True))
"""


@pytest.mark.slow
def test_a_question_that_takes_long_does_not_keep_it_from_ending(kb: Path):
    with process(sys.executable, "-c", SLOW, kb) as running, ThreadPoolExecutor(1) as thread:
        address = running.stdout.readline().strip()
        waiting = thread.submit(status_of, f"{address}?q=honey")
        assert running.stdout.readline() == "asked\n"
        running.terminate()
        assert running.communicate(timeout=30) == ("", "")
        assert running.returncode == 0
        assert waiting.result() == 503


def test_with_where_only_matching_documents_are_served_and_strategies_of_files_come_first(kb: Path, tmp_path: Path):
    (tmp_path / "mine.yaml").write_text("strategy: bm25\nk: 1\n")
    with served(kb, "--where", 'F("tenant") == "a"', "--config", tmp_path / "mine.yaml") as running:
        listed = fetched(f"{running.address}documents")
        assert "bees" in listed
        assert "wax" not in listed
        assert status_of(f"{running.address}document?id=wax") == 404
        page = fetched(running.address, q="bees")
        assert page.count('class="ls-card"') == 1
        assert '<option value="mine" selected>' in page


@pytest.mark.slow
def test_a_port_can_be_chosen_and_must_be_free_and_each_time_there_is_another_token(kb: Path, server: Served):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with process(*command("--kb", kb, "--port", port)) as failed:
            output, errors = failed.communicate(timeout=60)
    assert (failed.returncode, output) == (CODE, "")
    assert errors == f"error: port must be a free one, got {port}: Address already in use\n"
    with served(kb, "--port", port) as running:
        assert urlsplit(running.address).port == port
        assert urlsplit(running.address).path != urlsplit(server.address).path


def test_odd_requests_are_answered_and_do_not_stop_it(server: Served):
    place = ("127.0.0.1", urlsplit(server.address).port)
    for request in (b"\x00\x01\x02\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n"):
        with socket.create_connection(place, timeout=60) as connection:
            connection.sendall(request)
            assert re.match(rb"HTTP/1.1 4\d\d", connection.recv(1000))
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    assert status_of(server.address, **upgrade) == 200  # only a page, as for all others
    assert "honey" in fetched(server.address, q="honey")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--kb", "nowhere"], "nowhere"),
        (["--where", "year > 2"], "where must be JSON"),
        (["--timeout", "0"], "timeout must be"),
        (["--config", "nowhere.yaml"], "nowhere.yaml"),
        (["--config", "hybrid.yaml"], "each strategy must have a name of its own, got 'hybrid' twice"),
    ],
)
def test_errors_are_one_line(options: list[str], message: str, kb: Path):
    done = CliRunner().invoke(app, ["serve", *(["--kb", str(kb)] if "--kb" not in options else []), *options])
    assert done.exit_code == CODE
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.slow
def test_without_its_libraries_the_command_says_what_to_install(kb: Path):
    code = "import sys; sys.modules['uvicorn'] = None; from leafspan.cli import app; app()"
    done = subprocess.run(
        [sys.executable, "-c", code, "serve", "--kb", str(kb)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == CODE
    assert (
        done.stderr
        == 'error: leafspan serve needs starlette and uvicorn: pip install ".[serve]" in the clone of leafspan\n'
    )


@pytest.mark.slow
def test_the_browser_is_opened_if_asked_for(kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    opener = tmp_path / "opener"
    opener.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/writing\nmv {tmp_path}/writing {tmp_path}/opened\n')
    opener.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{opener} %s")
    with served(kb, "--open") as running:
        ends = time.monotonic() + 60
        while not (tmp_path / "opened").exists() and time.monotonic() < ends:
            time.sleep(0.05)
        assert (tmp_path / "opened").read_text().strip() == running.address

"""``leafspan mcp --port``: only users of this machine with the token reach the server."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from typer.testing import CliRunner

from leafspan.cli import app
from tests import warm
from tests.profiles import quick

TOKEN = "a token of sixteen or more".replace(" ", "-")
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


def started(kb: Path, *options: str, token: str | None = None) -> tuple[subprocess.Popen[str], str]:
    """A server, and where it can be reached."""
    environment = {**os.environ, **({"LEAFSPAN_MCP_TOKEN": token} if token else {})}
    arguments = [sys.executable, "-m", "leafspan", "mcp", "--kb", str(kb), "--port", "0", *options]
    pipe = subprocess.PIPE
    process = warm.Popen(arguments, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment)
    assert process.stderr
    place = re.search(r"http://127\.0\.0\.1:\d+/mcp", process.stderr.readline())
    assert place
    return process, place[0]


def end(process: subprocess.Popen[str], number: signal.Signals = signal.SIGTERM) -> int:
    process.send_signal(number)
    try:
        code = process.wait(60)
    finally:
        process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream
            stream.close()
    return code


@pytest.fixture(scope="module")
def url(kb: Path) -> Iterator[str]:
    process, place = started(kb, "--where", 'F("tenant") == "a"', token=TOKEN)
    yield place
    assert end(process) == -signal.SIGTERM


def with_token(token: str = TOKEN, **headers: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream", **headers}


@pytest.mark.parametrize("mode", quick(1, ["auto", "legacy"]))
async def test_a_client_finds_reads_and_cites_a_passage_and_cannot_leave_the_scope(url, mode):
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        found = await client.call_tool("search", {"question": "Who decoded the dance?"})
        [passage] = found.structured_content["passages"]
        read = (await client.call_tool("read", {"citation": passage["citation"]})).structured_content
        assert "Karl von Frisch decoded the dance." in read["text"]
        outside = await client.call_tool("read", {"document_id": "vault.md"})
        assert (outside.is_error, outside.content[0].text) == (True, "there is no document 'vault.md' in the index")
        (resource,) = (await client.list_resources()).resources
        assert "Karl von Frisch" in (await client.read_resource(resource.uri)).contents[0].text
        with pytest.raises(MCPError, match=r"there is no document 'vault\.md' in the index"):
            await client.read_resource(resource.uri.replace("bees", "vault"))


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Basic Y2xpZW50Og=="},
        with_token(TOKEN + "x"),
        with_token(TOKEN[:-1]),
        {"Authorization": TOKEN},
    ],
    ids=["none", "basic", "longer", "shorter", "no bearer"],
)
def test_nobody_is_answered_without_the_token(url, headers):
    answer = httpx2.post(url, json=INITIALIZE, headers=headers, timeout=60)
    assert answer.status_code == 401
    assert "bees" not in answer.text


def test_the_token_is_not_taken_from_the_address(url):
    assert httpx2.post(f"{url}?token={TOKEN}", json=INITIALIZE, timeout=60).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example:80"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_a_page_of_a_browser_is_not_answered_even_with_the_token(url, headers, status):
    assert httpx2.post(url, json=INITIALIZE, headers=with_token(**headers), timeout=60).status_code == status


def test_this_machine_is_answered(url):
    assert httpx2.post(url, json=INITIALIZE, headers=with_token(), timeout=60).status_code == 200


def test_no_other_machine_can_reach_it(url):
    port = int(url.rsplit(":", 1)[1].partition("/")[0])
    with socket.socket() as other:
        other.settimeout(2)
        # All of 127.0.0.0/8 is this machine: a server that listened on all addresses would answer here.
        assert other.connect_ex(("127.0.0.2", port)) != 0


def test_a_token_is_made_and_printed_where_none_is_given_and_ctrl_c_ends_the_server(kb):
    process, place = started(kb)
    assert process.stderr
    token = process.stderr.readline().strip().removeprefix("Authorization: Bearer ")
    assert len(token) >= 32
    assert httpx2.post(place, json=INITIALIZE, headers=with_token(token), timeout=60).status_code == 200
    assert end(process, signal.SIGINT) == 130


def test_a_short_token_is_refused(kb, monkeypatch):
    monkeypatch.setenv("LEAFSPAN_MCP_TOKEN", "secret")
    done = CliRunner().invoke(app, ["mcp", "--kb", str(kb), "--port", "0"])
    assert done.exit_code == 2
    assert "token must have 16 or more printable ASCII characters" in done.stderr
    assert "secret" not in done.stderr


def test_a_port_that_is_taken_is_one_line(kb):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = CliRunner().invoke(app, ["mcp", "--kb", str(kb), "--port", str(port)])
    assert (done.exit_code, done.stdout) == (2, "")
    assert re.fullmatch(rf"error: port must be a free one, got {port}: [Aa]ddress already in use\n", done.stderr)

"""``leafspan mcp`` as clients start it: a process that speaks over standard input and output."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from typer.testing import CliRunner

from leafspan import Index
from leafspan.cli import app
from tests import warm
from tests.lateness import ends_within
from tests.profiles import quick

SCOPED = ["--where", 'F("tenant") == "a"']


def command(kb: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "leafspan", "mcp", "--kb", str(kb), *options]


def started_by_a_client(kb: Path, *options: str) -> Client:
    executable, *arguments = command(kb, *options)
    return Client(stdio_client(StdioServerParameters(command=executable, args=arguments, env=dict(os.environ))))


@pytest.mark.slow
async def test_a_client_finds_reads_and_cites_a_passage_and_cannot_leave_the_scope(kb):
    async with started_by_a_client(kb, *SCOPED, "--strategy", "hybrid", "--about", "the notes") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == ["search", "read", "outline", "grep"]
        assert tools["search"].description.startswith("Search the notes.")
        assert "strategy" not in tools["search"].input_schema["properties"]
        found = await client.call_tool("search", {"question": "Who decoded the dance?"})
        [passage] = found.structured_content["passages"]
        read = (await client.call_tool("read", {"citation": passage["citation"]})).structured_content
        assert "Karl von Frisch decoded the dance." in read["text"]
        assert read["citation"].startswith("bees.md:")
        listed = (await client.call_tool("outline", {})).structured_content["documents"]
        assert [each["document_id"] for each in listed] == ["bees.md"]
        outside = await client.call_tool("read", {"document_id": "vault.md"})
        assert outside.is_error
        assert outside.content[0].text == "there is no document 'vault.md' in the index"


@pytest.mark.slow
async def test_the_limits_of_a_configuration_are_the_defaults_of_a_search(kb, tmp_path):
    config = tmp_path / "kb.yaml"
    config.write_text("strategy: vector\nk: 1\nbudget: 100\nmin_score: -1\n")
    async with started_by_a_client(kb, "--config", str(config)) as client:
        search = next(tool for tool in (await client.list_tools()).tools if tool.name == "search")
        properties = search.input_schema["properties"]
        assert (properties["k"]["default"], properties["budget"]["default"]) == (1, 100)
        question = {"question": "Who decoded the dance?"}
        assert len((await client.call_tool("search", question)).structured_content["passages"]) == 1
        assert len((await client.call_tool("search", {**question, "k": 2})).structured_content["passages"]) == 2


@pytest.mark.slow
async def test_a_writable_server_adds_and_deletes(kb, tmp_path):
    own = shutil.copytree(kb, tmp_path / "kb")
    async with started_by_a_client(own, "--writable") as client:
        added = await client.call_tool("add", {"document_id": "tea.md", "text": "Tea is hot.", "metadata": {"year": 2026}})
        assert added.structured_content == {"document_id": "tea.md", "done": "added"}
        deleted = await client.call_tool("delete", {"document_id": "vault.md"})
        assert deleted.structured_content == {"deleted": ["vault.md"]}
    with Index.open(own) as index:
        assert [info.id for info in index.documents()] == ["bees.md", "tea.md"]


class Server:
    """A server, spoken to line by line."""

    def __init__(self, kb: Path, *options: str) -> None:
        pipe = subprocess.PIPE
        self.process = warm.Popen(command(kb, *options), stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        information = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        self.send({"id": 1, "method": "initialize", "params": information})
        self.lines = [self.receive()]
        self.send({"method": "notifications/initialized"})

    def send(self, message: dict) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def call(self, name: str, arguments: dict, number: int = 2) -> None:
        self.send({"id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}})

    def receive(self) -> dict:
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def ended(self) -> tuple[int, list[str], str]:
        """The exit code, what was left on standard output, and standard error; at most five seconds from now."""
        with ends_within(5):
            code = self.process.wait(60)
        assert self.process.stdout
        assert self.process.stderr
        with self.process.stdout as out, self.process.stderr as err:
            return code, out.read().splitlines(), err.read()


def test_nothing_but_the_protocol_is_on_standard_output_and_the_end_of_input_ends_the_process(kb, tmp_path):
    own = shutil.copytree(kb, tmp_path / "kb")
    server = Server(own, "--writable")
    server.call("add", {"document_id": "tea.md", "text": "Tea is hot. " * 2_000})
    assert server.receive()["result"]["structuredContent"]["done"] == "added"
    server.call("search", {"question": "tea"}, 3)
    assert server.receive()["id"] == 3
    assert server.process.stdin
    server.process.stdin.write("this is no JSON\n")
    server.process.stdin.close()
    code, out, err = server.ended()
    assert code == 0
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out)
    assert "Traceback" not in err


@pytest.mark.parametrize(("number", "code"), quick(1, [(signal.SIGTERM, 143), (signal.SIGINT, 130)]))
def test_a_signal_ends_the_process_at_once(kb, number, code):
    server = Server(kb)
    server.call("outline", {})
    assert server.receive()["result"]["structuredContent"]["total"] == 2
    server.process.send_signal(number)
    assert server.ended() == (code, [], "")
    assert server.process.stdin
    server.process.stdin.close()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of its own")
def test_who_starts_it_on_a_terminal_reads_what_it_waits_for(kb):
    ours, terminal = os.openpty()
    pipe = subprocess.PIPE
    process = subprocess.Popen(command(kb), stdin=terminal, stdout=pipe, stderr=pipe, text=True)
    assert process.stderr
    line = process.stderr.readline()
    assert line.startswith(f"serving {kb} on standard input and output, and waiting for a client there")
    assert f"`leafspan mcp --kb {kb}`" in line
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    for each in (ours, terminal):
        os.close(each)


@pytest.mark.slow
def test_a_filter_that_nothing_matches_is_named_on_standard_error(kb):
    server = Server(kb, "--where", 'F("tenant") == "acme"')
    assert server.process.stdin
    server.process.stdin.close()
    line = 'no document matches --where F("tenant") == "acme": nothing will be found\n'
    assert server.ended() == (0, [], line)


@pytest.mark.slow
def test_the_end_of_input_ends_the_process_while_a_call_goes_on(kb):
    server = Server(kb)
    server.call("search", {"question": "Who decoded the dance?"})
    assert server.process.stdin
    server.process.stdin.close()
    code, _, err = server.ended()
    assert (code, err) == (0, "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--where", "{}"], "a scope must have a filter"),
        (["--where", 'F("tenant")'], "where, given as a text, must be like"),
        (["--where", ""], "where must be JSON, or like"),
        (["--strategy", "vectors"], "did you mean 'vector'"),
        (["--budget", "5"], "budget must be a whole number >= 20, got 5"),
        (["--timeout", "0"], "timeout must be a number of seconds > 0, got 0"),
        (["--kb", "nowhere"], "no index"),
    ],
)
def test_wrong_options_are_one_line_and_nothing_is_served(kb, options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["mcp", "--kb", str(kb), *options])
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr
    assert not (tmp_path / "nowhere").exists()


def test_without_the_extra_the_error_has_the_command_that_installs_it(kb, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    for name in [each for each in sys.modules if each.startswith("leafspan.cli.mcp_server")]:
        monkeypatch.delitem(sys.modules, name)
    done = CliRunner().invoke(app, ["mcp", "--kb", str(kb)])
    assert (done.exit_code, done.stdout) == (2, "")
    assert 'error: leafspan mcp needs mcp: pip install ".[mcp]" in the clone of leafspan' in done.stderr

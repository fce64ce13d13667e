"""``leafspan mcp --install``: the settings with which clients start the server."""

from __future__ import annotations

import json
import stat
import sys
import tomllib
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from typer.testing import CliRunner

from leafspan.cli import app
from leafspan.cli._mcp import _CLIENTS


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.chdir(home)
    return home


def install(client: str, kb: Path, *options: str):
    return CliRunner().invoke(app, ["mcp", "--kb", str(kb), "--install", client, *options])


def entry(kb: Path, *options: str) -> dict[str, object]:
    return {"command": sys.executable, "args": ["-m", "leafspan", "mcp", "--kb", str(kb), *options]}


@pytest.mark.parametrize("client", _CLIENTS)
def test_the_server_is_added_and_the_rest_of_the_file_stays(kb: Path, home: Path, client: str):
    assert install(client, kb).exit_code == 0
    (file,) = (path for path in home.rglob("*") if path.is_file())
    key = _CLIENTS[client][1]
    kind = {"type": "stdio"} if client == "vscode" else {}
    assert json.loads(file.read_text()) == {key: {"leafspan-kb": kind | entry(kb)}}

    file.write_text(
        json.dumps({"theme": "grün", key: {"other": {"command": "x"}, "leafspan-kb": {"command": "old"}}}), "utf-8"
    )
    file.chmod(0o600)  # it may hold other servers' secrets
    result = install(client, kb, "--where", 'F("tenant") == "a"', "--writable", "-k", "3", "--timeout", "5")
    assert result.exit_code == 0, result.output
    assert str(file) in result.stderr.replace("\n", "")
    options = ("--where", 'F("tenant") == "a"', "--writable", "-k", "3", "--timeout", "5.0")
    ours = kind | entry(kb, *options)
    assert json.loads(file.read_text("utf-8")) == {"theme": "grün", key: {"other": {"command": "x"}, "leafspan-kb": ours}}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path for path in home.rglob("*") if path.is_file()] == [file]


def test_settings_are_printed(kb: Path, home: Path):
    assert json.loads(install("json", kb).stdout) == {"mcpServers": {"leafspan-kb": entry(kb)}}
    printed = install("codex", kb, "--about", 'the "notes" of Zoë 📄').stdout
    assert tomllib.loads(printed) == {"mcp_servers": {"leafspan-kb": entry(kb, "--about", 'the "notes" of Zoë 📄')}}
    assert not any(home.iterdir())


def test_two_servers_have_names(kb: Path, home: Path):
    assert install("claude-code", kb, "--name", "ann", "--where", 'F("tenant") == "a"').exit_code == 0
    assert install("claude-code", kb, "--name", "bob").exit_code == 0
    servers = json.loads((home / ".mcp.json").read_text())["mcpServers"]
    assert servers == {"ann": entry(kb, "--where", 'F("tenant") == "a"'), "bob": entry(kb)}


def test_an_empty_file_gets_the_server(kb: Path, home: Path):
    (home / ".mcp.json").write_text(" \n")
    assert install("claude-code", kb).exit_code == 0
    assert json.loads((home / ".mcp.json").read_text()) == {"mcpServers": {"leafspan-kb": entry(kb)}}


@pytest.mark.slow
async def test_a_client_starts_the_server_by_these_settings(kb: Path, home: Path):
    settings = json.loads(install("json", kb, "--connector").stdout)["mcpServers"]["leafspan-kb"]
    async with Client(stdio_client(StdioServerParameters(**settings))) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["search", "fetch"]
        found = await client.call_tool("search", {"query": "Who decoded the dance?"})
        assert found.structured_content["results"][0]["title"] == "Bees"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{ // comment\n}", "must be JSON with an object 'mcpServers' and no comments"),
        ("[]", "must be JSON with an object 'mcpServers'"),
        ('{"mcpServers": 7}', "must be JSON with an object 'mcpServers'"),
    ],
)
def test_a_file_that_cannot_be_understood_stays_as_it_is(kb: Path, home: Path, content: str, message: str):
    file = home / ".mcp.json"
    file.write_text(content)
    result = install("claude-code", kb)
    assert result.exit_code != 0
    assert message in " ".join(result.stderr.split())
    assert file.read_text() == content
    assert list(home.iterdir()) == [file]


def test_what_cannot_be_installed_is_refused(kb: Path, home: Path):
    for arguments, message in [
        (("clade",), "install must be one of"),
        (("cursor", "--port", "0"), "--install must be without --port"),
        (("cursor", "--connector", "--writable"), "--connector must be without --writable"),
    ]:
        result = install(arguments[0], kb, *arguments[1:])
        assert result.exit_code != 0
        assert message in " ".join(result.stderr.split())
    assert install("cursor", home / "nowhere").exit_code != 0  # no index there
    (home / ".cursor").write_text("a file")
    result = install("cursor", kb)
    assert "error: cannot use" in result.stderr
    assert [path.name for path in home.iterdir()] == [".cursor"]

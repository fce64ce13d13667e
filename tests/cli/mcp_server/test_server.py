"""What a client of MCP sees of the tools, their results and their errors. (The client and the server share a process.)"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from importlib.metadata import version

import pytest
from mcp import Client, MCPError
from mcp.types import ResourceLink, TextContent

from leafspan import Document, F, Index
from leafspan.agents import AgentTool, ToolResult, agent_tools
from leafspan.cli.mcp_server import make_server
from leafspan.flows import Call
from tests.cli.test_terminal import HOSTILE, dangerous

MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])
"""The two kinds of connections that there are: with a handshake, and without."""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with Index.open(tmp_path_factory.mktemp("mcp") / "kb") as opened:
        opened.scoped(F("tenant") == "a").add(
            Document("bees.md", "# Bees\n\nKarl von Frisch decoded the dance of the bees.\n", "Bees")
        )
        opened.scoped(F("tenant") == "b").add(Document("vault.md", "The code of the vault is xyzzy.\n"))
        yield opened


def connected(index: Index, mode: str = "auto", **options) -> Client:
    return Client(make_server(index, agent_tools(index, **options)), mode=mode)


def text_of(result) -> str:
    content, *links = result.content
    assert all(isinstance(each, ResourceLink) for each in links)
    assert isinstance(content, TextContent)
    return content.text


@MODES
async def test_the_tools_are_listed_with_what_they_take_and_do(index, mode):
    async with connected(index, mode, writable=True) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == ["search", "read", "outline", "grep", "add", "delete"]
        assert tools["search"].input_schema["required"] == ["question"]
        assert [tool.annotations.read_only_hint for tool in tools.values()] == [True, True, True, True, False, False]
        assert [tool.annotations.destructive_hint for tool in tools.values()] == [False, False, False, False, True, True]
        assert (client.server_info.name, client.server_info.version) == ("leafspan", version("leafspan"))
        assert "Quote only what passages say" in client.instructions


@MODES
async def test_a_client_finds_reads_and_cites_a_passage(index, mode):
    async with connected(index, mode) as client:
        found = await client.call_tool("search", {"question": "Who decoded the dance?"})
        [passage] = found.structured_content["passages"]
        read = await client.call_tool("read", {"citation": passage["citation"]})
        assert "Karl von Frisch" in read.structured_content["text"]
        assert json.loads(text_of(found)) == found.structured_content


@MODES
async def test_a_client_that_writes_numbers_as_texts_is_answered_too(index, mode):
    async with connected(index, mode) as client:
        found = await client.call_tool("search", {"question": "Who decoded the dance?", "k": "1", "budget": "100.0"})
        [passage] = found.structured_content["passages"]
        read = await client.call_tool("read", {"citation": passage["citation"], "budget": " 50"})
        assert "Karl von Frisch" in read.structured_content["text"]


async def test_a_client_does_not_see_what_a_document_hides(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("tea", "Tea is hot.", metadata={"path": "/home/kit", "topic": "tea"}, hidden=("path",)))
        async with connected(index) as client:
            for name, arguments in [("search", {"question": "tea"}), ("outline", {}), ("read", {"document_id": "tea"})]:
                result = await client.call_tool(name, arguments)
                assert "tea" in text_of(result)
                assert "/home/kit" not in text_of(result) + json.dumps(result.structured_content)


@MODES
async def test_what_a_tool_refuses_is_a_result_with_the_rule_and_the_value(index, mode):
    async with connected(index, mode) as client:
        for name, arguments, message in [
            ("search", {"question": "bees", "budget": 1}, "budget must be a whole number >= 20, got 1"),
            ("search", {}, "search must be given question"),
            ("read", {"document_id": "cats"}, "there is no document 'cats' in the index"),
            ("outline", {"document_id": "cats"}, "there is no document 'cats' in the index"),
        ]:
            refused = await client.call_tool(name, arguments)
            assert refused.is_error
            assert text_of(refused) == message


async def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(index):
    async with connected(index) as client:
        with pytest.raises(
            MCPError, match="the tool must be one of search, read, outline, grep, got 'serch'; did you mean 'search'"
        ):
            await client.call_tool("serch", {})


async def test_a_server_that_may_only_read_has_no_tool_that_writes(index):
    async with connected(index) as client:
        for name in ("add", "delete"):
            with pytest.raises(MCPError, match="the tool must be one of search, read, outline, grep"):
                await client.call_tool(name, {"document_id": "bees.md", "text": "Overwritten."})
    assert index.count() == 2


async def test_a_client_cannot_leave_the_scope_of_its_server(index):
    async with connected(index.scoped(F("tenant") == "a")) as client:
        [stored] = [info.id for info in index.documents() if info.id.startswith("vault")]
        said = []
        for name, arguments in [
            ("search", {"question": "code of the vault"}),
            ("search", {"question": "code of the vault", "where": 'F("tenant") == "b"', "strategy": "bm25"}),
            ("search", {"question": "code", "where": '(F("tenant") == "a") | F("tenant").exists()', "budget": 3000}),
            ("outline", {}),
            ("outline", {"summaries": True}),
            ("grep", {"pattern": "."}),
            *[("read", {"document_id": each}) for each in (stored, "vault.md")],
            *[("read", {"citation": f"{each}:0-9"}) for each in (stored, "vault.md")],
            *[("outline", {"document_id": each}) for each in (stored, "vault.md")],
            *[("grep", {"pattern": ".", "document_id": each}) for each in (stored, "vault.md")],
        ]:
            result = await client.call_tool(name, arguments)
            said.append(text_of(result))
            assert result.is_error == ("vault.md" in str(arguments))
        assert not any("xyzzy" in text for text in said)
        assert not any("vault" in text for text in said[:6])
        assert said[6] == f"there is no document {stored!r} in the index"


@MODES
async def test_hostile_texts_arrive_as_they_are_and_command_nothing(tmp_path, mode):
    text = f'# {HOSTILE}\n\n<script>alert(1)</script> [red]bees[/red] "}}]}} {HOSTILE}'
    with Index.open(tmp_path / "kb") as hostile:
        hostile.add(Document(f"id {HOSTILE}", text, HOSTILE, {HOSTILE: HOSTILE}))
        async with connected(hostile, mode) as client:
            for name, arguments in [
                ("search", {"question": "bees"}),
                ("outline", {}),
                ("grep", {"pattern": "bees"}),
                ("read", {"document_id": f"id {HOSTILE}"}),
            ]:
                result = await client.call_tool(name, arguments)
                assert dangerous(text_of(result)) == set()
                assert json.loads(text_of(result)) == result.structured_content
            assert result.structured_content["text"] == text


def tool_that(action) -> AgentTool:
    def flow(arguments):
        return (yield Call(action, (arguments,)))

    return AgentTool("tool", "Does what a test needs.", (), flow)


async def test_an_error_that_nobody_expected_tells_the_client_nothing_of_itself(caplog):
    def fails(_):
        raise ZeroDivisionError(f"xyzzy {HOSTILE}")

    async with Client(make_server(index, [tool_that(fails)])) as client:
        with caplog.at_level(logging.ERROR):
            failed = await client.call_tool("tool", {})
    assert failed.is_error
    assert text_of(failed) == "tool failed for a reason that the server's log shows: try again, or something else"
    assert "ZeroDivisionError" in caplog.text
    assert dangerous(caplog.text) == set()


async def test_messages_command_no_terminal(index):
    async with connected(index) as client:
        refused = await client.call_tool("search", {"question": "bees", HOSTILE: 1, "where": HOSTILE})
        assert refused.is_error
        assert dangerous(text_of(refused)) == set()
        assert "\n" not in text_of(refused)


async def test_calls_hold_up_no_others(index):
    started, let_go = asyncio.Event(), asyncio.Event()

    def flow(_):
        yield Call(None, native=wait)
        return ToolResult({"waited": True})

    async def wait():
        started.set()
        await let_go.wait()

    slow = AgentTool("slow", "Waits.", (), flow)
    async with Client(make_server(index, [slow, *agent_tools(index)])) as client:
        waiting = asyncio.create_task(client.call_tool("slow", {}))
        await started.wait()
        assert (await client.call_tool("outline", {})).structured_content["total"] == 2
        assert not waiting.done()
        let_go.set()
        assert (await waiting).structured_content == {"waited": True}


async def test_a_call_that_is_late_is_an_error_that_says_so(index):
    async with connected(index, timeout=1e-6) as client:
        late = await client.call_tool("search", {"question": "bees"})
        assert late.is_error
        assert "its timeout of 1e-06 seconds" in text_of(late)

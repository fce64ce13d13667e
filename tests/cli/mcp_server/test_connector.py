"""``leafspan mcp --connector``: search and fetch, as ChatGPT's connectors and deep research need them."""

from __future__ import annotations

import json

from mcp import Client

from leafspan import Document, F, Index
from leafspan.agents import agent_tools
from leafspan.cli.mcp_server import connector_tools, make_server

PAGE = "https://example.org/bees"
TEXT = "# Dance\n\nKarl von Frisch decoded the dance of the bees.\n\n" + "Bees make honey in summer. " * 40


def connected(view: Index, **options) -> Client:
    search, read, *_ = agent_tools(view, **options)
    return Client(make_server(view, connector_tools(search, read), with_links=False))


async def test_a_client_searches_and_fetches(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("bees.md", TEXT, "Bees", {"url": PAGE, "topic": "bees"}))
        index.add(Document("tea", "Tea is hot.", metadata={"source": "https://example.org/tea"}, hidden=("source",)))
        async with connected(index, max_budget=100) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(tools) == ["search", "fetch"]
            assert list(tools["search"].input_schema["properties"]) == ["query"]
            assert list(tools["fetch"].input_schema["properties"]) == ["id"]

            found = await client.call_tool("search", {"query": "Who decoded the dance?"})
            (content,) = found.content  # exactly one text
            assert json.loads(content.text) == found.structured_content
            result = found.structured_content["results"][0]
            assert result == {"id": result["id"], "title": "Bees > Dance", "url": PAGE}

            fetched = await client.call_tool("fetch", {"id": result["id"]})
            (content,) = fetched.content
            page = json.loads(content.text)
            assert page == fetched.structured_content
            assert page.keys() == {"id", "title", "text", "url", "metadata"}
            assert (page["id"], page["url"]) == (result["id"], PAGE)
            assert "Karl von Frisch" in page["text"]
            assert page["metadata"]["next_start"] == len(page["text"])  # only as many words as the server allows

            (tea,) = (await client.call_tool("search", {"query": "Is tea hot?"})).structured_content["results"][:1]
            assert (tea["title"], tea["url"]) == ("tea", "leafspan:///tea")  # a hidden address is not shown


async def test_a_client_cannot_leave_the_scope_of_its_server(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("bees", "Bees dance.", metadata={"tenant": "a"}))
        index.add(Document("vault", "The code of the vault is xyzzy.", metadata={"tenant": "b"}))
        async with connected(index.scoped(F("tenant") == "a")) as client:
            assert "vault" not in str((await client.call_tool("search", {"query": "code of the vault"})).structured_content)
            for id_ in ("vault:0-10", "vault", ""):
                refused = await client.call_tool("fetch", {"id": id_})
                assert refused.is_error
                assert "xyzzy" not in refused.content[0].text


async def test_what_a_tool_refuses_says_why(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        async with connected(index) as client:
            assert (await client.call_tool("search", {"query": "tea"})).structured_content == {"results": []}
            for name, arguments, message in [
                ("search", {}, "search must be given query"),
                ("search", {"query": " "}, "must be a text that is not blank"),
                ("fetch", {"id": "tea"}, "citation must be like handbook.md:120-480"),
                ("fetch", {"id": "tea:0-1"}, "there is no document 'tea' in the index"),
            ]:
                refused = await client.call_tool(name, arguments)
                assert refused.is_error
                assert message in refused.content[0].text

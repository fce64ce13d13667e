"""Documents and passages as resources, the links to them, the prompt, and the schemas of results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError
from mcp.types import ResourceLink, TextContent

from leafspan import Document, F, Index
from leafspan.agents import agent_tools
from leafspan.cli.mcp_server import make_server
from leafspan.cli.mcp_server._resources import read_resource, uri_of
from leafspan.flows import run
from leafspan.splitting import LINE_END

BEES = "# Bees\n\nKarl von Frisch decoded the dance.\r\n\r\n## Honey\n\nBees make honey."


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with Index.open(tmp_path_factory.mktemp("resources") / "kb") as opened:
        opened.add(Document("notes/bees 1?.md", BEES, "Bees", {"tenant": "a", "topic": "bees"}))
        opened.add(Document("vault", "The code is xyzzy.", "The vault", {"tenant": "b"}, hidden=("title",)))
        opened.build_tree()
        yield opened


def connected(view: Any, **options: Any) -> Client:
    return Client(make_server(view, agent_tools(view, **options)))


async def test_documents_are_resources_with_their_texts(index: Index):
    async with connected(index) as client:
        listed = await client.list_resources()
        assert [(each.name, each.title) for each in listed.resources] == [("notes/bees 1?.md", "Bees"), ("vault", None)]
        assert listed.next_cursor is None
        read = await client.read_resource(listed.resources[0].uri)
        assert read.contents[0].text == BEES
        assert read.contents[0].meta == {"citation": f"notes/bees 1?.md:0-{len(BEES)}", "lines": [1, 7]}


async def test_a_result_has_a_link_to_each_of_its_texts(index: Index):
    async with connected(index) as client:
        found = await client.call_tool("search", {"question": "Who decoded the dance?"})
        text, *links = found.content
        assert isinstance(text, TextContent)
        passages = found.structured_content["passages"]
        assert len(links) == len(passages) > 0
        for link, passage in zip(links, passages, strict=True):
            assert isinstance(link, ResourceLink)
            assert link.name == passage["citation"]
            (content,) = (await client.read_resource(link.uri)).contents
            assert content.text == passage["text"]
            assert content.meta == {"citation": passage["citation"], "lines": passage["lines"]}


async def test_the_list_is_read_page_by_page(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        index.add([Document(f"{number:03}", "A text.") for number in range(205)])
        async with connected(index) as client:
            names, cursor = [], None
            while True:
                page = await client.list_resources(cursor=cursor)
                names += [each.name for each in page.resources]
                if (cursor := page.next_cursor) is None:
                    break
            assert names == [f"{number:03}" for number in range(205)]
            with pytest.raises(MCPError, match="cursor must be next_cursor of the page before, got 'x'"):
                await client.list_resources(cursor="x")


async def test_a_client_learns_how_addresses_are_formed(index: Index):
    async with connected(index) as client:
        templates = (await client.list_resource_templates()).resource_templates
        assert [each.uri_template for each in templates] == [
            "leafspan:///{document_id}",
            "leafspan:///{document_id}{?start,end}",
        ]


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("leafspan:///nowhere", "there is no document 'nowhere' in the index"),
        ("leafspan:///", "uri must be like leafspan:///handbook.md?start=120&end=480, got 'leafspan:///'"),
        ("file:///etc/passwd", "uri must be like"),
        ("leafspan:///vault?end=0", "start must be less than end"),
        ("leafspan:///vault?start=-1&end=2", "uri must be like"),
        ("leafspan:///vault?start=5&end=5", "start must be less than end and the document's 18 characters, got 5"),
        ("leafspan:///vault?start=99&end=100", "start must be less than end and the document's 18 characters, got 99"),
    ],
)
async def test_other_addresses_are_refused(index: Index, uri: str, message: str):
    async with connected(index) as client:
        with pytest.raises(MCPError, match=re.escape(message)):
            await client.read_resource(uri)


async def test_a_part_may_begin_at_the_start_or_end_at_the_end(index: Index):
    async with connected(index) as client:
        for query, part in (("start=4", "code is xyzzy."), ("end=3", "The"), ("start=0&end=18", "The code is xyzzy.")):
            assert (await client.read_resource(f"leafspan:///vault?{query}")).contents[0].text == part


async def test_a_client_cannot_leave_the_scope_of_its_server(index: Index):
    async with connected(index.scoped(F("tenant") == "a")) as client:
        assert [each.name for each in (await client.list_resources()).resources] == ["notes/bees 1?.md"]
        for uri in (uri_of("vault"), uri_of("vault", 0, 5)):
            with pytest.raises(MCPError, match="there is no document 'vault' in the index"):
                await client.read_resource(uri)


async def test_reading_that_is_late_is_an_error_that_says_so(index: Index):
    async with Client(make_server(index, agent_tools(index), timeout=1e-6)) as client:
        with pytest.raises(MCPError, match="its timeout of 1e-06 seconds"):
            await client.read_resource(uri_of("vault"))


@given(st.text(min_size=1).filter(str.strip), st.data())
def test_each_part_of_each_document_has_an_address(id_: str, data: st.DataObject):
    document = Document("id", data.draw(st.text(st.sampled_from("ab \n\r\u2028"), min_size=1)))
    start = data.draw(st.integers(0, len(document.text) - 1))
    end = data.draw(st.integers(start + 1, len(document.text)))

    class View:
        def documents(self) -> None: ...

        adocuments = aget = documents

        def get(self, asked: str) -> Document:
            assert asked == id_
            return document

    try:
        id_.encode()
    except UnicodeEncodeError:
        return  # no document has such an id
    (content,) = run(read_resource(View(), uri_of(id_, start, end))).contents
    assert content.text == document.text[start:end]
    first, last = content.meta["lines"]
    before = LINE_END.split(document.text[: start + 1])
    assert first in (len(before), len(before) - 1)  # a part may begin between the two characters of a line end
    assert last - first <= len(LINE_END.findall(content.text))


async def test_the_prompt_asks_for_an_answer_with_citations(index: Index):
    async with connected(index) as client:
        (prompt,) = (await client.list_prompts()).prompts
        got = await client.get_prompt(prompt.name, {"question": "Who decoded the dance?"})
        assert "Who decoded the dance?" in got.messages[0].content.text
        assert "name the citation of each" in got.messages[0].content.text
        for name, arguments in [("other", {"question": "x"}), (prompt.name, {"question": " "}), (prompt.name, {})]:
            with pytest.raises(MCPError, match="the prompt must be 'answer' with a question"):
                await client.get_prompt(name, arguments)


def undeclared(schema: Mapping[str, Any], value: Any) -> list[str]:
    """The keys of a value that its schema does not have."""
    if isinstance(value, list):
        return [each for item in value for each in undeclared(schema["items"], item)]
    if isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        return [key for key in value if key not in known] + [
            each for key in value.keys() & known for each in undeclared(known[key], value[key])
        ]
    return []


async def test_each_result_is_of_its_schema(index: Index):
    async with connected(index, writable=True) as client:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        for name, arguments in [
            ("search", {"question": "Who decoded the dance?"}),
            ("search", {"question": "What are bees?", "strategy": "tree"}),
            ("search", {"question": "bees", "where": 'F("topic") == "none"'}),
            ("read", {"document_id": "notes/bees 1?.md", "budget": 20}),
            ("outline", {}),
            ("outline", {"document_id": "notes/bees 1?.md"}),
            ("outline", {"document_id": "vault"}),
            ("outline", {"summaries": True}),
            ("outline", {"key": "tenant", "limit": 1}),
            ("add", {"document_id": "new", "text": "A text."}),
            ("delete", {"document_id": "new"}),
        ]:
            result = await client.call_tool(name, arguments)  # the client checks the types
            assert not result.is_error
            assert undeclared(schemas[name], result.structured_content) == [], name

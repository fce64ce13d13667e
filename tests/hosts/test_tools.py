"""``as_tools`` and ``as_tool``: the tools of an agent, in both frameworks alike."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import numpy as np
import pytest
from anthropic.types import SearchResultBlockParam
from langchain_anthropic.chat_models import _format_messages
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.tools import BaseTool as LlamaIndexTool
from llama_index.core.tools.calling import acall_tool, call_tool
from pydantic import TypeAdapter

import langchain_ext
import llamaindex_ext
from leafspan import Document, F, InvalidArgument
from leafspan.agents import agent_tools

QUESTION = {"question": "Who decoded the dance of the bees?", "budget": 60}


def by_name(tools: list[Any]) -> dict[str, Any]:
    return {(tool.metadata if isinstance(tool, LlamaIndexTool) else tool).name: tool for tool in tools}


@pytest.fixture
def langchain(shared_index) -> dict[str, Any]:
    return by_name(langchain_ext.as_tools(shared_index))


@pytest.fixture
def llamaindex(shared_index) -> dict[str, Any]:
    return by_name(llamaindex_ext.as_tools(shared_index))


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What a model of LangChain asks for."""
    return {"type": "tool_call", "id": "1", "name": name, "args": arguments}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search", QUESTION),
        ("search", {"question": "harbour", "where": 'F("year") < 1900', "strategy": "auto-merging"}),
        ("read", {"citation": "bees:300-320", "budget": 40}),
        ("read", {"document_id": "harbour", "start": 100}),
        ("outline", {}),
        ("outline", {"document_id": "harbour"}),
        ("grep", {"pattern": "(?i)bees? danc", "where": 'F("doc_id") == "bees"'}),
        ("grep", {"pattern": "Karl von", "regex": False, "ignore_case": True, "limit": 1}),
    ],
)
def test_both_frameworks_say_what_the_core_says(shared_index, langchain, llamaindex, name, arguments):
    tools = {tool.name: tool for tool in agent_tools(shared_index)}
    expected = tools[name].call(arguments).text
    assert langchain[name].invoke(arguments) == expected
    assert asyncio.run(langchain[name].ainvoke(arguments)) == expected
    assert llamaindex[name](**arguments).content == expected
    assert asyncio.run(llamaindex[name].acall(**arguments)).content == expected


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search", QUESTION),
        ("read", {"citation": "bees:300-320", "budget": 40}),
        ("outline", {}),
        ("grep", {"pattern": "bees"}),
    ],
)
def test_texts_may_be_blocks_that_claude_cites(shared_index, langchain, name, arguments):
    tool = by_name(langchain_ext.as_tools(shared_index, citation_blocks=True))[name]
    rest, *blocks = tool.invoke(call(name, arguments)).content
    plain = json.loads(langchain[name].invoke(call(name, arguments)).content)
    texts = plain.get("passages", [plain] if name == "read" else [])
    assert [(each["source"], each["content"][0]["text"]) for each in blocks] == [
        (each["citation"], each.pop("text")) for each in texts
    ]
    assert json.loads(rest["text"]) == plain  # without the texts
    assert bool(blocks) == (name not in {"outline", "grep"})
    asking = AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "1"}])
    messages: list[Any] = [HumanMessage("?"), asking, tool.invoke(call(name, arguments))]
    _, sent = _format_messages(messages, model="claude-sonnet-4-5")
    assert sent[-1]["content"][0]["content"] == [rest, *blocks]
    for block in blocks:
        assert TypeAdapter(SearchResultBlockParam).validate_python(block, extra="forbid")
        assert shared_index.surroundings(block["source"], before=0, after=0).text.startswith(block["content"][0]["text"])
    of_llamaindex = by_name(llamaindex_ext.as_tools(shared_index, citation_blocks=True))[name].call(**arguments)
    assert [(each.source, each.title, each.content[0].text) for each in of_llamaindex.blocks[1:]] == [
        (each["source"], each["title"], each["content"][0]["text"]) for each in blocks
    ]
    assert of_llamaindex.content == rest["text"]


@pytest.mark.parametrize("package", [langchain_ext, llamaindex_ext])
def test_a_retriever_as_a_tool_gives_blocks_too(shared_index, package):
    tool = package.as_tool(package.BM25Retriever(index=shared_index), citation_blocks=True)
    found = tool.invoke(call("search", QUESTION)).content if package is langchain_ext else tool.call(**QUESTION).blocks
    assert len(found) > 1
    with pytest.raises(InvalidArgument, match="citation_blocks must be True or False, got 'yes'"):
        package.as_tool(shared_index, citation_blocks="yes")


def test_the_passages_are_there_for_code(langchain, llamaindex):
    message = langchain["search"].invoke(call("search", QUESTION))
    output = llamaindex["search"](**QUESTION)
    cited = [each["citation"] for each in json.loads(message.content)["passages"]]
    documents = [f"{each.metadata['doc_id']}:{each.metadata['start']}-{each.metadata['end']}" for each in message.artifact]
    nodes = [f"{each.metadata['doc_id']}:{each.metadata['start']}-{each.metadata['end']}" for each in output.raw_output]
    assert isinstance(message, ToolMessage)
    assert all(isinstance(each, NodeWithScore) for each in output.raw_output)
    assert cited == documents == nodes
    assert cited


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("read", {"document_id": "cats"}, "there is no document 'cats' in the index"),
        ("search", {"question": "tea", "budget": 1}, "budget must be a whole number >= 20, got 1"),
        ("search", {"question": "tea", "page": 3}, "search takes question, strategy, where, budget, k, got 'page'"),
    ],
)
def test_what_a_tool_refuses_is_said_to_the_model(langchain, llamaindex, name, arguments, message):
    told = langchain[name].invoke(call(name, arguments))
    assert (told.status, told.content) == ("error", message)
    assert asyncio.run(langchain[name].ainvoke(call(name, arguments))).content == message
    output = llamaindex[name](**arguments)
    assert (output.is_error, output.content, output.raw_output) == (True, message, [])
    assert str(output.exception) == message
    assert asyncio.run(llamaindex[name].acall(**arguments)).content == message


def test_models_of_both_frameworks_read_the_same_schema(langchain, llamaindex):
    for name in ("search", "read", "outline", "grep"):
        ours = convert_to_openai_tool(langchain[name])["function"]
        theirs = llamaindex[name].metadata.to_openai_tool()["function"]
        assert (ours["name"], ours["description"]) == (theirs["name"], theirs["description"])
        properties = theirs["parameters"]["properties"]
        assert ours["parameters"]["properties"] == {key: without_title(each) for key, each in properties.items()}
        assert ours["parameters"]["required"] == theirs["parameters"].get("required", [])


def without_title(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of an argument without what pydantic adds."""
    return {key: value for key, value in schema.items() if key != "title"}


def test_llamaindexs_own_way_to_call_a_tool_works(llamaindex):
    assert not call_tool(llamaindex["search"], QUESTION).is_error
    assert not asyncio.run(acall_tool(llamaindex["outline"], {"document_id": "harbour"})).is_error
    assert "Karl von Frisch" in llamaindex["search"]("Who decoded the dance?").content


def test_writing_must_be_asked_for(index):
    for package in (langchain_ext, llamaindex_ext):
        assert set(by_name(package.as_tools(index))) == {"search", "read", "outline", "grep"}
        tools = by_name(package.as_tools(index, writable=True, prefix="kb_"))
        assert set(tools) == {"kb_search", "kb_read", "kb_outline", "kb_grep", "kb_add", "kb_delete"}
    by_name(langchain_ext.as_tools(index, writable=True))["add"].invoke({"document_id": "note", "text": "Buy tea."})
    assert index.get("note") == Document("note", "Buy tea.")
    by_name(llamaindex_ext.as_tools(index, writable=True))["delete"]("note")
    assert index.count() == 3


@pytest.mark.parametrize("package", [langchain_ext, llamaindex_ext])
def test_a_retriever_becomes_a_tool_that_searches_as_it_does(shared_index, package):
    retriever = package.VectorRetriever(index=shared_index, where=F("year") > 1900)
    tool = package.as_tool(retriever, name="animals", about="texts about animals")
    run = tool if package is llamaindex_ext else lambda **arguments: tool.invoke(call("animals", arguments))
    found = json.loads(run(question="Where is the harbour, and how is tea made?", budget=500).content)["passages"]
    assert {each["document_id"] for each in found} == {"bees"}
    described = tool.metadata if package is llamaindex_ext else tool
    assert described.name == "animals"
    assert described.description.startswith("Search texts about animals.")


@pytest.mark.parametrize("package", [langchain_ext, llamaindex_ext])
def test_a_retriever_brings_its_limits_as_defaults(shared_index, package):
    k = {"k": 1} if package is langchain_ext else {"similarity_top_k": 1}
    retriever = package.VectorRetriever(index=shared_index, budget=80, min_score=0.1, **k)
    for options, expected in [({}, (1, 80)), ({"budget": 200}, (None, 200)), ({"k": np.int64(2)}, (2, 600))]:
        tool = package.as_tool(retriever, **options)
        schema = tool.args_schema if package is langchain_ext else tool.metadata.get_parameters_dict()
        defaults = {key: each.get("default") for key, each in json.loads(json.dumps(schema))["properties"].items()}
        assert (defaults["k"], defaults["budget"]) == expected
    tool = package.as_tool(retriever)
    found = tool(question="bees").content if package is llamaindex_ext else tool.invoke({"question": "bees"})
    [passage] = json.loads(found)["passages"]
    assert passage["score"] >= 0.1


def test_postprocessors_of_llamaindex_choose_what_a_tool_finds(shared_index):
    class Reversed(BaseNodePostprocessor):
        def _postprocess_nodes(self, nodes, query_bundle=None):
            return nodes[::-1]

    class First(BaseNodePostprocessor):
        def _postprocess_nodes(self, nodes, query_bundle=None):
            return nodes[:2]

    retriever = llamaindex_ext.VectorRetriever(shared_index, candidates=6)
    found = llamaindex_ext.VectorRetriever(shared_index, similarity_top_k=6).retrieve("bees")
    tool = llamaindex_ext.as_tool(retriever, k=5, node_postprocessors=[Reversed(), First()])
    assert [each.node.node_id for each in tool("bees").raw_output] == [found[5].node.node_id, found[4].node.node_id]
    tool = llamaindex_ext.as_tool(retriever, k=1, node_postprocessors=[lambda question, texts: range(len(texts))])
    assert tool("bees").raw_output[0].node.node_id == found[5].node.node_id
    with pytest.raises(InvalidArgument, match="node_postprocessors need a retriever"):
        llamaindex_ext.as_tool(shared_index, node_postprocessors=[First()])


@pytest.mark.parametrize("package", [langchain_ext, llamaindex_ext])
def test_a_view_becomes_the_tool_that_searches_it(shared_index, package):
    tool = package.as_tool(shared_index.scoped(F("topic") == "food"))
    text = tool(question="bees").content if package is llamaindex_ext else tool.invoke({"question": "bees"})
    assert {each["document_id"] for each in json.loads(text)["passages"]} <= {"tea"}


@pytest.mark.parametrize("package", [langchain_ext, llamaindex_ext])
def test_no_tool_shows_a_model_what_a_document_hides(index, package):
    index.add(
        Document("kit", "Kit makes tea.", "Kit's page", {"path": "/home/kit", "topic": "tea"}, hidden=("path", "title"))
    )
    search, read, outline, _ = package.as_tools(index)
    one = package.as_tool(package.HybridRetriever(index=index))
    asked = [(search, {"question": "Kit"}), (one, {"question": "Kit"}), (outline, {}), (read, {"document_id": "kit"})]
    for tool, arguments in asked:
        said = tool(**arguments).content if package is llamaindex_ext else tool.invoke(arguments)
        assert '"kit' in said
        assert "/home/kit" not in said
        assert "Kit's page" not in said


def test_a_tool_over_another_retriever_of_llamaindex_does_not_show_what_its_nodes_hide(shared_index):
    node = TextNode(
        text="Bees dance.", metadata={"path": "/home/kit", "topic": "bees"}, excluded_llm_metadata_keys=["path"]
    )
    other = VectorStoreIndex([node], embed_model=MockEmbedding(embed_dim=4)).as_retriever()
    tool = llamaindex_ext.as_tool(llamaindex_ext.DecayRetriever(index=shared_index, base=other))
    (found,) = json.loads(tool(question="bees").content)["passages"]
    assert found["metadata"] == {"topic": "bees"}


@pytest.mark.parametrize("package", [langchain_ext, llamaindex_ext])
def test_what_cannot_become_a_tool_is_refused(shared_index, package):
    with pytest.raises(InvalidArgument, match="view must be an Index or a view of one, got 'kb'"):
        package.as_tools("kb")
    elsewhere = package.SpanRetriever(strategy=shared_index.as_strategy())
    with pytest.raises(InvalidArgument, match="retriever must have an index to become a tool"):
        package.as_tool(elsewhere)


class _Scripted(GenericFakeChatModel):
    """A model that says what it was made with, for all tools."""

    def bind_tools(self, tools: list[BaseTool], **_: Any) -> _Scripted:
        return self


def test_an_agent_of_langchain_finds_reads_and_cites(langchain):
    citation = json.loads(langchain["search"].invoke(QUESTION))["passages"][0]["citation"]
    script = [
        AIMessage("", tool_calls=[call("search", QUESTION)]),
        AIMessage("", tool_calls=[call("read", {"citation": citation})]),
        AIMessage(f"Karl von Frisch [{citation}]"),
    ]
    model = _Scripted(messages=iter(script)).bind_tools([*langchain.values()])
    messages: list[Any] = [HumanMessage("Who decoded the dance?")]
    while (answer := model.invoke(messages)).tool_calls:
        messages += [answer, *(langchain[each["name"]].invoke(each) for each in answer.tool_calls)]
    [searched, read] = [each for each in messages if isinstance(each, ToolMessage)]
    assert answer.content == f"Karl von Frisch [{citation}]"
    assert citation in searched.content
    assert "Karl von Frisch" in json.loads(read.content)["text"]


@pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning")  # LlamaIndex looks at all attributes
async def test_an_agent_of_llamaindex_finds_reads_and_cites(llamaindex):
    citation = json.loads(llamaindex["search"](**QUESTION).content)["passages"][0]["citation"]
    script = iter([("search", QUESTION), ("read", {"citation": citation}), None])

    def say(messages: list[ChatMessage], **_: Any) -> ChatMessage:
        if (wanted := next(script)) is None:
            return ChatMessage(f"Karl von Frisch [{citation}]", role="assistant")
        name, arguments = wanted
        return ChatMessage(blocks=[ToolCallBlock(tool_name=name, tool_kwargs=arguments)], role="assistant")

    agent = FunctionAgent(tools=[*llamaindex.values()], llm=MockFunctionCallingLLM(response_generator=say), streaming=False)
    answer = await agent.run("Who decoded the dance?")
    assert str(answer) == f"Karl von Frisch [{citation}]"
    searched, read = [each.tool_output for each in answer.tool_calls]
    assert citation in searched.content
    assert "Karl von Frisch" in json.loads(read.content)["text"]

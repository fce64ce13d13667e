"""An index as the tools of an agent, in LangChain."""

from __future__ import annotations

from typing import Any, Unpack

from langchain_core.documents import Document
from langchain_core.tools import StructuredTool, ToolException

from langchain_ext.documents import to_document
from langchain_ext.retriever import BaseSpanRetriever
from leafspan import LeafspanError, View
from leafspan.hosting import (
    AgentTool,
    ToolOptions,
    ToolResult,
    ToolsOptions,
    agent_tool,
    agent_tools,
    described_as,
    error_text,
    retriever_tool,
)


@described_as(agent_tools, index="The index to search, or a view of one, such as a tenant's.")
def as_tools(index: View, **options: Unpack[ToolsOptions]) -> list[StructuredTool]:
    """Tools with which an agent finds, reads and cites passages: ``search``, ``read``, ``outline`` and ``grep``.

    They show only what the index or view shows. No argument of a model changes that. A tool's message is JSON
    with citations, and its artifact has the passages as Documents.

    Raises:
        InvalidArgument: if an option is unknown or out of its range.
    """
    return [to_tool(tool) for tool in agent_tools(index, **options)]


@described_as(
    agent_tool,
    retriever="A retriever of this package over an index, whose strategy, filters, ``candidates`` and ``min_score`` "
    "apply in each call; or an index or view, for the choice of strategies of ``as_tools``.",
)
def as_tool(retriever: BaseSpanRetriever | View, **options: Unpack[ToolOptions]) -> StructuredTool:
    """A retriever as a tool that searches, or the tool ``search`` of an index or view alone.

    A tool's message is JSON with citations, or blocks, and its artifact has the passages as Documents.

    Raises:
        InvalidArgument: if an option is unknown or out of its range, or the retriever has no index.
    """
    if not isinstance(retriever, BaseSpanRetriever):
        return to_tool(agent_tool(retriever, **options))
    return to_tool(retriever_tool(retriever, **options))


def to_tool(tool: AgentTool) -> StructuredTool:
    """The tool for LangChain."""

    def output(result: ToolResult) -> tuple[Any, list[Document]]:
        content = result.blocks if tool.citation_blocks else result.text
        return content, [to_document(passage) for passage in result.passages]

    def call(**arguments: Any) -> tuple[Any, list[Document]]:
        try:
            return output(tool.call(arguments))
        except LeafspanError as error:
            raise ToolException(error_text(error)) from error

    async def acall(**arguments: Any) -> tuple[Any, list[Document]]:
        try:
            return output(await tool.acall(arguments))
        except LeafspanError as error:
            raise ToolException(error_text(error)) from error

    return StructuredTool(
        name=tool.name,
        description=tool.description,
        args_schema=tool.schema,
        func=call,
        coroutine=acall,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )

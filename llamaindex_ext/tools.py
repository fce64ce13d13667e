"""An index as the tools of an agent, in LlamaIndex."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from llama_index.core.base.llms.types import CitableBlock, TextBlock
from llama_index.core.bridge.pydantic import BaseModel, Field, create_model
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.tools import AsyncBaseTool, ToolMetadata, ToolOutput

from leafspan import InvalidArgument, LeafspanError, View
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
from llamaindex_ext.documents import to_scored_node
from llamaindex_ext.host_objects import as_reranker
from llamaindex_ext.retriever import BaseSpanRetriever


@described_as(agent_tools, index="The index to search, or a view of one, such as a tenant's.")
def as_tools(index: View, **options: Unpack[ToolsOptions]) -> list[SpanTool]:
    """Tools with which an agent finds, reads and cites passages: ``search``, ``read``, ``outline`` and ``grep``.

    They show only what the index or view shows. No argument of a model changes that. The output of a
    tool is JSON with citations, and its ``raw_output`` has the passages as nodes with scores.

    Raises:
        InvalidArgument: if an option is unknown or out of its range.
    """
    return [SpanTool(tool) for tool in agent_tools(index, **options)]


@described_as(
    agent_tool,
    retriever="A retriever of this package over an index, whose strategy, filters, ``candidates`` and ``min_score`` "
    "apply in each call; or an index or view, for the choice of strategies of ``as_tools``.",
    node_postprocessors="Node postprocessors of LlamaIndex that choose and reorder results, one after the other, "
    "before the cut to ``k`` and ``budget``. Not for an index or view alone. Default: none.",
)
def as_tool(
    retriever: BaseSpanRetriever | View,
    *,
    node_postprocessors: Sequence[BaseNodePostprocessor] = (),
    **options: Unpack[ToolOptions],
) -> SpanTool:
    """A retriever as a tool that searches, or the tool ``search`` of an index or view alone.

    The output of a tool is JSON with citations, and its ``raw_output`` has the passages as nodes with scores.

    Raises:
        InvalidArgument: if an option is unknown or out of its range, or the retriever has no index.
    """
    if not isinstance(retriever, BaseSpanRetriever):
        if node_postprocessors:
            raise InvalidArgument(
                "node_postprocessors need a retriever, which has one strategy, got an index: give HybridRetriever(index)"
            )
        return SpanTool(agent_tool(retriever, **options))
    rerankers = ({"rerank": each, **as_reranker(each)} for each in node_postprocessors)
    return SpanTool(retriever_tool(retriever, rerankers, **options))


class SpanTool(AsyncBaseTool):
    """A tool of an agent over an index: see ``as_tools``. A refused call returns an output with ``is_error``."""

    def __init__(self, tool: AgentTool) -> None:
        self._tool = tool
        self._metadata = ToolMetadata(tool.description, tool.name, _schema_of(tool))

    @property
    def metadata(self) -> ToolMetadata:
        """Its name, its description and the schema of its arguments."""
        return self._metadata

    def call(self, *only: Any, **arguments: Any) -> ToolOutput:
        """The tool's result for these arguments; a value without a name is the first argument."""
        values = self._arguments(only, arguments)
        try:
            return self._output(values, self._tool.call(values))
        except LeafspanError as error:
            return self._refused(values, error)

    async def acall(self, *only: Any, **arguments: Any) -> ToolOutput:
        """Like ``call``, without blocking the event loop."""
        values = self._arguments(only, arguments)
        try:
            return self._output(values, await self._tool.acall(values))
        except LeafspanError as error:
            return self._refused(values, error)

    def _arguments(self, only: tuple[Any, ...], arguments: dict[str, Any]) -> dict[str, Any]:
        return {**dict(zip((each.name for each in self._tool.parameters), only, strict=False)), **arguments}

    def _output(self, values: dict[str, Any], result: ToolResult) -> ToolOutput:
        content: dict[str, Any] = {"content": result.text}
        if self._tool.citation_blocks:
            content = {"blocks": [_to_block(each) for each in result.blocks]}
        nodes = [to_scored_node(passage) for passage in result.passages]
        return ToolOutput(tool_name=self._tool.name, raw_input=values, raw_output=nodes, **content)

    def _refused(self, values: dict[str, Any], error: LeafspanError) -> ToolOutput:
        return ToolOutput(
            tool_name=self._tool.name,
            content=error_text(error),
            raw_input=values,
            raw_output=[],
            is_error=True,
            exception=error,
        )


def _to_block(block: dict[str, Any]) -> TextBlock | CitableBlock:
    if block["type"] == "text":
        return TextBlock(text=block["text"])
    return CitableBlock(title=block["title"], source=block["source"], content=block["content"][0]["text"])


def _schema_of(tool: AgentTool) -> type[BaseModel]:
    """The model from which LlamaIndex makes the JSON schema."""
    fields: dict[str, Any] = {
        each.name: (each.kind, Field(... if each.required else each.default, json_schema_extra=_exactly(each.schema)))
        for each in tool.parameters
    }
    return create_model(tool.name, **fields)


def _exactly(schema: dict[str, Any]) -> Any:
    """Make this the schema of a field, without pydantic's additions."""

    def replace(made: dict[str, Any]) -> None:
        made.clear()
        made.update(schema)

    return replace

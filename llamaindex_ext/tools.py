"""An index as the tools of an agent, in LlamaIndex."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.bridge.pydantic import BaseModel, Field, create_model
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.tools import AsyncBaseTool, ToolMetadata, ToolOutput

from leafspan import InvalidArgument, LeafspanError, Rerank, Strategy, View
from leafspan.hosting import AgentTool, Limits, StrategyLike, agent_tool, agent_tools, as_base, error_text, searched_index
from llamaindex_ext.documents import to_scored_node
from llamaindex_ext.host_reranker import as_reranker
from llamaindex_ext.retriever import BaseSpanRetriever


def as_tools(
    index: View,
    *,
    strategies: Strategy | str | Sequence[StrategyLike] | Mapping[str, StrategyLike] | None = None,
    about: str = "the documents",
    k: int | None = None,
    budget: int | None = None,
    max_budget: int = 3000,
    writable: bool = False,
    prefix: str = "",
    timeout: float | None = 30.0,
) -> list[SpanTool]:
    """Tools with which an agent finds, reads and cites passages: ``search``, ``read`` and ``outline``.

    They show what the index or view shows, and nothing that a model gives them shows more. The output of a
    tool is JSON with citations, and its ``raw_output`` has the passages as nodes with scores.

    Args:
        index: What they search: an index, or a view of one, such as a tenant's.
        strategies: The strategy that searches, or its name; or several, between which the model chooses, the first by
            default: as a list, or as a mapping from names of yours. Default: that of the index, and seven others that need
            no model.
        about: What the documents are, for the model, as in "Search the handbook of Acme". Default: ``"the documents"``.
        k: Most passages that ``search`` finds if the model does not say, in [1, 25]. Default: that of the index's
            configuration if ``budget`` is not given either, or else as many as there are words for.
        budget: Most words of a result if the model does not say, in [20, ``max_budget``]. Default: that of the index's
            configuration if ``k`` is not given either, in so far as the range allows, or else 600.
        max_budget: Most words that the model can ask for. Default: 3000.
        writable: Whether there are ``add`` and ``delete`` as well. Default: False.
        prefix: What the names of the tools begin with, for an agent with the tools of several indexes. Default: ``""``.
        timeout: Seconds, > 0, after which a call ends with an error. None: never. Default: 30.

    Raises:
        InvalidArgument: if an option is out of its range.
    """
    tools = agent_tools(
        index,
        strategies=strategies,
        about=about,
        k=k,
        budget=budget,
        max_budget=max_budget,
        writable=writable,
        prefix=prefix,
        timeout=timeout,
    )
    return [SpanTool(tool) for tool in tools]


def as_tool(
    retriever: BaseSpanRetriever | View,
    *,
    name: str = "search",
    about: str = "the documents",
    k: int | None = None,
    budget: int | None = None,
    max_budget: int = 3000,
    timeout: float | None = 30.0,
    node_postprocessors: Sequence[BaseNodePostprocessor] = (),
) -> SpanTool:
    """A retriever as a tool that searches, or the tool ``search`` of an index or view alone.

    The output of a tool is JSON with citations, and its ``raw_output`` has the passages as nodes with scores.

    Args:
        retriever: A retriever of this package over an index, whose strategy, ``where``, ``candidates`` and ``min_score``
            hold in each call; or an index or view, for the choice of strategies of ``as_tools``.
        name: Name of the tool. Default: ``"search"``.
        about: What the documents are, for the model, as in "Search the handbook of Acme". Default: ``"the documents"``.
        k: Most passages if the model does not say, in [1, 25]. Default: that of the retriever, or of the index's
            configuration, if ``budget`` is not given either; or else as many as there are words for.
        budget: Most words of a result if the model does not say, in [20, ``max_budget``]. Default: that of the retriever,
            or of the index's configuration, if ``k`` is not given either, in so far as the range allows; or else 600.
        max_budget: Most words that the model can ask for. Default: 3000.
        timeout: Seconds, > 0, after which a call ends with an error. None: never. Default: 30.
        node_postprocessors: Node postprocessors of LlamaIndex that choose and reorder what is found, one after the other,
            before it is cut to ``k`` and ``budget``. Not for an index or view alone. Default: none.

    Raises:
        InvalidArgument: if an option is out of its range, or the retriever has no index.
    """
    options: dict[str, Any] = {
        "name": name,
        "about": about,
        "k": k,
        "budget": budget,
        "max_budget": max_budget,
        "timeout": timeout,
    }
    if not isinstance(retriever, BaseSpanRetriever):
        if node_postprocessors:
            raise InvalidArgument(
                "node_postprocessors need a retriever, which has one strategy, got an index: give HybridRetriever(index)"
            )
        return SpanTool(agent_tool(retriever, **options))
    strategy = as_base(retriever._strategy(), retriever.where, None)
    for each in node_postprocessors:
        strategy = Rerank(base=strategy, rerank=as_reranker(each))
    limits = Limits.of(retriever.similarity_top_k, retriever.candidates, retriever.budget, None, retriever.min_score)
    return SpanTool(agent_tool(searched_index(retriever.index), strategies=strategy, limits=limits, **options))


class SpanTool(AsyncBaseTool):
    """A tool of an agent over an index: see ``as_tools``. What it refuses is an output with ``is_error``.

    Args:
        tool: The tool of the core.
    """

    def __init__(self, tool: AgentTool) -> None:
        self._tool = tool
        self._metadata = ToolMetadata(tool.description, tool.name, _schema_of(tool))

    @property
    def metadata(self) -> ToolMetadata:
        """Its name, its description and the schema of its arguments."""
        return self._metadata

    def call(self, *only: Any, **arguments: Any) -> ToolOutput:
        """What the tool does with these arguments; a value without a name is the first argument."""
        given = self._given(only, arguments)
        try:
            result = self._tool.call(given)
        except LeafspanError as error:
            return self._refused(given, error)
        return self._output(given, result.text, [to_scored_node(passage) for passage in result.passages])

    async def acall(self, *only: Any, **arguments: Any) -> ToolOutput:
        """Like ``call``, without blocking the event loop."""
        given = self._given(only, arguments)
        try:
            result = await self._tool.acall(given)
        except LeafspanError as error:
            return self._refused(given, error)
        return self._output(given, result.text, [to_scored_node(passage) for passage in result.passages])

    def _given(self, only: tuple[Any, ...], arguments: dict[str, Any]) -> dict[str, Any]:
        return {**dict(zip((each.name for each in self._tool.parameters), only, strict=False)), **arguments}

    def _output(self, given: dict[str, Any], text: str, nodes: Any) -> ToolOutput:
        return ToolOutput(tool_name=self._tool.name, content=text, raw_input=given, raw_output=nodes)

    def _refused(self, given: dict[str, Any], error: LeafspanError) -> ToolOutput:
        return ToolOutput(
            tool_name=self._tool.name,
            content=error_text(error),
            raw_input=given,
            raw_output=[],
            is_error=True,
            exception=error,
        )


def _schema_of(tool: AgentTool) -> type[BaseModel]:
    """The model that LlamaIndex makes the JSON schema of."""
    fields: dict[str, Any] = {
        each.name: (each.kind, Field(... if each.required else each.default, json_schema_extra=_exactly(each.schema)))
        for each in tool.parameters
    }
    return create_model(tool.name, **fields)


def _exactly(schema: dict[str, Any]) -> Any:
    """What makes this the schema of a field, without what pydantic adds."""

    def replace(made: dict[str, Any]) -> None:
        made.clear()
        made.update(schema)

    return replace

"""An index as the tools of an agent, in LangChain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.tools import StructuredTool, ToolException

from langchain_ext.documents import to_document
from langchain_ext.retriever import BaseSpanRetriever
from leafspan import LeafspanError, Strategy, View
from leafspan.hosting import AgentTool, Limits, StrategyLike, agent_tool, agent_tools, as_base, error_text, searched_index


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
) -> list[StructuredTool]:
    """Tools with which an agent finds, reads and cites passages: ``search``, ``read`` and ``outline``.

    They show what the index or view shows, and nothing that a model gives them shows more. A tool's message is JSON
    with citations, and its artifact has the passages as Documents.

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
    return [_to_tool(tool) for tool in tools]


def as_tool(
    retriever: BaseSpanRetriever | View,
    *,
    name: str = "search",
    about: str = "the documents",
    k: int | None = None,
    budget: int | None = None,
    max_budget: int = 3000,
    timeout: float | None = 30.0,
) -> StructuredTool:
    """A retriever as a tool that searches, or the tool ``search`` of an index or view alone.

    A tool's message is JSON with citations, and its artifact has the passages as Documents.

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
        return _to_tool(agent_tool(retriever, **options))
    strategy = as_base(retriever._strategy(), retriever.where, None)
    limits = Limits.of(retriever.k, retriever.candidates, retriever.budget, None, retriever.min_score)
    return _to_tool(agent_tool(searched_index(retriever.index), strategies=strategy, limits=limits, **options))


def _to_tool(tool: AgentTool) -> StructuredTool:
    def call(**arguments: Any) -> tuple[str, list[Document]]:
        try:
            result = tool.call(arguments)
        except LeafspanError as error:
            raise ToolException(error_text(error)) from error
        return result.text, [to_document(passage) for passage in result.passages]

    async def acall(**arguments: Any) -> tuple[str, list[Document]]:
        try:
            result = await tool.acall(arguments)
        except LeafspanError as error:
            raise ToolException(error_text(error)) from error
        return result.text, [to_document(passage) for passage in result.passages]

    return StructuredTool(
        name=tool.name,
        description=tool.description,
        args_schema=tool.schema,
        func=call,
        coroutine=acall,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )

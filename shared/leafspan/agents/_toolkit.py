"""The tools over a view, with their options checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict

from leafspan.agents._citations import LONGEST_ID
from leafspan.agents._grepping import grep_tool
from leafspan.agents._reading import outline_tool, read_tool
from leafspan.agents._searching import OWN, ToolLimits, search_tool, usual_strategies
from leafspan.agents._tool import AgentTool, Parameter, ToolResult
from leafspan.checks import check_flag, check_text, shown, with_option_names
from leafspan.errors import InvalidArgument
from leafspan.flows import Call, Flow
from leafspan.retrieval import Limits, check_timeout
from leafspan.strategies import DEFAULT, Strategy, StrategyLike, name_strategies, to_strategy
from leafspan.values import Document
from leafspan.view import View

Strategies = Strategy | str | Sequence[StrategyLike] | Mapping[str, StrategyLike]
"""The strategy of a tool, or several, as a list or by name."""

_PREFIX = re.compile(r"[a-zA-Z0-9_-]{0,40}")  # models accept names of up to 64 of these characters
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LONGEST_ABOUT = 200


class ToolOptions(TypedDict, total=False):
    """The options of ``agent_tool`` that a host's user passes."""

    name: str
    about: str
    k: int | None
    budget: int | None
    max_budget: int
    citation_blocks: bool
    timeout: float | None


class ToolsOptions(TypedDict, total=False):
    """The options of ``agent_tools``."""

    strategies: Strategies | None
    about: str
    k: int | None
    budget: int | None
    max_budget: int
    writable: bool
    prefix: str
    citation_blocks: bool
    timeout: float | None


@with_option_names
def agent_tools(
    view: View,
    *,
    strategies: Strategies | None = None,
    about: str = "the documents",
    k: int | None = None,
    budget: int | None = None,
    max_budget: int = 3000,
    writable: bool = False,
    prefix: str = "",
    citation_blocks: bool = False,
    timeout: float | None = 30.0,
) -> tuple[AgentTool, ...]:
    """The tools with which an agent finds, reads and cites passages: ``search``, ``read``, ``outline`` and ``grep``.

    They show only what the view shows. No argument of a model changes that.

    Args:
        view: The index, or a view of one, such as a tenant's.
        strategies: The strategy that searches, or its name; or several, as a list, or as a mapping from names of yours. The
            model chooses between several; the first is the default. Default: the index's strategy, and seven others that
            need no model.
        about: What the documents are, for the model, as in "Search the handbook of Acme". Default: ``"the documents"``.
        k: Most passages that ``search`` finds if the model sets no limit, in [1, 25]. Default, without ``budget``: from the
            index's configuration. Otherwise as many as fit into the words.
        budget: Most words of a result if the model sets no limit, in [20, ``max_budget``]. Default, without ``k``: from the
            index's configuration, if the range allows. Otherwise 600.
        max_budget: Most words that the model can ask for. Default: 3000.
        writable: Whether to add the tools ``add`` and ``delete``. Default: False.
        prefix: Start of the tools' names, for an agent with the tools of several indexes. Default: ``""``.
        citation_blocks: Whether ``search`` and ``read`` give each text as a ``search_result`` block, which Claude can cite:
            its answer then has citations apart from its text, and ``index.surroundings`` finds what they quote. Only in
            hosts' tools. Default: False, for JSON.
        timeout: Seconds, > 0, after which a call ends with an error. None: never. Default: 30.

    Raises:
        InvalidArgument: if an option is out of its range.
    """
    _check(view, about, timeout, citation_blocks)
    limits = ToolLimits.of(view, k, budget, max_budget)
    chosen = _chosen(view, strategies)
    check_flag("writable", writable)
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
        raise InvalidArgument(f"prefix must have up to 40 of the characters a-z, A-Z, 0-9, _ and -, got {shown(prefix)}")
    read, outline = f"{prefix}read", f"{prefix}outline"
    of_all: dict[str, Any] = {"about": about, "timeout": timeout}
    tools: tuple[AgentTool, ...] = (
        search_tool(view, f"{prefix}search", chosen, read=read, outline=outline, limits=limits, **of_all),
        read_tool(view, read, outline=outline, limits=limits, **of_all),
        outline_tool(view, outline, read=read, **of_all),
        grep_tool(view, f"{prefix}grep", read=read, **of_all),
    )
    if writable:
        tools += (add_tool(view, f"{prefix}add", **of_all), delete_tool(view, f"{prefix}delete", **of_all))
    return tuple(replace(each, citation_blocks=citation_blocks) for each in tools)


@with_option_names
def agent_tool(
    view: View,
    *,
    name: str = "search",
    strategies: Strategies | None = None,
    about: str = "the documents",
    k: int | None = None,
    budget: int | None = None,
    max_budget: int = 3000,
    citation_blocks: bool = False,
    timeout: float | None = 30.0,
    limits: Limits | None = None,
) -> AgentTool:
    """The tool ``search`` alone, under any name.

    Args:
        view: The index to search, or a view of one.
        name: Name of the tool. Default: ``"search"``.
        about: What the documents are, for the model, as in "Search the handbook of Acme". Default: ``"the documents"``.
        k: Most passages if the model sets no limit, in [1, 25]. Default, without ``budget``: from the retriever, or from
            the index's configuration. Otherwise as many as fit into the words.
        budget: Most words of a result if the model sets no limit, in [20, ``max_budget``]. Default, without ``k``: from the
            retriever, or from the index's configuration, if the range allows. Otherwise 600.
        max_budget: Most words that the model can ask for. Default: 3000.
        citation_blocks: Whether the tool gives each text as a ``search_result`` block, which Claude can cite: its answer
            then has citations apart from its text, and ``index.surroundings`` finds what they quote. Default: False, for
            JSON.
        timeout: Seconds, > 0, after which a call ends with an error. None: never. Default: 30.
        strategies: See ``agent_tools``.
        limits: The limits of a retriever that becomes a tool, without its filter. They override the index's configuration.
            Default: none.

    Raises:
        InvalidArgument: if an option is out of its range.
    """
    _check(view, about, timeout, citation_blocks)
    amounts = ToolLimits.of(view, k, budget, max_budget, limits)
    _check_name("name", name)
    tool = search_tool(view, name, _chosen(view, strategies), about=about, limits=amounts, timeout=timeout)
    return replace(tool, citation_blocks=citation_blocks)


def _check(view: object, about: object, timeout: float | None, citation_blocks: bool) -> None:
    if not isinstance(view, View):
        raise InvalidArgument(f"view must be an Index or a view of one, got {shown(view)}")
    check_text("about", about)
    if not str(about).strip() or len(str(about)) > _LONGEST_ABOUT:
        raise InvalidArgument(f"about must have 1 to {_LONGEST_ABOUT} characters, got {shown(about)}")
    check_timeout(timeout)
    check_flag("citation_blocks", citation_blocks)


def _check_name(what: str, name: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidArgument(f"{what} must have 1 to 64 of the characters a-z, A-Z, 0-9, _ and -, got {shown(name)}")


def _chosen(view: View, strategies: Strategies | None) -> Mapping[str, Strategy]:
    """The strategies by name; the first is the default."""
    if strategies is None:
        own = view.default_strategy
        return usual_strategies() if own == DEFAULT else {OWN: own, **usual_strategies()}
    if isinstance(strategies, str) or not isinstance(strategies, Sequence | Mapping):
        return {"strategy": to_strategy("strategies", strategies)}
    if not strategies:
        raise InvalidArgument('strategies must have at least one, such as ["vector", "bm25"], got an empty list')
    if not isinstance(strategies, Mapping):
        return name_strategies("strategies", strategies, between="-")
    for name in strategies:
        _check_name("names of strategies", name)
    return {name: to_strategy(f"strategy {name!r}", each) for name, each in strategies.items()}


def add_tool(view: View, name: str, *, about: str, timeout: float | None) -> AgentTool:
    """The tool that adds a document to a view, or replaces one."""
    parameters = (
        Parameter(
            "document_id",
            str,
            "Id of the document, such as notes/bees.md. One of the same id is replaced.",
            required=True,
            most=LONGEST_ID,
        ),
        Parameter("text", str, "The whole text; Markdown headings become its outline.", required=True),
        Parameter("title", str, "Its title."),
        Parameter("metadata", dict, "Values by name, to filter by: texts, numbers, booleans, or lists of one of these."),
    )

    def add(arguments: Mapping[str, Any]) -> Flow[ToolResult]:
        metadata = arguments["metadata"] or {}
        document = Document(arguments["document_id"], arguments["text"], arguments["title"], metadata)
        added = yield Call(view.add, (document,), {"progress": False}, native=view.aadd, what=name)
        done = "added" if added.added else "replaced" if added.replaced else "unchanged"
        return ToolResult({"document_id": document.id, "done": done})

    description = (
        f"Add a document to {about}, or replace the one of the same id as a whole. Read what is there first if you only "
        "want to change a part."
    )
    returns = {"document_id": str, "done": str}
    return AgentTool(name, description, parameters, add, timeout, writes=True, deletes=True, returns=returns)


def delete_tool(view: View, name: str, *, about: str, timeout: float | None) -> AgentTool:
    """The tool that deletes a document of a view."""
    parameters = (Parameter("document_id", str, "Id of the document.", required=True, most=LONGEST_ID),)

    def delete(arguments: Mapping[str, Any]) -> Flow[ToolResult]:
        deleted = yield Call(view.delete, ([arguments["document_id"]],), native=view.adelete, what=name)
        return ToolResult({"deleted": deleted})

    description = (
        f"Delete a document from {about} permanently. Returns its id in a list, or an empty list if it does not exist."
    )
    returns = {"deleted": [str]}
    return AgentTool(name, description, parameters, delete, timeout, writes=True, deletes=True, returns=returns)

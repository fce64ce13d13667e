"""The tools over a view, with their options checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from leafspan.agents._changing import add_tool, delete_tool
from leafspan.agents._defaults import ToolLimits
from leafspan.agents._outlining import outline_tool
from leafspan.agents._reading import read_tool
from leafspan.agents._searching import search_tool
from leafspan.agents._strategies import OWN, usual_strategies
from leafspan.agents._tool import AgentTool
from leafspan.checks import check_flag, check_text, shown, with_option_names
from leafspan.errors import InvalidArgument
from leafspan.retrieval import Limits, check_timeout
from leafspan.strategies import DEFAULT, Strategy, StrategyLike, name_strategies, to_strategy
from leafspan.view import View

Strategies = Strategy | str | Sequence[StrategyLike] | Mapping[str, StrategyLike]
"""The strategy of a tool, or several, as a list or by names."""

_PREFIX = re.compile(r"[a-zA-Z0-9_-]{0,40}")  # models take names of up to 64 of these
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LONGEST_ABOUT = 200


class ToolOptions(TypedDict, total=False):
    """The options of ``agent_tool`` that a user of a host gives."""

    name: str
    about: str
    k: int | None
    budget: int | None
    max_budget: int
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
    timeout: float | None = 30.0,
) -> tuple[AgentTool, ...]:
    """The tools with which an agent finds, reads and cites passages: ``search``, ``read`` and ``outline``.

    They show what the view shows, and nothing that a model gives them shows more.

    Args:
        view: What they search: an index, or a view of one, such as a tenant's.
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
    _check(view, about, timeout)
    limits = ToolLimits.of(view, k, budget, max_budget)
    chosen = _chosen(view, strategies)
    check_flag("writable", writable)
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
        raise InvalidArgument(f"prefix must have up to 40 of the characters a-z, A-Z, 0-9, _ and -, got {shown(prefix)}")
    read, outline = f"{prefix}read", f"{prefix}outline"
    of_all: dict[str, Any] = {"about": about, "timeout": timeout}
    of_texts: dict[str, Any] = {"limits": limits, "max_budget": max_budget, **of_all}
    tools = (
        search_tool(view, f"{prefix}search", chosen, read=read, outline=outline, **of_texts),
        read_tool(view, read, outline=outline, **of_texts),
        outline_tool(view, outline, read=read, **of_all),
    )
    if not writable:
        return tools
    return (*tools, add_tool(view, f"{prefix}add", **of_all), delete_tool(view, f"{prefix}delete", **of_all))


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
    timeout: float | None = 30.0,
    limits: Limits | None = None,
) -> AgentTool:
    """The tool ``search`` alone, under any name.

    Args:
        view: What it searches: an index, or a view of one.
        name: Name of the tool. Default: ``"search"``.
        about: What the documents are, for the model, as in "Search the handbook of Acme". Default: ``"the documents"``.
        k: Most passages if the model does not say, in [1, 25]. Default: that of the retriever, or of the index's
            configuration, if ``budget`` is not given either; or else as many as there are words for.
        budget: Most words of a result if the model does not say, in [20, ``max_budget``]. Default: that of the retriever,
            or of the index's configuration, if ``k`` is not given either, in so far as the range allows; or else 600.
        max_budget: Most words that the model can ask for. Default: 3000.
        timeout: Seconds, > 0, after which a call ends with an error. None: never. Default: 30.
        strategies: See ``agent_tools``.
        limits: Those of a retriever that the tool stands for, but for its filter. They come before those of the index's
            configuration. Default: none.

    Raises:
        InvalidArgument: if an option is out of its range.
    """
    _check(view, about, timeout)
    amounts = ToolLimits.of(view, k, budget, max_budget, limits)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidArgument(f"name must have 1 to 64 of the characters a-z, A-Z, 0-9, _ and -, got {shown(name)}")
    chosen = _chosen(view, strategies)
    return search_tool(view, name, chosen, about=about, limits=amounts, max_budget=max_budget, timeout=timeout)


def _check(view: object, about: object, timeout: float | None) -> None:
    if not isinstance(view, View):
        raise InvalidArgument(f"view must be an Index or a view of one, got {shown(view)}")
    check_text("about", about)
    if not isinstance(about, str) or not about.strip() or len(about) > _LONGEST_ABOUT:
        raise InvalidArgument(f"about must have 1 to {_LONGEST_ABOUT} characters, got {shown(about)}")
    check_timeout(timeout)


def _chosen(view: View, given: Strategies | None) -> Mapping[str, Strategy]:
    """The strategies by their names, the first of which is the default."""
    if given is None:
        own = view.default_strategy
        usual = usual_strategies()
        return usual if own == DEFAULT else {OWN: own, **usual}
    if isinstance(given, str) or not isinstance(given, Sequence | Mapping):
        return {"strategy": to_strategy("strategies", given)}
    if not given:
        raise InvalidArgument('strategies must be at least one, such as ["vector", "bm25"], got none')
    if not isinstance(given, Mapping):
        return name_strategies("strategies", given, between="-")
    for name in given:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InvalidArgument(
                f"names of strategies must have 1 to 64 of the characters a-z, A-Z, 0-9, _ and -, got {shown(name)}"
            )
    return {name: to_strategy(f"strategy {name!r}", each) for name, each in given.items()}

"""The tools over a view, with their options checked."""

from __future__ import annotations

import re
from collections.abc import Mapping

from leafspan.agents._changing import add_tool, delete_tool
from leafspan.agents._outlining import outline_tool
from leafspan.agents._reading import read_tool
from leafspan.agents._searching import search_tool
from leafspan.agents._strategies import STRATEGIES
from leafspan.agents._tool import AgentTool
from leafspan.checks import check_flag, check_text, check_whole, shown
from leafspan.errors import InvalidArgument
from leafspan.retrieval import check_timeout
from leafspan.strategies import Strategy, check_strategy
from leafspan.view import View

_PREFIX = re.compile(r"[a-zA-Z0-9_-]{0,40}")  # models take names of up to 64 of these
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LONGEST_ABOUT = 200
_LEAST_BUDGET = 20


def agent_tools(
    view: View,
    *,
    strategies: Strategy | Mapping[str, Strategy] | None = None,
    about: str = "the documents",
    budget: int = 600,
    max_budget: int = 3000,
    writable: bool = False,
    prefix: str = "",
    timeout: float | None = 30.0,
) -> tuple[AgentTool, ...]:
    """The tools with which an agent finds, reads and cites passages: ``search``, ``read`` and ``outline``.

    They show what the view shows, and nothing that a model gives them shows more.

    Args:
        view: What they search: an index, or a view of one, such as a tenant's.
        strategies: The strategy that searches; or several by their names, between which the model chooses, the first by
            default. Default: ``relevant-segments`` and seven others that need no model.
        about: What the documents are, for the model, as in "Search the handbook of Acme". Default: ``"the documents"``.
        budget: Most words of a result if the model does not say, in [20, ``max_budget``]. Default: 600.
        max_budget: Most words that the model can ask for. Default: 3000.
        writable: Whether there are ``add`` and ``delete`` as well. Default: False.
        prefix: What the names of the tools begin with, for an agent with the tools of several indexes. Default: ``""``.
        timeout: Seconds, > 0, after which a call ends with an error. None: never. Default: 30.

    Raises:
        InvalidArgument: if an option is out of its range.
    """
    if not isinstance(view, View):
        raise InvalidArgument(f"view must be an Index or a view of one, got {shown(view)}")
    chosen = _checked_strategies(strategies)
    _check_about(about)
    _check_budgets(budget, max_budget)
    check_flag("writable", writable)
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
        raise InvalidArgument(f"prefix must have up to 40 of the characters a-z, A-Z, 0-9, _ and -, got {shown(prefix)}")
    check_timeout(timeout)
    read, outline = f"{prefix}read", f"{prefix}outline"
    words: dict[str, int] = {"budget": budget, "max_budget": max_budget}
    tools = (
        search_tool(view, f"{prefix}search", chosen, about=about, read=read, outline=outline, timeout=timeout, **words),
        read_tool(view, read, about=about, outline=outline, timeout=timeout, **words),
        outline_tool(view, outline, about=about, read=read, timeout=timeout),
    )
    if not writable:
        return tools
    return (
        *tools,
        add_tool(view, f"{prefix}add", about=about, timeout=timeout),
        delete_tool(view, f"{prefix}delete", about=about, timeout=timeout),
    )


def _checked_strategies(given: Strategy | Mapping[str, Strategy] | None) -> Mapping[str, Strategy]:
    if given is None:
        return STRATEGIES
    if not isinstance(given, Mapping):
        check_strategy("strategies", given)
        return {"strategy": given}
    if not given:
        raise InvalidArgument("strategies must be at least one, got none")
    for name, strategy in given.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InvalidArgument(
                f"names of strategies must have 1 to 64 of the characters a-z, A-Z, 0-9, _ and -, got {shown(name)}"
            )
        check_strategy(f"strategy {name!r}", strategy)
    return dict(given)


def _check_about(about: object) -> None:
    check_text("about", about)
    if not isinstance(about, str) or not about.strip() or len(about) > _LONGEST_ABOUT:
        raise InvalidArgument(f"about must have 1 to {_LONGEST_ABOUT} characters, got {shown(about)}")


def _check_budgets(budget: int, max_budget: int) -> None:
    for name, words in (("max_budget", max_budget), ("budget", budget)):
        check_whole(name, words, _LEAST_BUDGET)
    if budget > max_budget:
        raise InvalidArgument(f"budget must be at most max_budget, {max_budget}, got {budget}")

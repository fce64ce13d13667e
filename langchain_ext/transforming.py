"""A LangChain Runnable as what says what is searched in place of a question."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables import Runnable


def as_transformation(how: Any, child: BaseCallbackManager | None = None) -> dict[str, Any]:
    """Options that ask a Runnable from a question to texts, with the callbacks ``child``; none for anything else."""
    if not isinstance(how, Runnable):
        return {}
    config: Any = {"callbacks": child}

    def ask(question: str) -> Any:
        return how.invoke(question, config)

    def aask(question: str) -> Awaitable[Any]:
        return how.ainvoke(question, config)

    return {"how": ask, "ahow": aask}

"""A LangChain Runnable as what chooses retrievers."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables import Runnable


def as_choice(choose: Any, child: BaseCallbackManager | None = None) -> dict[str, Any]:
    """Options that ask a Runnable from a question to names, with the callbacks ``child``; none for anything else."""
    if not isinstance(choose, Runnable):
        return {}
    config: Any = {"callbacks": child}

    def ask(question: str) -> Any:
        return choose.invoke(question, config)

    def aask(question: str) -> Awaitable[Any]:
        return choose.ainvoke(question, config)

    return {"choose": ask, "achoose": aask}

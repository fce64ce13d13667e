"""leafspan's strategies as LangChain retrievers: ``langchain_ext``, under the name that LangChain's integrations have."""

from typing import Any

import langchain_ext

__all__ = langchain_ext.__all__


def __getattr__(name: str) -> Any:
    return getattr(langchain_ext, name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]

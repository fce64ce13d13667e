"""leafspan's strategies as LlamaIndex retrievers: ``llamaindex_ext``, under the name that its integrations have."""

from typing import Any

import llamaindex_ext

__all__ = llamaindex_ext.__all__


def __getattr__(name: str) -> Any:
    return getattr(llamaindex_ext, name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]

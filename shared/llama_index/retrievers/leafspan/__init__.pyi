"""leafspan's strategies as LlamaIndex retrievers: ``llamaindex_ext``, under the name that its integrations have."""

from llamaindex_ext import *  # noqa: F403
from llamaindex_ext import __all__ as __all__

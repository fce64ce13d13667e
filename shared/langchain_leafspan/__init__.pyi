"""leafspan's strategies as LangChain retrievers: ``langchain_ext``, under the name that LangChain's integrations have."""

from langchain_ext import *  # noqa: F403
from langchain_ext import __all__ as __all__

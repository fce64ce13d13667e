"""The prefixes of texts and queries that well-known models expect, according to their model cards."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

_BGE = "Represent this sentence for searching relevant passages: "
_INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "
_DOES_SO_ITSELF = ("query_instruction", "text_instruction", "embed_instruction", "task_type", "input_type")


class Prefixes(NamedTuple):
    """The prefix of each text, and of each query."""

    documents: str
    queries: str


_OF_MODELS = [
    (r"(multilingual-)?e5-.*instruct", Prefixes("", _INSTRUCT)),
    (r"(multilingual-)?e5-(small|base|large)", Prefixes("passage: ", "query: ")),
    (r"bge-(small|base|large)-en", Prefixes("", _BGE)),
    (r"bge-(small|base|large)-zh", Prefixes("", "为这个句子生成表示以用于检索相关文章：")),
    (r"mxbai-embed-large", Prefixes("", _BGE)),
    (r"snowflake-arctic-embed2|snowflake-arctic-embed-[a-z]+-v2", Prefixes("", "query: ")),
    (r"snowflake-arctic-embed", Prefixes("", _BGE)),
    (r"nomic-embed-text", Prefixes("search_document: ", "search_query: ")),
]


def known_prefixes(model: Any, name: str | None) -> Prefixes:
    """Return a model's prefixes by its name, such as ``nomic-embed-text:latest``.

    They are empty if the name is unknown, or if the model's class adds them itself.
    """
    if name is None or any(hasattr(model, each) for each in _DOES_SO_ITSELF) or _has_prompts(model):
        return Prefixes("", "")
    label = name.lower().split("/")[-1]
    return next((found for pattern, found in _OF_MODELS if re.match(pattern, label)), Prefixes("", ""))


def _has_prompts(model: Any) -> bool:
    """Whether the user gave LangChain's class for Hugging Face models its own prefixes."""
    options = {**(getattr(model, "encode_kwargs", None) or {}), **(getattr(model, "query_encode_kwargs", None) or {})}
    return bool({"prompt", "prompt_name"} & options.keys())

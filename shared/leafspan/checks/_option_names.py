"""Names of options: errors for unknown ones suggest leafspan's name, and a repr shows those that were changed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import MISSING, Field, fields
from functools import wraps
from inspect import iscoroutinefunction, unwrap
from types import FunctionType
from typing import Any, TypeVar

from leafspan.checks._options import did_you_mean
from leafspan.errors import InvalidArgument

F = TypeVar("F", bound=Callable[..., Any])

_SAME = (
    ("k", "similarity_top_k", "top_k", "n_results"),
    ("where", "filter", "filters"),
    ("candidates", "fetch_k", "mmr_prefetch_k"),
    ("strategy", "search_type", "vector_store_query_mode"),
    ("index", "vectorstore", "vector_store"),
    ("min_score", "score_threshold", "similarity_cutoff"),
    ("llm", "generate", "agenerate"),
    ("retrieval_timeout", "timeout"),
    ("path", "persist_directory", "persist_dir"),
    ("name", "collection_name"),
    ("embedder", "embedding", "embeddings", "embedding_function", "embed_model"),
    ("splitter", "chunk_size", "chunk_overlap", "text_splitter", "node_parser", "transformations"),
    ("weights", "alpha"),
    ("base", "retriever", "base_retriever"),
    ("strategies", "retrievers"),
    ("phrasings", "queries"),
    ("instance", "rag", "lightrag"),
    ("graph", "store", "graph_store", "property_graph_store", "property_graph_index"),
    ("database", "engine"),
    ("database", "db", "url", "uri", "database_uri", "sql_database"),
    ("rerank", "compressor", "base_compressor", "postprocessor", "node_postprocessors"),
)
"""Groups of host and leafspan names for the same option."""

_CONVERTED = {"mmr_threshold": "diversity", "lambda_mult": "diversity"}
"""Host names for one minus an option of leafspan."""

_KINDS_OF_SEARCH = ("search_type", "vector_store_query_mode")


def check_option_names(
    owner: str, names: Collection[str], own: Collection[str], *, of_a_call: Collection[str] = ()
) -> None:
    """Check that ``owner`` has options with these names: ``own`` are the names of its options."""
    for name in names:
        if name not in own:
            raise InvalidArgument(f"{owner} has no option {name!r}{_hint(owner, name, own, of_a_call)}")


def _hint(owner: str, name: str, own: Collection[str], of_a_call: Collection[str]) -> str:
    """The end of an error message: the option that was probably meant."""
    if name in ("search_kwargs", "vector_store_kwargs") and (
        limits := [word for word in ("k", "similarity_top_k") if word in own]
    ):
        itself = f"{limits[0]}=2"
        return f"; give its content, such as {f'{owner}(index=index, {itself})' if 'index' in own else itself}"
    if name in _KINDS_OF_SEARCH and "index" in own and "strategy" not in own:
        return "; each kind of search has a retriever of its own, such as HybridRetriever or BM25Retriever"
    if (ours := _CONVERTED.get(name)) in own:
        return f"; here it is {ours!r}, which is 1 - {name}"
    same = {name: None, **{word: None for words in _SAME if name in words for word in words}}
    if here := [word for word in same if word in own]:
        return f"; here it is {here[0]!r}"
    if elsewhere := [word for word in same if word in of_a_call]:
        return f"; it is an option of the call: retrieve(question, strategy, {elsewhere[0]}=...)"
    return did_you_mean(name, own)


def with_option_names(function: F, *, of_a_call: Collection[str] = (), more: Collection[str] = ()) -> F:
    """The function, with a leafspan error for an option that is neither its own nor among ``more``."""
    assert isinstance(function, FunctionType)
    code = unwrap(function).__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    is_method = names[:1] in (("self",), ("cls",))
    name, own = function.__name__, dict.fromkeys((*names[is_method:], *more))

    def check(arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        if options.keys() <= own.keys():
            return
        owner = name
        if is_method and arguments:
            kind = arguments[0] if isinstance(arguments[0], type) else type(arguments[0])
            owner = kind.__name__ if name == "__init__" else f"{kind.__name__}.{name}"
        check_option_names(owner, options, own, of_a_call=of_a_call)

    if iscoroutinefunction(function):

        @wraps(function)
        async def awaited(*arguments: Any, **options: Any) -> Any:
            check(arguments, options)
            return await function(*arguments, **options)

        return awaited  # type: ignore[return-value]

    @wraps(function)
    def called(*arguments: Any, **options: Any) -> Any:
        check(arguments, options)
        return function(*arguments, **options)

    return called  # type: ignore[return-value]


def changed_options(value: Any) -> list[Field[Any]]:
    """The fields of a dataclass that differ from their defaults, in order, without fields that ``repr`` leaves out."""
    return [each for each in fields(value) if each.repr and not _is_default(getattr(value, each.name), each)]


def short_repr(value: Any) -> str:
    """The ``repr`` of a dataclass with the options that differ from their defaults, such as ``Hybrid(references=0)``."""
    options = (f"{each.name}={getattr(value, each.name)!r}" for each in changed_options(value))
    return f"{type(value).__qualname__}({', '.join(options)})"


def _is_default(value: object, option: Field[Any]) -> bool:
    default = option.default if option.default_factory is MISSING else option.default_factory()
    try:
        return value is default or (type(value) is type(default) and bool(value == default))
    except Exception:  # such as an array's, which has no single truth value
        return False

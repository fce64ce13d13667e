"""The options that LightRAG takes with a question."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from leafspan.checks import check_flag, check_text, check_whole, did_you_mean, shown, whole_number
from leafspan.errors import InvalidArgument, MissingExtra

_OURS = {
    "mode": "it is an option of its own",
    "only_need_context": 'ask retrieve_data for "context" or "answer" instead',
    "only_need_prompt": 'ask retrieve_data for "context" instead',
    "stream": "results are never streamed here",
}


def check_params(params: object) -> None:
    """Check that ``params`` has options of ``lightrag.QueryParam``, and that each value has the right type.

    Raises:
        InvalidArgument: if an option or a value is wrong.
        MissingExtra: if lightrag-hku is not installed.
    """
    if not isinstance(params, Mapping):
        raise InvalidArgument(f"params must be a mapping of options of lightrag.QueryParam, got {shown(params)}")
    default = _query_param()()
    known = [each.name for each in dataclasses.fields(default) if each.name not in _OURS]
    for name, value in params.items():
        if name in _OURS:
            raise InvalidArgument(f"params must not have {name!r}: {_OURS[name]}")
        if name not in known:
            raise InvalidArgument(
                f"params must have options of lightrag.QueryParam, got {shown(name)}{did_you_mean(name, known)}; "
                f"they are {', '.join(known)}"
            )
        _check_value(name, value, getattr(default, name))


def make_param(instance: Any, mode: str, params: Mapping[str, Any], *, only_need_context: bool = True) -> Any:
    """Make the ``lightrag.QueryParam`` of a question. Each question gets its own, since LightRAG writes into it."""
    # Without a reranking model LightRAG would log a warning at each question.
    reranks = getattr(instance, "rerank_model_func", None) is not None
    given = {name: _plain(value) for name, value in params.items()}
    options = {"enable_rerank": reranks, **given, "mode": mode, "only_need_context": only_need_context, "stream": False}
    return _query_param()(**options)


def _plain(value: object) -> object:
    """A value that LightRAG can write as JSON."""
    if isinstance(value, list | tuple):
        return list(value)
    number = whole_number(value)
    return value if number is None else number


def _check_value(name: str, value: object, default: object) -> None:
    rule = f"params[{name!r}]"
    if isinstance(default, bool):
        check_flag(rule, value)
    elif isinstance(default, int):
        check_whole(rule, value, 1)
    elif isinstance(default, str):
        check_text(rule, value)
    elif isinstance(default, list) and not isinstance(value, list | tuple):
        raise InvalidArgument(f"{rule} must be a list, got {shown(value)}")


def _query_param() -> Any:
    try:
        from lightrag import QueryParam
    except ImportError as error:
        raise MissingExtra.of("LightRAG needs lightrag-hku", "lightrag") from error
    return QueryParam

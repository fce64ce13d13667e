"""Several questions at once: searched together, where that makes no difference but in time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self

from langchain_core.callbacks import CallbackManager
from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, get_config_list

from leafspan import LeafspanError, Passage, Strategy, View
from leafspan.hosting import asearch_many, is_plain, search_many

Configs = RunnableConfig | list[RunnableConfig] | None

_METHODS = ("_get_relevant_documents", "_aget_relevant_documents", "invoke", "ainvoke")


class Batched(Protocol):
    """What a batch needs of a retriever: see ``BaseSpanRetriever``."""

    index: View | None
    retrieval_timeout: float | None

    def to_dict(self) -> dict[str, Any]:
        """The retriever as plain values."""
        ...

    def _with(self, options: Mapping[str, Any]) -> Self: ...

    def _strategy(self) -> Strategy: ...

    def _limits(self) -> dict[str, Any]: ...

    def _documents(self, passages: Sequence[Passage]) -> list[Document]: ...


def found_together(
    retriever: Batched, base: type, questions: Sequence[Any], config: Configs, options: Mapping[str, Any]
) -> list[list[Document]] | None:
    """The documents for each question; None if each is to be asked by itself.

    Each is if somebody listens to runs, since a run is that of one question; if a model or another retriever of the host's
    takes part, which may look at the configuration of a call; if there is a timeout, which is that of one question; and
    if one of the questions fails, so that the others are answered.

    Args:
        retriever: The retriever.
        base: The class whose methods it must have, to be searched together.
        questions: The questions.
        config: What ``batch`` was given.
        options: The options of the call.
    """
    if (asked := _asked_together(retriever, base, questions, config, options)) is None:
        return None
    try:
        found = search_many(asked.index, list(questions), asked._strategy(), asked._limits())
    except Exception:
        return None
    return [asked._documents(passages) for passages in found]


async def afound_together(
    retriever: Batched, base: type, questions: Sequence[Any], config: Configs, options: Mapping[str, Any]
) -> list[list[Document]] | None:
    """Like ``found_together``."""
    if (asked := _asked_together(retriever, base, questions, config, options)) is None:
        return None
    try:
        found = await asearch_many(asked.index, list(questions), asked._strategy(), asked._limits())
    except Exception:
        return None
    return [asked._documents(passages) for passages in found]


def _asked_together(
    retriever: Batched, base: type, questions: Sequence[Any], config: Configs, options: Mapping[str, Any]
) -> Batched | None:
    """The retriever with the options of the call, if questions can be asked together."""
    if len(questions) < 2 or not all(isinstance(each, str) for each in questions):
        return None
    if not is_plain(retriever, base, _METHODS) or _somebody_listens(config, len(questions)):
        return None
    try:
        asked = retriever._with(options)
        asked.to_dict()  # what can be written has nothing of the host's in it
    except LeafspanError:
        return None
    return asked if asked.retrieval_timeout is None else None


def _somebody_listens(config: Configs, count: int) -> bool:
    """Whether any callbacks are told of runs: those of the configuration, or a tracer that is told of all."""
    configs = get_config_list(config, count) if isinstance(config, Sequence) else [ensure_config(config)]
    return any(CallbackManager.configure(each.get("callbacks")).handlers for each in configs)

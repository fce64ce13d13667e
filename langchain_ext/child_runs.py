"""Child runs for the retrievers that a retriever uses, below its own run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from langchain_core.callbacks import AsyncCallbackManager, BaseCallbackManager, CallbackManager
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, get_config_list

from langchain_ext.documents import to_document
from leafspan import LeafspanError, Passage, Strategy
from leafspan.hosting import Watched, Watcher

Configs = RunnableConfig | list[RunnableConfig] | None
M = TypeVar("M", CallbackManager, AsyncCallbackManager)

_open: WeakKeyDictionary[BaseCallbackManager, list[Any]] = WeakKeyDictionary()  # running runs, by their callbacks


def with_run(retriever: BaseRetriever, strategy: Strategy, child: BaseCallbackManager | None) -> Strategy:
    """The strategy of a leafspan retriever, whose searches become its runs for the callbacks ``child``.

    Without handlers, the strategy stays unchanged.
    """
    if child is None or not child.handlers:
        return strategy
    runs = _open.setdefault(child, [])

    def configured(kind: type[M]) -> M:
        """The callbacks that ``invoke`` of that retriever would use, with its own tags and metadata."""
        named = retriever._get_ls_params()
        return kind.configure(
            child, local_tags=retriever.tags, inheritable_metadata={**named}, local_metadata=retriever.metadata
        )

    def begins(questions: list[str]) -> list[Any]:
        manager = configured(CallbackManager)
        begun = [manager.on_retriever_start(None, question, name=retriever.get_name()) for question in questions]
        runs.extend(begun)
        return begun

    async def abegins(questions: list[str]) -> list[Any]:
        manager = configured(AsyncCallbackManager)
        begun = [await manager.on_retriever_start(None, question, name=retriever.get_name()) for question in questions]
        runs.extend(begun)
        return begun

    def ends(begun: list[Any], rows: list[list[Passage]]) -> None:
        for run, row in zip(begun, rows, strict=True):
            if run in runs:  # a late run has already ended
                runs.remove(run)
                run.on_retriever_end([to_document(passage) for passage in row])

    async def aends(begun: list[Any], rows: list[list[Passage]]) -> None:
        for run, row in zip(begun, rows, strict=True):
            if run in runs:  # a late run has already ended
                runs.remove(run)
                await run.on_retriever_end([to_document(passage) for passage in row])

    return Watched(strategy, Watcher(begins, ends, abegins, aends))


@contextmanager
def all_ended(child: BaseCallbackManager) -> Iterator[None]:
    """A context that ends all open runs of these callbacks with the error that ended the retrieval."""
    try:
        yield
    except Exception as error:
        for run in _left(child):
            run.on_retriever_error(error)
        raise
    for run in _left(child):
        run.on_retriever_error(_not_done())


@asynccontextmanager
async def aall_ended(child: BaseCallbackManager) -> AsyncIterator[None]:
    """Like ``all_ended``."""
    try:
        yield
    except Exception as error:
        for run in _left(child):
            await run.on_retriever_error(error)
        raise
    for run in _left(child):
        await run.on_retriever_error(_not_done())


def _left(child: BaseCallbackManager) -> list[Any]:
    runs = _open.pop(child, [])
    left = list(runs)
    runs.clear()
    return left


def _not_done() -> LeafspanError:
    return LeafspanError("it failed or was late, and its results were left out, or documents were replaced meanwhile")


def somebody_listens(config: Configs, count: int) -> bool:
    """Whether a callback of the configuration or a tracer listens, so that each question needs its own run."""
    configs = get_config_list(config, count) if isinstance(config, Sequence) else [ensure_config(config)]
    return any(CallbackManager.configure(each.get("callbacks")).handlers for each in configs)

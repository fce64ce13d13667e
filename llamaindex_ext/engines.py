"""Query engines and chat engines of LlamaIndex over a retriever."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from inspect import signature
from typing import Any, Self

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.chat_engine import CondensePlusContextChatEngine, CondenseQuestionChatEngine, ContextChatEngine
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.query_engine import RetrieverQueryEngine

from leafspan import InvalidArgument
from leafspan.hosting import check_choice, check_option_names, shown

_THROUGH_QUERY_ENGINE = "condense_question"
_CHAT_ENGINES: Mapping[str, Callable[..., BaseChatEngine]] = {
    "condense_plus_context": CondensePlusContextChatEngine.from_defaults,
    "best": CondensePlusContextChatEngine.from_defaults,  # as in LlamaIndex
    "context": ContextChatEngine.from_defaults,
    _THROUGH_QUERY_ENGINE: CondenseQuestionChatEngine.from_defaults,
}


class AnsweringRetriever(BaseRetriever):
    """A retriever (a dataclass) that makes LlamaIndex engines, like a LlamaIndex index."""

    @abstractmethod
    def with_options(self, **options: Any) -> Self:
        """A copy of this retriever with other options."""

    def as_query_engine(self, llm: BaseLLM | None = None, **options: Any) -> RetrieverQueryEngine:
        """A LlamaIndex query engine that answers questions from this retriever's results.

        Args:
            llm: LlamaIndex LLM that writes the answers. Default: the LLM of LlamaIndex's ``Settings``.
            options: Options of ``RetrieverQueryEngine.from_args``, such as ``response_mode``, ``node_postprocessors`` and
                ``streaming``; and options of this retriever, such as ``similarity_top_k``, for a copy of the retriever.

        Raises:
            InvalidArgument: if an option is unknown, a retriever's option is out of its range, or ``llm`` is no LlamaIndex
                LLM.
        """
        _check_llm(llm)
        maker = RetrieverQueryEngine.from_args
        own, of_engine = self._divided("as_query_engine", options, _options_of(maker))
        events = {"callback_manager": self.callback_manager} if self.callback_manager.handlers else {}
        return maker(self._copy(own), llm=llm, **{**events, **of_engine})  # type: ignore[arg-type]

    def as_chat_engine(
        self, chat_mode: str = "condense_plus_context", llm: BaseLLM | None = None, **options: Any
    ) -> BaseChatEngine:
        """A LlamaIndex chat engine that answers from this retriever's results, and remembers the conversation.

        Args:
            chat_mode: What it searches for: ``"condense_plus_context"`` (or ``"best"``) for a question that the model
                writes from the conversation, ``"context"`` for each message unchanged, ``"condense_question"`` for such a
                question through a query engine. Default: ``"condense_plus_context"``.
            llm: LlamaIndex LLM that writes the answers. Default: the LLM of LlamaIndex's ``Settings``.
            options: Options of that chat engine's ``from_defaults``, such as ``memory``, ``system_prompt`` and
                ``node_postprocessors``; and options of this retriever, such as ``similarity_top_k``, for a copy of the
                retriever. With ``"condense_question"`` also options of ``as_query_engine``.

        Raises:
            InvalidArgument: if an option is unknown or out of its range, or ``llm`` is not a LlamaIndex LLM.
        """
        check_choice("chat_mode", chat_mode, _CHAT_ENGINES)
        _check_llm(llm)
        mode = str.__str__(chat_mode)  # may be a ChatMode
        maker = _CHAT_ENGINES[mode]
        through = _options_of(RetrieverQueryEngine.from_args) if mode == _THROUGH_QUERY_ENGINE else []
        others, of_engine = self._divided("as_chat_engine", options, _options_of(maker), also=through)
        if mode == _THROUGH_QUERY_ENGINE:
            return maker(query_engine=self.as_query_engine(llm, **others), llm=llm, **of_engine)
        return maker(retriever=self._copy(others), llm=llm, **of_engine)

    def _divided(
        self, owner: str, options: Mapping[str, Any], of_engine: Collection[str], *, also: Collection[str] = ()
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The options of this retriever (or with a name in ``also``), and the engine's options."""
        own = [each.name for each in fields(self)]  # type: ignore[arg-type]  # a subclass is a dataclass
        check_option_names(f"{owner} of {type(self).__name__}", options, [*of_engine, *also, *own])
        others = {name: value for name, value in options.items() if name not in of_engine}
        return others, {name: value for name, value in options.items() if name in of_engine}

    def _copy(self, options: Mapping[str, Any]) -> Self:
        return self.with_options(**options) if options else self


def _options_of(maker: Callable[..., object]) -> list[str]:
    """The names of an engine's options, without the retriever or engine that it asks and the language model."""
    named = (each for each in signature(maker).parameters.values() if each.kind is not each.VAR_KEYWORD)
    return [each.name for each in named if each.name not in ("retriever", "query_engine", "llm")]


def _check_llm(llm: object) -> None:
    if llm is not None and not isinstance(llm, BaseLLM):
        raise InvalidArgument(f"llm must be a LlamaIndex LLM, got {shown(llm)}")

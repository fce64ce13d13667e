"""The base of all retrievers of this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Self

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from pydantic import ConfigDict, Field, PrivateAttr, model_validator

from langchain_ext.child_runs import Configs, aall_ended, all_ended, somebody_listens, with_run
from langchain_ext.documents import to_document
from langchain_ext.host_objects import CONVERSIONS, as_strategy
from leafspan import InvalidArgument, LeafspanError, Passage, Strategy, View
from leafspan.hosting import (
    CallOptions,
    HostWords,
    LastStrategy,
    NamedStrategyRetriever,
    StrategyRetriever,
    check_option_names,
    described,
    is_plain,
    read_options,
    write_options,
)

INDEX_KEY = "LEAFSPAN_INDEX"
"""The name for the index in the output of LangChain's ``dumpd``."""

_METHODS = ("_get_relevant_documents", "_aget_relevant_documents")

WORDS = HostWords(
    name="LangChain",
    k="k",
    llm="LangChain chat model, LLM, or any other Runnable from a prompt to a message or a text, which writes {task}. "
    "Default: no model.",
    chooser="Or a Runnable from a question to these.",
    transformer="A Runnable can be the function.",
    reranker="LangChain document compressor",
    own={
        "explain": "Whether each Document has a ``trace`` in its metadata: sentences that say how it was found. "
        "Default: False."
    },
    raises="ValidationError: if an option is unknown or out of its range. pydantic raises it, with the core's "
    "InvalidArgument in it.",
)
documented = described(WORDS)
"""A decorator that gives a retriever a docstring with all of its options."""


class BaseSpanRetriever(StrategyRetriever, BaseRetriever):
    """A strategy over an index or a view of one, as a LangChain retriever.

    Each of its options can also be passed to a call instead of the retriever's own: ``retriever.invoke(question, k=3)``.
    As the base of another retriever over the same index, it is treated as its strategy: its filters and ``min_score``
    apply in addition to the call's; its ``k``, ``candidates``, ``budget`` and ``retrieval_timeout`` do not apply.
    """

    # pydantic builds a class at its first use, so that a process does not wait for unused classes.
    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", defer_build=True)

    index: View | None = Field(default=None, kw_only=False)
    k: int | None = None

    def __init__(self, index: View | None = None, **options: Any) -> None:
        """Takes the index by position too, like LlamaIndex's retrievers."""
        super().__init__(**options if index is None else {"index": index, **options})

    def _as_strategy(self, name: str, thing: Any, context: Any = None) -> Strategy:
        """A base as a strategy; errors call the base ``name``. ``context`` has the callbacks of a LangChain base."""
        if not isinstance(thing, BaseSpanRetriever):
            return as_strategy(thing, context, name=name)
        # A subclass with its own results is called like any other retriever.
        if is_plain(thing, BaseSpanRetriever, _METHODS) and (part := thing._part_of(self, context)) is not None:
            return with_run(thing, part, context)
        return as_strategy(thing, context, name=name, elsewhere=thing._is_elsewhere(self))

    @model_validator(mode="before")
    @classmethod
    def _check(cls, values: Any) -> Any:
        """Checks options by the core's rules before pydantic does, so that both hosts raise the same errors."""
        return cls._checked(values) if isinstance(values, dict) else values

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The options in the strategy's form."""
        check_option_names(cls.__name__, values, cls.model_fields)
        if values.get("index") is None and cls.model_fields["index"].is_required():
            raise InvalidArgument(f"{cls.__name__} must have an index to search, got no index: {cls.__name__}(index=index)")
        if any(field.is_required() and name not in values for name, field in cls.model_fields.items()):
            return values  # pydantic names the missing option
        values = read_options(cls._kind(), values)
        checked = cls.model_construct(**values)._checked_options()
        return {name: checked.get(name, value) for name, value in values.items()}

    def _with_defaults(self) -> Mapping[str, tuple[object, object]]:
        options = {name: field for name, field in type(self).model_fields.items() if name != "index"}
        return {
            name: (getattr(self, name), field.get_default(call_default_factory=True)) for name, field in options.items()
        }

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """True, since LangChain's ``dumpd`` can write it."""
        return True

    @property
    def lc_secrets(self) -> dict[str, str]:
        """The secrets for LangChain's ``load``: the index, as ``secrets_map={"LEAFSPAN_INDEX": index}``."""
        return {} if self.index is None else {"index": INDEX_KEY}

    @property
    def lc_attributes(self) -> dict[str, Any]:
        """The options as ``dumpd`` writes them."""
        return write_options(self._kind(), self._own_options(), None, strict=False)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        retriever, child = self._with(options), run_manager.get_child()
        with all_ended(child):
            strategy, limits = retriever._strategy(child), retriever._limits()
            return retriever._results(retriever._search(query, strategy, limits, for_several="batch"))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        retriever, child = self._with(options), run_manager.get_child()
        async with aall_ended(child):
            strategy, limits = retriever._strategy(child), retriever._limits()
            return retriever._results(await retriever._asearch(query, strategy, limits, for_several="abatch"))

    def batch(
        self, inputs: list[str], config: Configs = None, *, return_exceptions: bool = False, **options: Any
    ) -> list[list[Document]]:
        """The documents for each question, as ``invoke`` finds them. The chain's own ``batch`` calls it.

        Questions are searched together, which takes less time. They are searched one by one if a callback or tracer
        listens, if a LangChain model or retriever takes part, or if the retriever has a ``retrieval_timeout``.

        Args:
            inputs: The questions.
            config: LangChain configuration: one for all, or a list with one for each. Default: none.
            return_exceptions: Whether to return an error instead of its question's documents. Default: False, it is raised.
            options: Options of the retriever, instead of its own.
        """
        if (retriever := self._together(inputs, config, options)) is not None:
            with suppress(Exception):  # one by one, so that the other questions get answers
                rows = retriever._search_many(list(inputs), retriever._strategy(), retriever._limits())
                return [*map(retriever._results, rows)]
        return super().batch(inputs, config, return_exceptions=return_exceptions, **options)

    async def abatch(
        self, inputs: list[str], config: Configs = None, *, return_exceptions: bool = False, **options: Any
    ) -> list[list[Document]]:
        """Like ``batch``."""
        if (retriever := self._together(inputs, config, options)) is not None:
            with suppress(Exception):
                rows = await retriever._asearch_many(list(inputs), retriever._strategy(), retriever._limits())
                return [*map(retriever._results, rows)]
        return await super().abatch(inputs, config, return_exceptions=return_exceptions, **options)

    def _together(self, questions: Sequence[Any], config: Configs, options: Mapping[str, Any]) -> Self | None:
        """The retriever with the options of a call, or None if each question must be searched alone."""
        methods = (*_METHODS, "invoke", "ainvoke")
        are_several = len(questions) > 1 and all(isinstance(each, str) for each in questions)
        if not are_several or not is_plain(self, BaseSpanRetriever, methods) or somebody_listens(config, len(questions)):
            return None
        with suppress(LeafspanError):
            retriever = self._with(options)
            retriever.to_dict()  # a retriever that can be written has no host objects
            return retriever if retriever.retrieval_timeout is None else None
        return None

    def _with(self, options: Mapping[str, Any]) -> Self:
        """A retriever like this one, with the options of a call."""
        if not options:
            return self
        fixed = (*BaseRetriever.model_fields, "index", "filter_policy")
        names = [name for name in type(self).model_fields if name not in fixed]
        check_option_names(f"a call of {type(self).__name__}", options, names)
        own = {name: getattr(self, name) for name in type(self).model_fields}
        changed = type(self)._checked({**own, **options, "where": self._joined(options.get("where"))})
        return self.model_copy(update={name: changed[name] for name in ("where", *options)})

    def _call(self, query: str) -> tuple[str, Strategy, CallOptions]:
        return query, self._strategy(), self._limits()

    def _results(self, passages: Sequence[Passage]) -> list[Document]:
        return [to_document(passage, explain=self.explain) for passage in passages]

    def _get_ls_params(self, **options: Any) -> LangSmithRetrieverParams:
        params = super()._get_ls_params(**options)
        if self.index is not None:
            params["ls_vector_store_provider"] = self.index.store_name
        return params


class NamedRetriever(NamedStrategyRetriever, BaseSpanRetriever):
    """The retriever of one strategy, ``kind``, whose options it declares."""

    _conversions: ClassVar = CONVERSIONS
    _last_strategy: LastStrategy = PrivateAttr(default_factory=LastStrategy)


class LeafRetriever(NamedRetriever):
    """The retriever of a strategy that finds leaves, and so needs an index."""

    index: View = Field(kw_only=False)

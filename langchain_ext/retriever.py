"""The base of all retrievers of this package."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Self, cast, get_args

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from pydantic import ConfigDict, Field, PrivateAttr, model_validator

from langchain_ext.child_runs import Configs, aall_ended, all_ended, somebody_listens, with_run
from langchain_ext.documents import to_document
from langchain_ext.host_objects import as_generate, as_strategy
from leafspan import Budget, InvalidArgument, LeafspanError, Passage, Strategy, View
from leafspan.hosting import (
    CALL_OPTIONS,
    CallOptions,
    FilterPolicy,
    HostWords,
    LastStrategy,
    Limits,
    NamedStrategyRetriever,
    StrategyRetriever,
    apply_policy,
    as_base,
    asearch,
    asearch_many,
    check_choice,
    check_flag,
    check_index,
    check_option_names,
    check_timeout,
    described,
    is_elsewhere,
    is_plain,
    read_options,
    search,
    search_many,
    searches_the_same,
    to_filter,
    write_options,
)

INDEX_KEY = "LEAFSPAN_INDEX"
"""The name for the index in the output of LangChain's ``dumpd``."""

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
    As the base of another retriever over the same index, it is treated as its strategy: its ``where`` and ``min_score``
    apply in addition to the call's; its ``k``, ``candidates``, ``budget`` and ``retrieval_timeout`` do not apply.
    """

    # pydantic builds a class at its first use, so that a process does not wait for unused classes.
    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", defer_build=True)

    index: View | None = Field(default=None, kw_only=False)
    k: int | None = None
    candidates: int | None = None
    budget: int | Budget | None = None
    where: Any = None
    min_score: float | None = None
    per_document: int | None = None
    retrieval_timeout: float | None = None
    filter_policy: FilterPolicy = "replace"
    explain: bool = False

    def __init__(self, index: View | None = None, **options: Any) -> None:
        """Takes the index by position too, like LlamaIndex's retrievers."""
        super().__init__(**options if index is None else {"index": index, **options})

    @abstractmethod
    def _strategy(self, child: Any = None) -> Strategy:
        """The strategy. A LangChain base is called with the callbacks ``child``."""

    def _as_strategy(self, name: str, thing: Any, child: Any = None) -> Strategy:
        """A base as a strategy; errors call the base ``name``."""
        methods = ("_get_relevant_documents", "_aget_relevant_documents")
        # A subclass with its own results is called like any other retriever.
        if (
            isinstance(thing, BaseSpanRetriever)
            and searches_the_same(self.index, thing.index)
            and is_plain(thing, BaseSpanRetriever, methods)
        ):
            return with_run(thing, as_base(thing._strategy(child), thing.where, thing.min_score), child)
        elsewhere = isinstance(thing, BaseSpanRetriever) and is_elsewhere(self.index, thing.index)
        return as_strategy(thing, child, name=name, elsewhere=elsewhere)

    @model_validator(mode="before")
    @classmethod
    def _check(cls, values: Any) -> Any:
        """Checks options by the core's rules before pydantic does, so that both hosts raise the same errors."""
        return cls._checked(values) if isinstance(values, dict) else values

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The options in the strategy's form.

        Raises:
            InvalidArgument: if an option is unknown or out of its range.
        """
        check_option_names(cls.__name__, values, cls.model_fields)
        if values.get("index") is None and cls.model_fields["index"].is_required():
            raise InvalidArgument(f"{cls.__name__} must have an index to search, got no index: {cls.__name__}(index=index)")
        if any(field.is_required() and name not in values for name, field in cls.model_fields.items()):
            return values  # pydantic names the missing option
        values = read_options(cls._kind(), values)
        draft = cls.model_construct(**values)
        check_index(draft.index)
        strategy = draft._strategy()
        check_index(draft.index, strategy)
        limits = Limits.of(draft.k, draft.candidates, draft.budget, draft.where, draft.min_score, draft.per_document)
        check_timeout(draft.retrieval_timeout, "retrieval_timeout")
        check_choice("filter_policy", draft.filter_policy, get_args(FilterPolicy))
        check_flag("explain", draft.explain)
        options = {**draft._plain_options(strategy), "where": limits.where}
        return {name: options.get(name, value) for name, value in values.items()}

    def _plain_options(self, strategy: Strategy) -> dict[str, Any]:
        """The strategy's own options, in the strategy's form."""
        return {}

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
        asked = self._with(options)
        child = run_manager.get_child()
        with all_ended(child):
            passages = search(self.index, query, asked._strategy(child), asked._limits(), for_several="batch")
            return asked._documents(passages)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        asked = self._with(options)
        child = run_manager.get_child()
        async with aall_ended(child):
            passages = await asearch(self.index, query, asked._strategy(child), asked._limits(), for_several="abatch")
            return asked._documents(passages)

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
        if (asked := self._together(inputs, config, options)) is not None:
            with suppress(Exception):  # one by one, so that the other questions get answers
                return [*map(asked._documents, search_many(self.index, list(inputs), asked._strategy(), asked._limits()))]
        return super().batch(inputs, config, return_exceptions=return_exceptions, **options)

    async def abatch(
        self, inputs: list[str], config: Configs = None, *, return_exceptions: bool = False, **options: Any
    ) -> list[list[Document]]:
        """Like ``batch``."""
        if (asked := self._together(inputs, config, options)) is not None:
            with suppress(Exception):
                rows = await asearch_many(self.index, list(inputs), asked._strategy(), asked._limits())
                return [*map(asked._documents, rows)]
        return await super().abatch(inputs, config, return_exceptions=return_exceptions, **options)

    def _together(self, questions: Sequence[Any], config: Configs, options: Mapping[str, Any]) -> Self | None:
        """The retriever with the options of a call, or None if questions must be asked one by one."""
        methods = ("_get_relevant_documents", "_aget_relevant_documents", "invoke", "ainvoke")
        are_several = len(questions) > 1 and all(isinstance(each, str) for each in questions)
        if not are_several or not is_plain(self, BaseSpanRetriever, methods) or somebody_listens(config, len(questions)):
            return None
        with suppress(LeafspanError):
            asked = self._with(options)
            asked.to_dict()  # a retriever that can be written has no host objects
            return asked if asked.retrieval_timeout is None else None
        return None

    def _with(self, options: Mapping[str, Any]) -> Self:
        """A retriever like this one, with the options of a call.

        Raises:
            InvalidArgument: if an option is unknown, fixed, or out of its range.
        """
        if not options:
            return self
        fixed = (*BaseRetriever.model_fields, "index", "filter_policy")
        known = [name for name in type(self).model_fields if name not in fixed]
        check_option_names(f"a call of {type(self).__name__}", options, known)
        where = apply_policy(to_filter(self.where), to_filter(options.get("where")), self.filter_policy)
        own = {name: getattr(self, name) for name in type(self).model_fields}
        changed = type(self)._checked({**own, **options, "where": where})
        return self.model_copy(update={name: changed[name] for name in ("where", *options)})

    def _asked(self, query: str) -> tuple[str, Strategy, CallOptions]:
        return query, self._strategy(), self._limits()

    def _limits(self) -> CallOptions:
        own = {name: getattr(self, name) for name in CALL_OPTIONS}
        return cast(CallOptions, {**own, "timeout": self.retrieval_timeout})

    def _documents(self, passages: Sequence[Passage]) -> list[Document]:
        return [to_document(passage, explain=self.explain) for passage in passages]

    def _get_ls_params(self, **options: Any) -> LangSmithRetrieverParams:
        params = super()._get_ls_params(**options)
        if self.index is not None:
            params["ls_vector_store_provider"] = self.index.store_name
        return params


class NamedRetriever(NamedStrategyRetriever, BaseSpanRetriever):
    """The retriever of one strategy, ``kind``, whose options it declares."""

    _last_strategy: LastStrategy = PrivateAttr(default_factory=LastStrategy)

    def _converted(self, child: Any) -> dict[str, Any]:
        return dict(as_generate(getattr(self, "llm", None), child))


class LeafRetriever(NamedRetriever):
    """The retriever of a strategy that finds leaves, and so needs an index."""

    index: View = Field(kw_only=False)


class BasedRetriever(NamedRetriever):
    """The retriever of a strategy that builds on a ``base``: another strategy, or any LangChain retriever."""

    base: Any = None

    def _converted(self, child: Any) -> dict[str, Any]:
        base = None if self.base is None else self._as_strategy("base", self.base, child)
        return {**super()._converted(child), "base": base}


class BasedLeafRetriever(BasedRetriever):
    """The retriever of a strategy that builds on a ``base`` of leaves, and so needs an index."""

    index: View = Field(kw_only=False)

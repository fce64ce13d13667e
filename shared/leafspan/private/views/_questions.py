"""Masks queries and the requests of strategies."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from leafspan.filters import Where
from leafspan.private.pseudonyms import Disguise, Masked
from leafspan.private.views._intake import masked_filter
from leafspan.strategies import (
    AskHost,
    CallFunction,
    Embed,
    Generate,
    HostResult,
    LexicalSearch,
    OverBase,
    Request,
    RetrievalContext,
    RunStrategies,
    Strategy,
    StrategyFlow,
)
from leafspan.values import Candidate, Passage, Query, run_of_id


class Asking:
    """Masks everything in one retrieval, and remembers the masked texts."""

    def __init__(self, disguise: Disguise, masked_id: Callable[[str], str]) -> None:
        self._disguise = disguise
        self._masked_id = masked_id
        self._texts: dict[str, str] = {}
        self.originals: dict[str, str] = {}

    def text(self, text: str) -> str:
        """A text, masked."""
        if text not in self._texts:
            masked = self._note(self._disguise.text(text))
            self._texts[text] = self._texts[masked] = masked
        return self._texts[text]

    def _note(self, masked: Masked) -> str:
        for each in masked.places:
            if each.kind:
                self.originals.setdefault(each.pseudonym, str(each.original))
        return masked.text

    def query(self, thing: Any) -> Any:
        """Mask the texts in a user's query."""
        if isinstance(thing, str):
            return self.text(thing)
        if isinstance(thing, Query):
            text = self.text(thing.text) if isinstance(thing.text, str) else thing.text
            texts = thing.embedding_texts
            if isinstance(texts, list | tuple):
                texts = tuple(self.text(each) if isinstance(each, str) else each for each in texts)
            return replace(thing, text=text, embedding_texts=texts)
        if isinstance(thing, list | tuple):
            return [self.query(each) if isinstance(each, str | Query) else each for each in thing]
        return thing

    def where(self, where: Where | None) -> Where | None:
        """A filter, masked."""
        return masked_filter(where, self._disguise, self._masked_id, lambda places: self._note(Masked("", places)))

    def request(self, request: Any) -> Any:
        """A request of a strategy, masked."""
        if isinstance(request, tuple):
            return tuple(map(self.request, request))
        if isinstance(getattr(request, "where", None), Where):
            request = replace(request, where=self.where(request.where))
        match request:
            case Embed() | LexicalSearch():
                return replace(request, texts=tuple(map(self.text, request.texts)))
            case Generate():
                return replace(request, prompts=tuple(map(self.text, request.prompts)))
            case AskHost():
                here = not request.elsewhere
                ask, aask = MaskedHost(self, request.ask, here), MaskedAsyncHost(self, request.aask, here)
                return replace(request, question=self.text(request.question), ask=ask, aask=aask)
            case RunStrategies():
                runs = tuple(replace(run, strategy=MaskedStrategy(run.strategy, self)) for run in request.runs)  # type: ignore[arg-type]
                return replace(request, runs=runs)
        return request

    def results(self, results: Any, *, here: bool) -> Any:
        """Mask a host retriever's results: leafspan's own passages only in their ids, other results in all fields."""
        if not isinstance(results, Sequence) or not all(isinstance(each, HostResult) for each in results):
            return results
        return [self._result(each, here=here) for each in results]

    def _result(self, result: HostResult, *, here: bool) -> HostResult:
        if here and (run := run_of_id(result.id)) is not None:
            leaf = run[0]
            id_ = self.passage_id(str(result.id))
            return replace(result, id=id_) if self._masked_id(leaf.document_id) != leaf.document_id else result
        metadata: Mapping[str, object] = result.metadata
        masked = {self.text(key): self._value(value) for key, value in metadata.items()}
        name = self.text(result.id) if here and result.id is not None else result.id
        return replace(result, id=name, text=self.text(result.text), metadata=masked, origin=None)

    def outside(self, passage: Passage) -> Passage:
        """Mask a passage of another source. The index's own passages are masked already."""
        if passage.summary is not None or (passage.kind == "text" and passage.start is not None):
            return passage
        metadata = {self.text(key): self._value(value) for key, value in passage.metadata.items()}
        title = None if passage.title is None else self.text(passage.title)
        id_, text = self.text(passage.id), self.text(passage.text)
        return replace(passage, id=id_, text=text, metadata=metadata, title=title, origin=None)

    def masked(self, passage: Passage) -> Passage:
        """Mask a passage and its trace, which may quote phrasings of the question."""
        return replace(self.outside(passage), trace=passage.trace.with_texts(self.text))

    def _value(self, value: object) -> object:
        masked, places = self._disguise.value(value)
        for each in places:
            self._note(Masked("", each))
        return masked

    def passage_id(self, id_: str) -> str:
        """Mask the document's id in a passage's id. Other ids stay as they are."""
        run = run_of_id(id_)
        if run is None:
            return id_
        document_id = run[0].document_id
        return self._masked_id(document_id) + id_[len(document_id) :]


@dataclass(frozen=True, slots=True)
class MaskedHost:
    """A host's retriever with masked results."""

    asking: Asking
    ask: Callable[[str], Any]
    here: bool

    def __call__(self, question: str) -> Any:
        """The results."""
        return self.asking.results(self.ask(question), here=self.here)


@dataclass(frozen=True, slots=True)
class MaskedAsyncHost:
    """A host's asynchronous retriever with masked results."""

    asking: Asking
    ask: Callable[[str], Awaitable[Any]]
    here: bool

    async def __call__(self, question: str) -> Any:
        """The results."""
        return await asyncio.to_thread(self.asking.results, await self.ask(question), here=self.here)


@dataclass(frozen=True, slots=True)
class MaskedStrategy(OverBase):
    """The strategy ``base`` with masked requests, including texts that it makes itself, such as phrasings."""

    configurable: ClassVar[bool] = False
    base: Strategy
    asking: Asking = field(repr=False)

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """See Strategy."""
        flow = self.base.retrieve(queries, context)
        answer: Any = None
        while True:
            try:
                request: Request | tuple[Request, ...] = flow.send(answer)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]
            # Finders are slow, and filters on ids read the vault, so that this must not run in the event loop.
            answer = yield (yield CallFunction(self.asking.request, (request,)))

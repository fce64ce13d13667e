"""What can be done with an index, or with the part of it that a scope shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Never, overload

from leafspan.adding import Added, adding_any, deleting
from leafspan.engine import Flow, arun, run
from leafspan.errors import InvalidArgument
from leafspan.filters import to_filter
from leafspan.filters.constants import constant
from leafspan.listing import DocumentInfo, Stats, getting, listing, listing_leaves, summing_up
from leafspan.packing import Budget
from leafspan.retrieval import Limits, answering
from leafspan.scope import Scope
from leafspan.settings import Indexing
from leafspan.sources import Sources
from leafspan.strategies import DEFAULT, Strategy
from leafspan.strategies.strategy import flag
from leafspan.tree.bisecting import Bisecting
from leafspan.tree.building import Plan, TreesBuilt, building
from leafspan.tree.clusters import Clusterer
from leafspan.tree.forgetting import forgetting
from leafspan.tree.listing import listing_summaries
from leafspan.tree.rendering import summary_passage
from leafspan.tree.summarizing import to_summarizer
from leafspan.values import Document, Passage, Query

Numbers = Sequence[float]


class View:
    """Documents that can be added, deleted, listed and retrieved from: an ``Index``, or what ``scoped`` gives.

    Each method has an asynchronous twin whose name starts with ``a``, which does not block the event loop. A view may be
    used by many threads.
    """

    def __init__(self, sources: Sources, indexing: Indexing, timeout: float, scope: Scope | None = None) -> None:
        self._sources = sources
        self._store = sources.store
        self._embedder = sources.embedder
        self._indexing = indexing
        self._timeout = timeout
        self._scope = scope

    def __eq__(self, other: object) -> bool:
        """Whether it is the same index, opened once, of which both show the same by the same filter."""
        if not isinstance(other, View):
            return NotImplemented
        return self._sources is other._sources and self._scope == other._scope

    def __hash__(self) -> int:
        return hash((id(self._sources), self._scope))

    def __reduce__(self) -> Never:
        """Raises: files, locks and connections belong to one process."""
        raise TypeError(
            f"{type(self).__name__} cannot be pickled or copied, nor what holds it: open the index again where it is needed"
        )

    def scoped(self, where: object, *, share_statistics: bool = False) -> View:
        """A view of the documents that match the filter, which can only ever be narrowed: a tenant's, for example.

        Nothing that is done through it reaches another document: no filter of a call, no strategy and no retriever of a
        host. What is added through it gets the values that the filter asks for (``F("tenant") == "a"`` writes
        ``tenant``), and must match it. Its documents have ids of their own: another view can have a document of the same
        id, which this one can neither overwrite nor notice. (They are stored under their id and a suffix of the view's,
        under which the whole index shows them.) ``share_statistics``: let idf and average length be those of the whole
        index, which is faster and tells a little of what else is there; by default they are those of the view. It also
        shows summaries of several documents that others have built; else only those that the view has built are shown, and,
        of a view like ``F("tenant") == "a"``, those that ``build_tree(partition_by="tenant")`` of the index has.

        Raises:
            InvalidArgument: if ``where`` is no filter, or one that every document matches for lack of a condition, such as
                ``F("tenant").not_in([])``.
        """
        condition = to_filter(where)
        if condition is None or constant(condition):
            raise InvalidArgument(f"a scope must have a filter that says what it shows, got {where!r}")
        if self._scope is None:
            scope = Scope(condition, share_statistics)
        else:
            scope = self._scope.narrowed(condition, share_statistics=share_statistics)
        return View(self._sources, self._indexing, self._timeout, scope)

    def add(self, documents: Iterable[object] | object, *, progress: bool | None = None) -> Added:
        """Add documents, replace those whose text, title or metadata have changed, and skip the others.

        ``documents``: leafspan, LangChain or LlamaIndex Documents, mappings with id and text, or ``pathlib.Path``s of
        text and Markdown files or folders of them; one, or any iterable. They are written in groups: where something
        fails or the process is killed, earlier groups are there, and the others are as they were; add them again.
        ``progress``: show a bar; by default where a person is watching.

        Raises:
            InvalidDocument: if one cannot be stored, or an id occurs twice. Of a list, nothing is written then.
            IndexMismatch: if the index was made with another embedder.
            WriterBusy: if another writer holds the index for longer than the timeout.
        """
        return run(self._adding(documents, progress))

    async def aadd(self, documents: Iterable[object] | object, *, progress: bool | None = None) -> Added:
        """Like ``add``."""
        return await arun(self._adding(documents, progress))

    def delete(self, ids: Iterable[str]) -> list[str]:
        """Delete documents by id, and all summaries of them; the ids of those that were there. Unknown ids do not matter.

        Raises:
            InvalidArgument: if ``ids`` is anything but a list (or other iterable) of strings.
            WriterBusy: if another writer holds the index for longer than the timeout.
        """
        return run(self._deleting(ids))

    async def adelete(self, ids: Iterable[str]) -> list[str]:
        """Like ``delete``."""
        return await arun(self._deleting(ids))

    def documents(self) -> list[DocumentInfo]:
        """All documents, without their texts, in the order of their ids."""
        return run(listing(self._store, self._scope))

    async def adocuments(self) -> list[DocumentInfo]:
        """Like ``documents``."""
        return await arun(listing(self._store, self._scope))

    def get(self, document_id: str) -> Document:
        """The document with its full text, as it was added.

        Raises:
            DocumentNotFound: if there is none of that id.
        """
        return run(getting(self._store, document_id, self._scope))

    async def aget(self, document_id: str) -> Document:
        """Like ``get``."""
        return await arun(getting(self._store, document_id, self._scope))

    def leaves(self, document_id: str | None = None) -> list[Passage]:
        """The leaves of a document, or of all, in the order of ids and texts, each as a passage with score 0.

        Their ids are those of the leaves in Chroma; in a scoped view, as it shows them.

        Raises:
            DocumentNotFound: if there is no document of that id.
        """
        return run(listing_leaves(self._store, document_id, self._scope))

    async def aleaves(self, document_id: str | None = None) -> list[Passage]:
        """Like ``leaves``."""
        return await arun(listing_leaves(self._store, document_id, self._scope))

    def count(self) -> int:
        """The number of documents."""
        return len(run(listing(self._store, self._scope)))

    async def acount(self) -> int:
        """Like ``count``."""
        return len(await arun(listing(self._store, self._scope)))

    def stats(self) -> Stats:
        """The index in numbers."""
        return run(self._summing_up())

    async def astats(self) -> Stats:
        """Like ``stats``."""
        return await arun(self._summing_up())

    @overload
    def retrieve(
        self,
        query: str | Query | Numbers | None,
        strategy: Strategy | None = None,
        *,
        k: int | None = None,
        candidates: int | None = None,
        budget: int | Budget | None = None,
        where: object = None,
    ) -> list[Passage]: ...

    @overload
    def retrieve(
        self,
        query: list[str] | list[Query] | list[Numbers],
        strategy: Strategy | None = None,
        *,
        k: int | None = None,
        candidates: int | None = None,
        budget: int | Budget | None = None,
        where: object = None,
    ) -> list[list[Passage]]: ...

    def retrieve(
        self,
        query: str | Query | Numbers | list[str] | list[Query] | list[Numbers] | None,
        strategy: Strategy | None = None,
        *,
        k: int | None = None,
        candidates: int | None = None,
        budget: int | Budget | None = None,
        where: object = None,
    ) -> list[Passage] | list[list[Passage]]:
        """The passages that a strategy finds for a query, best first; or a list of them for each of several queries.

        ``query``: a text, or its vector; or a list of them, which are searched in one call. ``strategy``: by default
        ``RelevantSegments()``. ``k``: at most so many passages, 5 by default, or all where a budget is given.
        ``candidates``: the leaves looked at before merging, by default 4 * k and at least 24. ``budget``: at most so many
        words in all, or tokens with ``Budget(512, count=...)``; the first passage that does not fit ends the list, and the
        first of all is returned even where it alone is over. ``where``: a filter on the documents' metadata, such as
        ``F("year") >= 2020``, or one in the dialect of Chroma, Haystack or LlamaIndex.

        Passages of one result never share text; ties go by document id, then position. An empty index gives none.

        Raises:
            InvalidArgument: if an option is out of its range, or a query is blank.
            IndexMismatch: if the index was made with another embedder.
            Overtaken: if what was read was replaced at every one of ten attempts.
        """
        flow = self._retrieving(query, strategy, Limits.of(k, candidates, budget, where))
        passages: list[Passage] | list[list[Passage]] = run(flow)
        return passages

    @overload
    async def aretrieve(
        self,
        query: str | Query | Numbers | None,
        strategy: Strategy | None = None,
        *,
        k: int | None = None,
        candidates: int | None = None,
        budget: int | Budget | None = None,
        where: object = None,
    ) -> list[Passage]: ...

    @overload
    async def aretrieve(
        self,
        query: list[str] | list[Query] | list[Numbers],
        strategy: Strategy | None = None,
        *,
        k: int | None = None,
        candidates: int | None = None,
        budget: int | Budget | None = None,
        where: object = None,
    ) -> list[list[Passage]]: ...

    async def aretrieve(
        self,
        query: str | Query | Numbers | list[str] | list[Query] | list[Numbers] | None,
        strategy: Strategy | None = None,
        *,
        k: int | None = None,
        candidates: int | None = None,
        budget: int | Budget | None = None,
        where: object = None,
    ) -> list[Passage] | list[list[Passage]]:
        """Like ``retrieve``."""
        flow = self._retrieving(query, strategy, Limits.of(k, candidates, budget, where))
        passages: list[Passage] | list[list[Passage]] = await arun(flow)
        return passages

    def build_tree(
        self,
        *,
        summarizer: object = None,
        clusterer: Clusterer | None = None,
        max_layers: int = 5,
        across: bool = False,
        partition_by: str | None = None,
        dry_run: bool = False,
        progress: bool | None = None,
    ) -> TreesBuilt:
        """Build a RAPTOR tree of each document (Sarthi et al., ICLR 2024), for the strategy ``Tree``.

        Leaves that are alike are clustered, each cluster is summarised, and so are the summaries, until one is left or
        there are ``max_layers``. Documents whose trees are up to date are skipped, so run it again after adding or
        deleting. Each summary of a language model is kept as soon as it is there: a build that was killed goes on where it
        was, and of a changed document only what has changed is asked for.

        ``summarizer``: a LangChain chat model or LLM, a LlamaIndex LLM, a function from a list of texts to their summary,
        or an ``Abstractive`` with its options; by default ``Extractive()``, which chooses sentences and asks nobody.
        ``clusterer``: by default ``Bisecting()``; ``RaptorClusters()`` is the paper's; or a function, see ``Clusterer``.
        ``across``: add layers above the trees, over all documents of the index or view; ``partition_by``: over those with
        the same value of a metadata key, for each of its values. A scoped view sees the layers that it has built itself,
        see ``scoped``. ``dry_run``: only say what would be done.
        ``progress``: show a bar; by default where a person is watching.

        Raises:
            InvalidArgument: if an option is out of its range, or a clusterer gives what is none.
            IndexMismatch: if the trees there were built with another summarizer, and none is given.
            WriterBusy: if another writer holds the index for longer than the timeout.
        """
        return run(self._building(summarizer, clusterer, max_layers, across, partition_by, dry_run, progress))

    async def abuild_tree(
        self,
        *,
        summarizer: object = None,
        clusterer: Clusterer | None = None,
        max_layers: int = 5,
        across: bool = False,
        partition_by: str | None = None,
        dry_run: bool = False,
        progress: bool | None = None,
    ) -> TreesBuilt:
        """Like ``build_tree``."""
        return await arun(self._building(summarizer, clusterer, max_layers, across, partition_by, dry_run, progress))

    def summaries(self, document_id: str | None = None) -> list[Passage]:
        """The summaries of a document's tree, or all that can be seen, each as a passage with score 0.

        They come by document, and of each the top layer first. Those of a document that has been changed since its tree
        was built are not seen, nor are those above them.

        Raises:
            DocumentNotFound: if there is no document of that id.
        """
        return run(self._listing_summaries(document_id))

    async def asummaries(self, document_id: str | None = None) -> list[Passage]:
        """Like ``summaries``."""
        return await arun(self._listing_summaries(document_id))

    def _listing_summaries(self, document_id: str | None) -> Flow[list[Passage]]:
        found = yield from listing_summaries(self._store, self._sources.trees, document_id, self._scope)
        return [summary_passage(each, text) for each, text in found]

    def _deleting(self, ids: Iterable[str]) -> Flow[list[str]]:
        forget = partial(forgetting, self._sources.trees, timeout=self._timeout)
        flow = deleting(self._store, ids, timeout=self._timeout, scope=self._scope, forget=forget)
        return (yield from flow)

    def _building(
        self,
        summarizer: object,
        clusterer: Clusterer | None,
        max_layers: int,
        across: bool,
        partition_by: str | None,
        dry_run: bool,
        progress: bool | None,
    ) -> Flow[TreesBuilt]:
        flag("dry_run", dry_run)  # a build that was meant to be one may be paid for
        made = to_summarizer(summarizer)
        plan = Plan(clusterer or Bisecting(), made, summarizer is not None, max_layers, across, partition_by)
        flow = building(
            self._sources.trees,
            plan,
            store=self._store,
            embed=self._embedder.documents,
            title_weight=self._indexing.title_weight,
            scope=self._scope,
            timeout=self._timeout,
            progress=progress,
            dry_run=dry_run,
        )
        return (yield from flow)

    def _adding(self, documents: Iterable[object] | object, show: bool | None) -> Flow[Added]:
        flow = adding_any(
            self._store,
            self._embedder.documents,
            documents,
            indexing=self._indexing,
            timeout=self._timeout,
            show=show,
            scope=self._scope,
        )
        return (yield from flow)

    def _retrieving(self, query: Any, strategy: Strategy | None, limits: Limits) -> Flow[Any]:
        used = DEFAULT if strategy is None else strategy
        return (yield from answering(self._sources, query, used, limits, self._scope))

    def _summing_up(self) -> Flow[Stats]:
        return (yield from summing_up(self._sources, self._indexing, self._scope))

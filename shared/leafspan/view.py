"""The methods of an index, and of the part of it that a scope shows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self, Unpack
from warnings import warn

from leafspan import indexing, trees
from leafspan.checks import check_flag, check_text, check_whole, checked_id, shown
from leafspan.documents import IndexSettings, check_document, checked_keys
from leafspan.embedding import check_vectors
from leafspan.errors import InvalidArgument
from leafspan.files import FileReading
from leafspan.filters import Where, constant, to_filter
from leafspan.flows import Flow, arun_within, awaiting, blocking, run_within
from leafspan.retrieval import (
    CallOptions,
    Limits,
    Passages,
    Recording,
    Sources,
    check_timeout,
    recorded,
    retrieve_from_index,
    takes_call_options,
    warm,
)
from leafspan.spans import Budget
from leafspan.store import Scope
from leafspan.strategies import OtherIndex, Strategy, StrategyLike, at_least
from leafspan.text import display, without_surrogates
from leafspan.values import Document, Passage, Query

if TYPE_CHECKING:
    from leafspan.indexing import Added, AddOptions, DocumentInfo, IngestRules, Stats, Synced, SyncOptions, WriteTarget
    from leafspan.trees import Clusterer, TreesBuilt

One = str | Query | Sequence[float] | None


class View:
    """Documents that you can add, delete, list and search: an ``Index``, or what ``scoped`` returns.

    Each method has an asynchronous twin whose name starts with ``a``, which does not block the event loop. A view may be
    used by many threads.
    """

    def __new__(cls, *arguments: Any, **_: Any) -> Self:
        """Refuse users who call the class instead of opening an index."""
        if not arguments or not isinstance(arguments[0], Sources):
            path = shown(arguments[0]) if arguments else "..."
            raise InvalidArgument(f"an index must be opened, got {cls.__name__}({path}): use Index.open({path})")
        return super().__new__(cls)

    def __init__(self, sources: Sources, settings: IndexSettings, timeout: float, scope: Scope | None = None) -> None:
        self._sources = sources
        self._store = sources.store
        self._embedder = sources.embedder
        self._settings = settings
        self._timeout = timeout
        self._scope = scope
        self._embed = partial(sources.embedder.documents, view=scope.suffix if scope else "")

    def __eq__(self, other: object) -> bool:
        """Whether both views show the same documents of the same index, opened once."""
        if not isinstance(other, View):
            return NotImplemented
        return self._what_it_shows() == other._what_it_shows()

    def __hash__(self) -> int:
        return hash((id(self._sources), self._scope))

    @property
    def is_private(self) -> bool:
        """Whether names and numbers are pseudonyms here: see ``leafspan.private.private_view``."""
        return False

    @property
    def store_name(self) -> str:
        """The name of the index's store: ``"Chroma"``, ``"PostgreSQL"``, ``"Qdrant"``, or the class of your own engine."""
        return self._store.product

    @property
    def default_strategy(self) -> Strategy:
        """The strategy for calls of ``retrieve`` that name none."""
        return self._sources.defaults.strategy

    @property
    def default_limits(self) -> Limits:
        """The limits for calls of ``retrieve`` without these options."""
        return self._limits({})

    def is_of_same_index(self, other: View) -> bool:
        """Whether both are views of one index that was opened once."""
        return self._sources is other._sources

    def _what_it_shows(self) -> tuple[object, ...]:
        """A key that is equal for views that show the same."""
        return id(self._sources), self._scope

    def __repr__(self) -> str:
        scope = "" if self._scope is None else f", {self._scope.where!r}"
        return f"{type(self).__name__}({self._store.described}{scope})"

    def _repr_html_(self) -> str | None:
        """A picture for notebooks: what it holds, how it was made, and its documents."""
        return display("View", self)

    def __reduce__(self) -> tuple[Callable[..., View], tuple[object, ...]]:
        """Pickle the folder and the options. Unpickling opens the index again.

        Raises:
            TypeError: behind a client, or if names are pseudonyms: connections and keys belong to one process.
        """
        if self._sources.reopen is None or self.is_private:
            why = "with a key, since a key" if self.is_private else "over a client, since a connection"
            raise TypeError(
                f"cannot pickle or copy a {type(self).__name__} {why} belongs to one process: open the index again where "
                "it is needed"
            )
        return _opened_again, (self._sources.reopen, self._scope)

    def scoped(self, where: object, *, share_statistics: bool = False) -> View:
        """A view of the documents that match a filter, such as a tenant's. You can only narrow it further.

        No call through the view reaches another document, with any filter, strategy or host retriever. A document
        added through the view must match the filter. If it lacks a value that the filter asks for, the view sets the
        value: ``F("tenant") == "a"`` writes ``tenant``. Each view has its own document ids: another view can have a
        document of the same id, which this view can neither overwrite nor see. (The whole index shows such a document
        under its id with a suffix of the view.)

        Args:
            where: The filter, made with ``F`` or in the dialect of Chroma, Haystack or LlamaIndex.
            share_statistics: Whether BM25 counts words over the whole index rather than over the view. That is faster,
                and reveals a little about other documents. It also shows summaries of several documents that others
                have built. Otherwise the view shows only summaries of several documents that it has built itself.
                Default: False.

        Raises:
            InvalidArgument: if ``where`` is no filter, or a filter without a condition, which every document matches,
                such as ``F("tenant").not_in([])``.
        """
        check_flag("share_statistics", share_statistics)
        condition = to_filter(where)
        if condition is None or constant(condition):
            raise InvalidArgument(f"a scope must have a filter that says what it shows, got {shown(where)}")
        scope = Scope(condition, share_statistics)
        if self._scope is not None:
            scope = self._scope.narrowed(condition, share_statistics=share_statistics)
        return View(self._sources, self._settings, self._timeout, scope)

    @blocking
    def add(
        self,
        documents: Iterable[object] | object,
        *,
        flatten_metadata: bool = False,
        volatile_keys: Collection[str] = (),
        workers: int | None = None,
        progress: bool | None = None,
    ) -> Flow[Added]:
        """Add documents, replace those whose text, title or metadata have changed, and skip the others.

        A document replaces only a document of the same id. A framework's Document without an id gets an id from its
        source, its place there, and a hash of its text and metadata. So adding it again is safe, and it never replaces
        another document.

        Documents are written in groups. If a call fails or is interrupted, earlier groups are stored, and the other
        documents are unchanged. A note on the error says how many are stored. To continue, add all of them again: the
        embedding cache, if it is on, has the vectors of texts that were embedded.

        Args:
            documents: leafspan, LangChain, LlamaIndex or Haystack Documents, mappings with id and text,
                ``pathlib.Path``s of files or of folders, or ``Files`` with options of their own; one, or any iterable. For
                chunks of one text, see ``chunks_of``.
            flatten_metadata: Whether nested metadata are flattened: ``{"a": {"b": 1}}`` is stored as ``{"a.b": 1}``.
                Default: False, they are an error.
            volatile_keys: Metadata keys whose values change without a change of the text, such as ``"view_count"``.
                leafspan leaves them out of the ids that it makes, as it always does with dates of files and of loading.
                Default: none.
            workers: Number of other processes, >= 0, that read files, split, embed and analyse, on this machine.
                The stored index is the same. Default: None, this process does it.
            progress: Whether to show the progress. Default: only in a terminal or a notebook, after a second.

        Returns:
            The ids of the documents that were added and replaced, the number of the unchanged ones, and the files that
            could not be read.

        Raises:
            InvalidDocument: if a document cannot be stored, or two different ones have the same id. If ``documents`` is
                a list, nothing is written then.
            IndexMismatch: if the index was made with another embedder.
            WriterBusy: if another writer holds the index for longer than the timeout.
        """
        return self._ingest(documents, indexing.AddOptions(flatten_metadata, volatile_keys, workers, progress))

    aadd = awaiting(add)

    @blocking
    def sync(
        self,
        source: Iterable[object] | object,
        *,
        within: object = None,
        source_key: str | None = None,
        dry_run: bool = False,
        allow_empty: bool = False,
        flatten_metadata: bool = False,
        volatile_keys: Collection[str] = (),
        workers: int | None = None,
        progress: bool | None = None,
    ) -> Flow[Synced]:
        """Bring the index up to date with a source: add, replace, and delete what the source no longer has.

        Documents outside the source are never changed. A folder covers all files that leafspan would read in it. For
        documents, you must say what they cover, by ``within`` or ``source_key``. ``sync`` deletes last: if the source
        cannot be read to its end, nothing is deleted. If the process is killed, run it again.

        The files of a renamed folder are new documents. If old documents with the same texts stay although their files
        are gone, a ``RuntimeWarning`` says so. Delete these documents, which the result names in ``moved``.

        Args:
            source: A ``pathlib.Path`` of a file or folder, or ``Files``, or a list of these; or documents, as for ``add``.
            within: Filter on metadata. Documents in the index that match it, but are not in the source, are deleted.
                All documents of the source must match it. ``"everything"`` covers the whole index or view. (LangChain
                calls this full cleanup.)
            source_key: Metadata key, such as ``"source"``. Documents in the index that have one of the source's values
                under this key, but are not in the source, are deleted. Documents with other values stay. (LangChain
                calls this incremental cleanup.)
            dry_run: Whether to report only what would be done. Default: False.
            allow_empty: Whether an empty source, or a missing path, deletes everything that it covers. Default: False.
            flatten_metadata: Whether nested metadata are flattened, as in ``add``. Default: False.
            volatile_keys: Metadata keys to leave out of the ids that leafspan makes, as in ``add``. Default: none.
            workers: Number of other processes, >= 0, that read files, split, embed and analyse, on this machine.
                The stored index is the same. Default: None, this process does it.
            progress: Whether to show the progress. Default: only in a terminal or a notebook, after a second.

        Returns:
            The ids of the documents that were added, replaced and deleted, and of the unchanged ones; and the files and
            documents that could not be read or stored. The index keeps their old versions.

        Raises:
            EmptySource: if documents would be deleted because the source, or one of its paths, is empty.
            InvalidArgument: if documents are given without ``within`` or ``source_key``, or an option is of a wrong
                type.
            InvalidDocument: if a document does not match ``within``, two different ones have the same id, or a path is not
                there. A document that cannot be stored is no error: it is among ``skipped``.
            IndexMismatch: if the index was made with another embedder.
            WriterBusy: if another writer holds the index for longer than the timeout.

        The asynchronous twin is ``a_sync``, since ``async`` is a Python keyword.
        """
        options = indexing.SyncOptions(
            within, source_key, dry_run, allow_empty, flatten_metadata, volatile_keys, workers, progress
        )
        synced = yield from self._sync(source, options)
        if synced.moved:
            warn(indexing.moved_warning(synced.moved), RuntimeWarning, stacklevel=4)
        return synced

    a_sync = awaiting(sync)

    def watch(
        self, source: object, *, allow_empty: bool = False, workers: int | None = None, progress: bool | None = None
    ) -> Iterator[Synced]:
        """The results of ``sync``, at once and again after each change of files that has changed or skipped something.

        ``source`` is a folder, a file or ``Files``, or a list of these. A string is a path. The options are ``sync``'s
        options. A change is in the index within two seconds, a burst is one sync, and a file is taken when it has not
        changed for 0.3 seconds. With ``watchfiles`` (``pip install ".[watch]"``), the operating system tells of changes.
        Otherwise, and for single files, leafspan looks at sizes and times.

        If a path goes away or is empty, nothing is deleted, a ``RuntimeWarning`` says so, and the watch goes on. It also
        goes on if another writer is busy. All other errors end it, and so do all errors of the first sync.

        Raises:
            InvalidArgument: if the source is anything but files and folders, or an option is of a wrong type.
        """
        return indexing.Watch(source, self._sync, allow_empty, workers, progress).syncs()

    def awatch(
        self, source: object, *, allow_empty: bool = False, workers: int | None = None, progress: bool | None = None
    ) -> AsyncIterator[Synced]:
        """Like ``watch``, for ``async for``."""
        return indexing.Watch(source, self._sync, allow_empty, workers, progress).asyncs()

    @blocking
    def delete(self, ids: Iterable[str] | None = None, *, where: object = None, dry_run: bool = False) -> Flow[list[str]]:
        """Delete documents, and all summaries made of them.

        Args:
            ids: Ids of documents. Unknown ids are ignored. Give either this or ``where``.
            where: Filter on the documents' metadata, such as ``F("year") < 2020``, or one in the dialect of Chroma,
                Haystack or LlamaIndex.
            dry_run: Whether to report only what would be deleted. Default: False.

        Returns:
            The ids of the documents that were there.

        Raises:
            InvalidArgument: if not exactly one of ``ids`` and ``where`` is given, ``ids`` is anything but an iterable
                of strings, or ``where`` is a filter without a condition, which every document matches.
            WriterBusy: if another writer holds the index for longer than the timeout.
        """
        return self._delete(ids, where, dry_run)

    adelete = awaiting(delete)

    @blocking
    def documents(self, where: object = None, *, start: int = 0, limit: int | None = None) -> Flow[list[DocumentInfo]]:
        """The documents that match a filter, without their texts, in the order of their ids.

        Args:
            where: Filter on their metadata, as in ``retrieve``. Default: all documents.
            start: Number of documents to leave out, >= 0. Default: 0.
            limit: Most documents, >= 0. Default: any number.

        Raises:
            InvalidArgument: if ``where`` is no filter, or a number is out of its range.
        """
        first = check_whole("start", start, 0)
        end = None if limit is None else first + check_whole("limit", limit, 0)
        return self._list_documents(to_filter(where), slice(first, end))

    adocuments = awaiting(documents, reads=True)

    @blocking
    def values(self, key: str | None = None) -> Flow[list[tuple[Any, int]]]:
        """The values of a metadata key, each with its number of documents, most frequent first, to offer them as filters.

        Values of lists count one by one. ``language`` is the detected one, as in filters.

        Args:
            key: The key. Default: None, the keys themselves are listed.

        Raises:
            InvalidArgument: if the key is no string.
        """
        if key is not None:
            check_text("key", key)
        documents = yield from self._list_documents(None, slice(0, None))
        return indexing.value_counts(documents, key)

    avalues = awaiting(values, reads=True)

    @blocking
    def get(self, document_id: str) -> Flow[Document]:
        """The document with its full text, as it was added.

        Raises:
            DocumentNotFound: if there is no document of that id.
            InvalidArgument: if the id is no string.
        """
        return self._get(checked_id("document_id", document_id))

    aget = awaiting(get, reads=True)

    @blocking
    def leaves(self, document_id: str | None = None) -> Flow[list[Passage]]:
        """The leaves of a document, or of all, by document id and position, as passages with score 0.

        Their ids are the leaves' ids in Chroma. A scoped view shows its own ids.

        Args:
            document_id: Id of a document. Default: all documents.

        Raises:
            DocumentNotFound: if there is no document of that id.
            InvalidArgument: if the id is no string.
        """
        return self._list_leaves(_checked_id(document_id))

    aleaves = awaiting(leaves, reads=True)

    @blocking
    def surroundings(
        self, passage: object, *, before: int | None = None, after: int | None = None, words: int | None = None
    ) -> Flow[Passage]:
        """A passage together with the text around it in its document, as one passage with score 0.

        Args:
            passage: A passage of any strategy, its LangChain Document or LlamaIndex node, or its id. If a host gave it
                another id, as LlamaIndex's CitationQueryEngine does, leafspan finds its place by ``doc_id``, ``start``
                and ``end`` in the metadata. Or a citation of a tool, such as ``"handbook.md:120-480"``; or what a model's
                answer has for one: Claude's ``search_result_location``, LangChain's ``citation``, or LlamaIndex's
                ``CitationBlock``, which name the leaves that have the cited text.
            before: Most leaves before it, >= 0. Default: 2, or any number if ``words`` is given.
            after: Most leaves after it, >= 0. Default: 2, or any number if ``words`` is given.
            words: Most words in all, >= 1: both sides grow evenly, leaf by leaf, until a leaf does not fit. The passage
                itself is returned even if it is longer. Default: any number.

        Raises:
            InvalidArgument: if an option is out of its range, or ``passage`` is not a passage, or is a summary.
            DocumentNotFound: if the document is not there any more, or was replaced since the passage was retrieved.
        """
        place, quoted = indexing.place_cited(passage)
        if quoted:
            cited = yield from self._surroundings(place, 0, 0, None)
            if (at := cited.text.find(quoted)) >= 0 and cited.start is not None:
                start = cited.start + at
                metadata = {"doc_id": cited.document_id, "start": start, "end": start + len(quoted)}
                place = SimpleNamespace(metadata=metadata)
        return (yield from self._surroundings(place, before, after, words))

    asurroundings = awaiting(surroundings, reads=True)

    @blocking
    def count(self) -> Flow[int]:
        """The number of documents."""
        return indexing.count_documents(self._store, self._scope)

    acount = awaiting(count, reads=True)

    @blocking
    def stats(self) -> Flow[Stats]:
        """The index in numbers."""
        return indexing.index_stats(self._store, self._embedder, self._sources.trees, self._settings, self._scope)

    astats = awaiting(stats, reads=True)

    @takes_call_options
    def retrieve(self, query: One, strategy: StrategyLike | None = None, **options: Unpack[CallOptions]) -> Passages:
        """The passages that a strategy finds for a query, best first.

        Passages of one result never share text. Equal scores are ordered by document id, then position. An empty index
        returns no passages, and the result's ``why_empty`` says why. Notebooks show the result as a picture.

        Args:
            query: A text, a vector, or a ``Query`` of both. None for a strategy that needs no query.
            strategy: A strategy, its name, such as ``"hybrid"``, or a mapping as ``Strategy.to_config`` returns.
                Default: the one in the index's configuration, or ``RelevantSegments()``.
            k: Most passages, >= 1. Default: 5, or any number if a budget is given or the strategy has a limit of its own,
                such as ``min_score``.
            candidates: Leaves to look at before merging, in [1, 10000]. Default: as many as it takes to fill the budget or
                to find all above ``min_score``; with ``k``, 4 * k and at least 24.
            budget: Most words in all passages together, >= 1, or tokens with ``Budget(512, count=...)``. The first
                passage that does not fit is cut to the leaves around its best hit that fit, and ends the list. A single
                leaf is returned even if it is longer than the budget. Default: any number.
            where: Filter on the documents' metadata, such as ``F("year") >= 2020``, or one in the dialect of Chroma,
                Haystack or LlamaIndex. Default: all documents.
            min_score: Lowest score of a passage: docs/scores.md says what scores mean. Without ``k`` or ``budget``, all
                that reach it are returned. Default: any.
            per_document: Most passages of one document, >= 1, so that others have room. Default: any number.
            as_of: Moment: a date (its start), a datetime, an ISO text, or ``"now"``. Only documents are searched that are
                valid then: ``valid_from`` <= ``as_of`` < ``valid_until`` in their metadata. Default: all documents.
            timeout: Seconds, > 0, after which the retrieval ends with an error. With a timeout,
                the retrieval runs in a thread, and so do your functions that it calls. Default: none; each wait for the
                index still ends within the ``timeout`` of ``Index.open``.

        Raises:
            InvalidArgument: if an option is out of its range, or a query is blank.
            IndexMismatch: if the index was made with another embedder.
            ConcurrentUpdate: if documents were replaced during every one of ten attempts to read them.
            RetrievalTimeout: if it takes longer than ``timeout``. The retrieval stops after the call that is running.
        """
        with self._asking([query], strategy, options) as retrieval:
            [passages] = run_within(retrieval, options.get("timeout"))
        return passages

    @takes_call_options
    async def aretrieve(self, query: One, strategy: StrategyLike | None = None, **options: Unpack[CallOptions]) -> Passages:
        """Like ``retrieve``."""
        with self._asking([query], strategy, options) as retrieval:
            [passages] = await arun_within(retrieval, options.get("timeout"))
        return passages

    @takes_call_options
    def retrieve_many(
        self, queries: Sequence[One], strategy: StrategyLike | None = None, **options: Unpack[CallOptions]
    ) -> list[Passages]:
        """What ``retrieve`` finds for each of several queries, in one search. The options are the same.

        Raises:
            InvalidArgument: if ``queries`` is no list. Otherwise as for ``retrieve``.
        """
        with self._asking(queries, strategy, options, several=True) as retrieval:
            return run_within(retrieval, options.get("timeout"))

    @takes_call_options
    async def aretrieve_many(
        self, queries: Sequence[One], strategy: StrategyLike | None = None, **options: Unpack[CallOptions]
    ) -> list[Passages]:
        """Like ``retrieve_many``."""
        with self._asking(queries, strategy, options, several=True) as retrieval:
            return await arun_within(retrieval, options.get("timeout"))

    def as_strategy(
        self,
        strategy: StrategyLike | None = None,
        *,
        k: int | None = None,
        candidates: int | None = None,
        budget: int | Budget | None = None,
        where: object = None,
        min_score: float | None = None,
        per_document: int | None = None,
        as_of: date | str | None = None,
    ) -> OtherIndex:
        """A strategy that searches here, for a retrieval from another index or without an index.

        With it, ``Ensemble``, ``Router``, ``FollowReferences`` and other strategies that take passages of other sources
        can search several indexes together. A passage keeps its id, text and score. Its metadata are its document's,
        with ``doc_id``, ``start``, ``end``, ``title`` and the like added. Its ``kind`` is ``"text"`` or ``"summary"``.
        All queries of a call are searched here at once, with the filter of the call.

        The options are ``retrieve``'s options, and apply to the search here. By default ``k`` is as many as the call
        needs. ``where`` applies together with the call's filter. A scoped view that asks shows only passages that match
        its own filter.

        Raises:
            InvalidArgument: if an option is out of its range.
        """
        limits = Limits.of(k, candidates, budget, where, min_score, per_document, as_of)
        made = at_least(self._strategy_of(strategy), min_score)
        return OtherIndex(self, made, k, candidates, limits.budget, limits.where, per_document, limits.as_of)

    @blocking
    def build_tree(
        self,
        *,
        summarizer: object = None,
        clusterer: Clusterer | None = None,
        max_layers: int = 5,
        across_documents: bool = False,
        progress: bool | None = None,
    ) -> Flow[TreesBuilt]:
        """Build a RAPTOR tree of each document, for the strategy ``Tree``.

        Leaves that are alike are clustered, each cluster is summarised, and so are the summaries, until one is left or
        there are ``max_layers``. Documents whose trees are up to date are skipped, so run it again after adding or
        deleting. Each summary of a language model is stored at once. So a build that was killed continues where it
        stopped, and for a changed document only the changed summaries are asked for.

        Args:
            summarizer: A LangChain chat model or LLM, a LlamaIndex LLM, a function from a list of texts to their
                summary, or an ``Abstractive`` with its options. Default: ``Extractive()``, which chooses sentences
                without a language model.
            clusterer: What groups leaves and summaries: ``Bisecting()`` or a function (see ``Clusterer``).
                Default: ``Bisecting()``.
            max_layers: Most layers of a document's tree, and most layers above the trees, >= 1. Default: 5.
            across_documents: Whether to add layers above the trees, over all documents of the index or view. A
                scoped view shows the layers that it has built itself: see ``scoped``. Default: False.
            progress: Whether to show a bar. Default: only in a terminal or a notebook.

        Raises:
            InvalidArgument: if an option is out of its range.
            FunctionFailed: if a clusterer fails, or does not return clusters. Failed summaries are listed in the
                result; if the first ten fail, the others are not tried.
            IndexMismatch: if existing trees were built with another summarizer, and ``summarizer`` is not given.
            WriterBusy: if another writer holds the index for longer than the timeout.

        Source: Sarthi et al., RAPTOR, ICLR 2024.
        """
        return self._build(summarizer, clusterer, max_layers, across_documents, progress)

    abuild_tree = awaiting(build_tree)

    @blocking
    def summaries(self, document_id: str | None = None, *, leaves: bool = False) -> Flow[list[Passage]]:
        """The summaries of a document's tree, or all that are visible, as passages with score 0.

        They come by document, top layer first. The summaries of a document that has changed since its tree was built are
        not visible, nor are those above them. Notebooks show the list as trees, which can be opened layer by layer.

        Args:
            document_id: Id of a document. Default: all documents.
            leaves: Whether to list the leaves as well, after all summaries, so that trees can be opened down to their
                texts. Default: False.

        Raises:
            DocumentNotFound: if there is no document of that id.
            InvalidArgument: if the id is no string.
        """
        document_id = _checked_id(document_id)
        check_flag("leaves", leaves)
        summaries = trees.Summaries((yield from self._list_summaries(document_id)))
        if leaves and summaries:
            summaries += yield from self._list_leaves(document_id)
        return summaries

    asummaries = awaiting(summaries, reads=True)

    @blocking
    def warm(self) -> Flow[None]:
        """Load and build what the first query would: call it when a server starts, so that no user waits for it.

        It loads the embedder and checks that the index was made with it, and brings the copies of words, texts and
        vectors up to date, including the trees' copies. Copies of many leaves show a bar in a terminal or a notebook. If
        everything is loaded, it returns at once. Documents that are added later are loaded by the next query.

        Raises:
            IndexMismatch: if the index was made with another embedder.
            ConcurrentUpdate: if documents were replaced during every one of ten attempts to read them.
        """
        return warm(self._sources)

    awarm = awaiting(warm)

    @contextmanager
    def _asking(
        self, queries: Any, strategy: StrategyLike | None, options: CallOptions, *, several: bool = False
    ) -> Iterator[Flow[list[Passages]]]:
        """A context with a retrieval, which is recorded."""
        check_timeout(options.get("timeout"))
        chosen, limits = self._strategy_of(strategy), self._limits(options)
        if self._sources.unicode_errors == "replace":
            queries = without_surrogates(queries)
        with recorded(chosen, several=several, private=self.is_private) as recording:
            yield self._retrieve(queries, chosen, limits, recording)

    def _vectors(self, texts: Sequence[str], *, questions: bool) -> Flow[list[list[float]]]:
        """Embed texts for a host's own filters. Nothing is stored."""
        yield from self._embedder.confirm(record=False)
        embedder = self._embedder.embedder
        made = yield embedder.embed_queries(texts) if questions else embedder.embed_documents(texts)
        return check_vectors(made, texts, name=embedder.name).tolist()  # type: ignore[no-any-return]

    def _limits(self, options: CallOptions) -> Limits:
        return self._sources.defaults.limits_of(options)

    def _strategy_of(self, strategy: StrategyLike | None) -> Strategy:
        """The strategy of a call."""
        return self._sources.defaults.strategy_of(strategy)

    def _target(self) -> WriteTarget:
        return indexing.WriteTarget(
            self._store,
            self._settings,
            self._embedder,
            self._embed,
            self._scope,
            self._timeout,
            self._sources.unicode_errors,
            self._forget,
        )

    def _ingest_rules(self, volatile_keys: Collection[str], *, dry_run: bool = False) -> IngestRules:
        """How one call reads and checks documents."""
        check = partial(check_document, volatile_keys=checked_keys(volatile_keys))
        if (scope := self._scope) is None:
            return indexing.IngestRules(FileReading(check, self._store.home))

        def check_scope(document: Any, *, flatten_metadata: bool = False) -> Document:
            """Check the scope, too, so that a sync skips a file of another tenant, like any file that cannot be stored."""
            return scope.checked(check(document, flatten_metadata=flatten_metadata))

        return indexing.IngestRules(FileReading(check_scope, self._store.home))

    def _list_documents(self, where: Where | None, part: slice) -> Flow[list[DocumentInfo]]:
        return indexing.list_documents(self._store, where, part, self._scope)

    def _get(self, document_id: str) -> Flow[Document]:
        return indexing.get_document(self._store, document_id, self._scope)

    def _list_leaves(self, document_id: str | None) -> Flow[list[Passage]]:
        return indexing.list_leaves(self._store, document_id, self._scope)

    def _surroundings(self, passage: object, before: int | None, after: int | None, words: int | None) -> Flow[Passage]:
        return indexing.surrounding_text(self._store, passage, before, after, words, self._scope)

    def _list_summaries(self, document_id: str | None) -> Flow[list[Passage]]:
        return trees.list_summaries(self._store, self._sources.trees, document_id, self._scope)

    def _delete(self, ids: Iterable[str] | None, where: object, dry_run: bool) -> Flow[list[str]]:
        check_flag("dry_run", dry_run)
        if (ids is None) == (where is None):
            raise InvalidArgument(f"give either ids or where, got ids={shown(ids)} and where={shown(where)}")
        if ids is None:
            return indexing.delete_matching(self._target(), where, dry_run=dry_run)
        return indexing.delete_documents(self._target(), ids, dry_run=dry_run)

    def _sync(self, source: object, options: SyncOptions) -> Flow[Synced]:
        rules = self._ingest_rules(options.volatile_keys, dry_run=options.dry_run)
        return indexing.sync(self._target(), source, options, rules)

    def _forget(self, ids: Sequence[str]) -> Flow[None]:
        return trees.forget_documents(self._sources.trees, ids, self._timeout)

    def _build(
        self,
        summarizer: object,
        clusterer: Clusterer | None,
        max_layers: int,
        across_documents: bool,
        progress: bool | None,
    ) -> Flow[TreesBuilt]:
        plan = trees.Plan(
            trees.Bisecting() if clusterer is None else clusterer,
            trees.to_summarizer(summarizer),
            summarizer is not None,
            max_layers,
            across_documents,
        )
        options = trees.BuildOptions(self._embed, self._settings.title_weight, self._scope, self._timeout, progress)
        return trees.build_trees(self._sources.trees, plan, self._store, options)

    def _ingest(self, documents: Iterable[object] | object, options: AddOptions) -> Flow[Added]:
        return indexing.ingest(self._target(), documents, options, self._ingest_rules(options.volatile_keys))

    def _retrieve(self, query: Any, strategy: Strategy, limits: Limits, recording: Recording) -> Flow[Any]:
        return recording.of(retrieve_from_index(self._sources, query, strategy, limits, self._scope), query)


def _checked_id(document_id: object) -> str | None:
    return None if document_id is None else checked_id("document_id", document_id)


def _opened_again(reopen: Callable[[], View], scope: Scope | None) -> View:
    """Return a view as it was before it was pickled."""
    index = reopen()
    return index if scope is None else View(index._sources, index._settings, index._timeout, scope)

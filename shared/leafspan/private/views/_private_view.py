"""A view of an index that shows pseudonyms instead of names, addresses and numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeVar

from leafspan.checks import shown
from leafspan.documents import IndexSettings, checked_keys, with_language
from leafspan.errors import InvalidArgument, LeafspanError
from leafspan.filters import Where, to_filter, valid_documents
from leafspan.flows import Call, Flow, arun, run
from leafspan.indexing import Added, AddOptions, DocumentInfo, IngestRules, Synced, SyncOptions
from leafspan.private.pseudonyms import Vault
from leafspan.private.views._intake import PrivateIntake
from leafspan.private.views._privacy import Privacy, hidden, hidden_message, records_of, settle_records
from leafspan.private.views._questions import Asking, MaskedStrategy
from leafspan.private.views._showing import Showing, everything_in
from leafspan.retrieval import CallOptions, Limits, Passages, Recording, Sources, retrieve_from_index
from leafspan.store import Reader, Scope, read_consistently
from leafspan.strategies import Strategy, StrategyLike
from leafspan.trees import Clusterer, TreesBuilt
from leafspan.values import Document, Passage, run_of_id
from leafspan.view import View

T = TypeVar("T")

_ATTEMPTS = 3


class PrivateView(View):
    """An index, or a scoped view of one, with pseudonyms instead of names, addresses and numbers.

    It masks documents, questions, filters and ids before the index or a model gets them. Results stay masked, unless the
    view reveals them. Make one with ``private_view``. Every strategy and every retriever of a host works over it.
    """

    def __init__(
        self,
        sources: Sources,
        settings: IndexSettings,
        timeout: float,
        privacy: Privacy,
        scope: Scope | None = None,
        originals: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(sources, settings, timeout, scope)
        self._privacy = privacy
        self._originals = originals or {}  # of the pseudonyms in the scope's filter

    @property
    def vault(self) -> Vault:
        """The vault that maps pseudonyms back."""
        return self._privacy.vault

    @property
    def is_private(self) -> bool:
        """Whether names and numbers are pseudonyms in this view: always True."""
        return True

    def revealing(self, reveal: bool | Collection[str] = True) -> PrivateView:
        """Return the same view for readers who may see more or less: see ``reveal`` of ``private_view``.

        Raises:
            InvalidArgument: if ``reveal`` is neither True nor False nor a list of kinds.
        """
        privacy = self._privacy.revealing(reveal)
        return PrivateView(self._sources, self._settings, self._timeout, privacy, self._scope, self._originals)

    def clean(self) -> int:
        """Delete the vault's records of documents that are no longer in the index, such as those deleted without this view.

        It reads all documents of the index. While another private view adds or deletes documents, it deletes no records.

        Returns:
            The number of documents whose records were deleted.
        """
        return run(self._hiding(self._clean()))

    async def aclean(self) -> int:
        """Like ``clean``."""
        return await arun(self._hiding(self._clean()))

    def _what_it_shows(self) -> tuple[object, ...]:
        return (*super()._what_it_shows(), self._privacy)

    def scoped(self, where: object, *, share_statistics: bool = False) -> View:
        """Return a private view of the documents that match a filter: see ``View.scoped``. The filter is masked, too."""
        return run(self._hiding(self._narrowed(where, share_statistics)))

    def _narrowed(self, where: object, share_statistics: bool) -> Flow[View]:
        asking = Asking(self._privacy.disguise, self._masked_id)
        masked = yield Call(lambda: asking.where(to_filter(where)))
        scope = super().scoped(masked, share_statistics=share_statistics)._scope
        originals = {**self._originals, **asking.originals}
        return PrivateView(self._sources, self._settings, self._timeout, self._privacy, scope, originals)

    def _hiding(self, flow: Flow[T]) -> Flow[T]:
        """Run the flow, and remove clear texts from its errors."""
        try:
            return (yield from flow)
        except LeafspanError as error:
            problem = error
        raise (yield Call(hidden, (problem, self._privacy.disguise)))

    def _masked_id(self, document_id: str) -> str:
        """The masked id of a document: the one it was added with, or else the one that masking gives."""
        masked_ids: dict[str, str] = self.vault.masked_ids(self._store.id, [document_id])
        return masked_ids.get(document_id) or self._privacy.disguise.name(document_id)

    def _masked_filter(self, where: object) -> Any:
        return Asking(self._privacy.disguise, self._masked_id).where(to_filter(where))

    def _showing(self) -> Showing:
        return Showing(self._privacy, self._store, self._scope)

    # Input

    def _ingest_rules(self, volatile_keys: Collection[str], *, dry_run: bool = False) -> IngestRules:
        return self._private_intake(checked_keys(volatile_keys), dry_run=dry_run).rules

    def _private_intake(self, volatile_keys: Collection[str] = (), *, dry_run: bool = False) -> PrivateIntake:
        scope = self._scope
        return PrivateIntake(
            self._privacy,
            self._store.id,
            scope.stored_ids if scope else lambda id_: [id_],
            self._store.home,
            self._originals,
            admit=scope.checked if scope else lambda document: document,
            save=not dry_run,
            volatile_keys=volatile_keys,
        )

    def _ingest(self, documents: Iterable[object] | object, options: AddOptions) -> Flow[Added]:
        return self._hiding(self._writing(super()._ingest(documents, options), self._shown_added))

    def _sync(self, source: object, options: SyncOptions) -> Flow[Synced]:
        return self._hiding(self._masked_sync(source, options))

    def _masked_sync(self, source: object, options: SyncOptions) -> Flow[Synced]:
        within, key = options.within, options.source_key
        if within is not None and not isinstance(within, str):
            within = yield Call(self._masked_filter, (within,))
        if isinstance(key, str):
            key = yield Call(self._privacy.disguise.name, (key,))
        options = replace(options, within=within, source_key=key)
        return (yield from self._writing(super()._sync(source, options), self._shown_synced))

    def _delete(self, ids: Iterable[str] | None, where: object, dry_run: bool) -> Flow[list[str]]:
        return self._hiding(self._masked_delete(ids, where, dry_run))

    def _masked_delete(self, ids: Iterable[str] | None, where: object, dry_run: bool) -> Flow[list[str]]:
        clear_ids: dict[str, str] = {}
        if where is not None:
            where = yield Call(self._masked_filter, (where,))
        if isinstance(ids, Iterable) and not isinstance(ids, str) and getattr(ids, "ndim", None) != 0:
            listed = list(ids)
            masked = yield Call(lambda: [self._masked_id(id_) if isinstance(id_, str) else id_ for id_ in listed])
            clear_ids = {new: old for new, old in zip(masked, listed, strict=True) if isinstance(old, str)}
            ids = masked
        return (yield from self._writing(super()._delete(ids, where, dry_run), partial(self._shown_deleted, clear_ids)))

    def _forget(self, ids: Sequence[str]) -> Flow[None]:
        """Before documents are deleted, mark their records, so that they are deleted when the documents are gone."""
        rows = yield from read_consistently(self._store, partial(Reader.rows, ids=list(ids)))
        if records := records_of(rows):
            yield Call(self.vault.unsettle, (records,), finish=True)
        yield from super()._forget(ids)

    def _writing(self, flow: Flow[T], shown: Any) -> Flow[T]:
        """Run a flow that writes, with the writers' lock. Then delete the records that are no longer needed."""
        lock = self.vault.writers_lock()
        try:
            yield Call(lock.share, (self.vault.timeout,), finish=True)
            result = yield from flow
        finally:
            lock.release()
        result = yield from shown(result)  # before the records that it needs are deleted
        with suppress(LeafspanError):  # the documents are written; the next writer cleans up
            yield from settle_records(self._store, self.vault)
        return result

    def _clean(self) -> Flow[int]:
        yield Call(self.vault.unsettle_all, (self._store.id,))
        return (yield from settle_records(self._store, self.vault))

    # Questions

    def _vectors(self, texts: Sequence[str], *, questions: bool) -> Flow[list[list[float]]]:
        masked = yield Call(lambda: [self._privacy.disguise.name(text) for text in texts])
        return (yield from self._hiding(super()._vectors(masked, questions=questions)))

    def _limits(self, options: CallOptions) -> Limits:
        return self._checked(partial(super()._limits, options))

    def _strategy_of(self, strategy: StrategyLike | None) -> Strategy:
        return self._checked(partial(super()._strategy_of, strategy))

    def _checked(self, check: Callable[[], T]) -> T:
        """Return what ``check`` returns. Its error is raised without hidden texts and without its cause."""
        problem: LeafspanError
        try:
            return check()
        except LeafspanError as error:
            problem = error
        raise hidden(problem, self._privacy.disguise)

    def _retrieve(self, query: Any, strategy: Strategy, limits: Limits, recording: Recording) -> Flow[Any]:
        return self._hiding(self._masked_retrieve(query, strategy, limits, recording))

    def _masked_retrieve(self, query: Any, strategy: Strategy, limits: Limits, recording: Recording) -> Flow[Any]:
        asking = Asking(self._privacy.disguise, self._masked_id)
        where = valid_documents(limits.where, limits.as_of)
        masked, where = yield Call(lambda: (asking.query(query), asking.where(where)))
        limits = replace(limits, where=where, as_of=None, private=True)
        masked_strategy = MaskedStrategy(strategy, asking)

        def attempt() -> Flow[tuple[Any, Showing]]:
            recording.note(masked, None)
            results = yield from retrieve_from_index(self._sources, masked, masked_strategy, limits, self._scope)
            rows: list[list[Passage]] = [*results]
            if not self._privacy.shows_all:
                rows = yield Call(lambda: [[asking.outside(passage) for passage in row] for row in rows])
            if recording.is_on:  # telemetry gets only pseudonyms, even if this view reveals their originals
                noted = yield Call(lambda: [[asking.masked(passage) for passage in row] for row in rows])
                recording.note(masked, noted)
            showing = self._showing()
            yield from showing.load(*everything_in([passage for row in rows for passage in row]), asking.originals)
            shown = yield Call(
                lambda: [
                    Passages(
                        (self._traced(showing.passage(each), asking) for each in row),
                        question=None if result.question is None else showing.words(result.question),
                        analyzer=result.analyzer,
                        why_empty=result.why_empty,
                    )
                    for result, row in zip(results, rows, strict=True)
                ]
            )
            return shown, showing

        return (yield from self._with_records(attempt))

    def _with_records(self, attempt: Callable[[], Flow[tuple[T, Showing]]]) -> Flow[T]:
        """Read and restore; repeat this if a document was replaced or deleted before its record was read."""
        for _ in range(_ATTEMPTS - 1):
            result, showing = yield from attempt()
            if not showing.lacks_records:
                return result
        return (yield from attempt())[0]

    def _traced(self, passage: Passage, asking: Asking) -> Passage:
        """The passage with a masked trace, which may quote phrasings of the question."""
        return passage if self._privacy.shows_all else replace(passage, trace=passage.trace.with_texts(asking.text))

    def _surroundings(self, passage: object, before: int | None, after: int | None, words: int | None) -> Flow[Passage]:
        return self._hiding(self._masked_surroundings(passage, before, after, words))

    def _masked_surroundings(
        self, passage: object, before: int | None, after: int | None, words: int | None
    ) -> Flow[Passage]:
        target = yield from self._masked_passage(passage)
        surroundings = super()._surroundings

        def passages() -> Flow[list[Passage]]:
            return [(yield from surroundings(target, before, after, words))]

        return (yield from self._with_records(lambda: self._shown_passages(passages())))[0]

    def _masked_passage(self, passage: object) -> Flow[object]:
        """Convert a passage that this view has shown to the index's own passage, by its id or its citation."""
        id_ = passage if isinstance(passage, str) else getattr(passage, "node_id", None) or getattr(passage, "id", None)
        if isinstance(id_, str) and run_of_id(id_) is not None:
            asking = Asking(self._privacy.disguise, self._masked_id)
            return (yield Call(asking.passage_id, (id_,)))
        metadata = getattr(passage, "metadata", None)
        cited = metadata.get("doc_id") if isinstance(metadata, Mapping) else None
        if not isinstance(cited, str) or not isinstance(metadata, Mapping):
            return passage
        document_id = yield Call(self._masked_id, (cited,))
        places = {name: metadata.get(name) for name in ("start", "end")}
        showing = self._showing()
        yield from showing.load([], documents=[document_id])
        inward = {name: showing.inward(document_id, place) for name, place in places.items()}
        return SimpleNamespace(metadata={"doc_id": document_id, **inward})

    def _build(
        self,
        summarizer: object,
        clusterer: Clusterer | None,
        max_layers: int,
        across_documents: bool,
        progress: bool | None,
    ) -> Flow[TreesBuilt]:
        flow = super()._build(summarizer, clusterer, max_layers, across_documents, progress)
        return self._hiding(self._shown_trees(flow))

    def _shown_trees(self, flow: Flow[TreesBuilt]) -> Flow[TreesBuilt]:
        built = yield from flow
        showing = self._showing()
        yield from showing.load([], texts=[each.tree for each in built.failed], documents=built.built)
        failed = tuple(replace(each, tree=showing.id(each.tree)) for each in built.failed)
        return replace(built, built=tuple(map(showing.id, built.built)), failed=failed)

    # Output

    def _list_leaves(self, document_id: str | None) -> Flow[list[Passage]]:
        return self._hiding(self._shown_list(super()._list_leaves, document_id))

    def _list_summaries(self, document_id: str | None) -> Flow[list[Passage]]:
        return self._hiding(self._shown_list(super()._list_summaries, document_id))

    def _shown_list(self, listed: Any, document_id: str | None) -> Flow[list[Passage]]:
        if isinstance(document_id, str):
            document_id = yield Call(self._masked_id, (document_id,))
        return (yield from self._with_records(lambda: self._shown_passages(listed(document_id))))

    def _shown_passages(self, flow: Flow[list[Passage]]) -> Flow[tuple[list[Passage], Showing]]:
        passages, showing = (yield from flow), self._showing()
        yield from showing.load(*everything_in(passages))
        return [showing.passage(passage) for passage in passages], showing

    def _get(self, document_id: str) -> Flow[Document]:
        return self._hiding(self._shown_get(super()._get, document_id))

    def _shown_get(self, get: Any, document_id: str) -> Flow[Document]:
        if isinstance(document_id, str):
            document_id = yield Call(self._masked_id, (document_id,))

        def attempt() -> Flow[tuple[Document, Showing]]:
            document, showing = (yield from get(document_id)), self._showing()
            yield from showing.load([document.metadata])
            return showing.document(document), showing

        return (yield from self._with_records(attempt))

    def _list_documents(self, where: Where | None, part: slice) -> Flow[list[DocumentInfo]]:
        listed = super()._list_documents

        def attempt() -> Flow[tuple[list[DocumentInfo], Showing]]:
            infos, showing = (yield from listed(None, slice(0, None))), self._showing()
            yield from showing.load([info.metadata for info in infos])
            kept = [
                info
                for info in map(showing.info, infos)
                if where is None or where.matches(with_language(info.metadata, info.language), info.id)
            ]
            return sorted(kept, key=lambda info: info.id)[part], showing

        return self._hiding(self._with_records(attempt))

    def _shown_added(self, added: Added) -> Flow[Added]:
        names = yield from self._shown_ids([*added.added, *added.replaced])
        return replace(
            added,
            added=tuple(names[id_] for id_ in added.added),
            replaced=tuple(names[id_] for id_ in added.replaced),
            skipped=self._shown_skipped(added.skipped),
            left_out=self._shown_left_out(added.left_out),
        )

    def _shown_synced(self, synced: Synced) -> Flow[Synced]:
        lists = {name: getattr(synced, name) for name in ("added", "replaced", "deleted", "unchanged")}
        names = yield from self._shown_ids([id_ for ids in (*lists.values(), *synced.moved) for id_ in ids])
        moved = tuple((names[new], names[old]) for new, old in synced.moved)
        shown = {name: tuple(names[id_] for id_ in ids) for name, ids in lists.items()}
        skipped, left_out = self._shown_skipped(synced.skipped), self._shown_left_out(synced.left_out)
        return replace(synced, **shown, moved=moved, skipped=skipped, left_out=left_out)

    def _shown_deleted(self, clear_ids: Mapping[str, str], deleted: list[str]) -> Flow[list[str]]:
        names = yield from self._shown_ids([id_ for id_ in deleted if id_ not in clear_ids])
        return [clear_ids.get(id_) or names[id_] for id_ in deleted]

    def _shown_ids(self, ids: Sequence[str]) -> Flow[dict[str, str]]:
        """The documents' ids as this view shows them, by masked id."""
        showing = self._showing()
        yield from showing.load([], texts=ids, documents=ids)
        return {id_: showing.id(id_) for id_ in ids}

    def _shown_left_out(self, left_out: Mapping[str, int]) -> dict[str, int]:
        """The numbers of files that were not read. The part after the dot in a file's name may be a name, and is masked."""
        shown: Counter[str] = Counter()
        for kind, count in left_out.items():
            shown[kind if self._privacy.shows_all else self._privacy.disguise.name(kind)] += count
        return dict(shown)

    def _shown_skipped(self, skipped: Any) -> Any:
        """Files that were not read. Their names and the reasons quote what is in them."""
        if self._privacy.shows_all:
            return skipped
        disguise = self._privacy.disguise
        return tuple(
            replace(each, path=disguise.name(each.path), reason=hidden_message(each.reason, disguise)) for each in skipped
        )


def private_view(
    index: View,
    vault: Vault,
    *,
    finder: Any = None,
    known: Mapping[str, Iterable[str | Sequence[str]]] | None = None,
    reveal: bool | Collection[str] = False,
    clear: Collection[str] = (),
    entities_field: str = "entities",
) -> PrivateView:
    """Return a view of the index that shows pseudonyms instead of names, addresses and numbers: see docs/privacy.md.

    The view masks what you add before the embedder, the index or a language model gets it: texts, titles, metadata, ids
    and file names. It masks questions and filters, too. The originals go into the vault, encrypted.

    Args:
        index: The whole index. For a part of it, write ``private_view(index, vault).scoped(...)``.
        vault: Maps pseudonyms back, opened with ``Vault.open``. Each tenant needs a separate vault.
        finder: Finds entities: a function from a text to (start, end, kind), an ``AnalyzerEngine`` of Presidio,
            or a list of these. Default: ``Patterns()``, Presidio's recognisers of addresses and numbers that follow
            a pattern. They find no names.
        known: Names, addresses and other terms to find, by kind: ``{"PERSON": ["Alice Smith"]}``. An inner list has
            several spellings of one entity. Default: none.
        reveal: Whether to restore originals in the output, or the kinds to restore, such as ``["PERSON"]``. Default: False.
        clear: Metadata keys whose values are not masked, such as numbers that look like phone numbers.
            Default: none.
        entities_field: Metadata key under which each document has a list of its pseudonyms. Default: ``"entities"``.

    Raises:
        InvalidArgument: if an option has the wrong type, or no finder finds a kind in ``reveal``.
        MissingExtra: if the default finder is used, but Presidio is not installed.
    """
    if not isinstance(index, View) or index.is_private or index._scope is not None:
        raise InvalidArgument(
            f"index must be an Index, got {shown(index)}: for a part of it, write private_view(index, vault).scoped(...)"
        )
    privacy = Privacy.of(vault, finder, known, reveal, clear, entities_field)
    return PrivateView(index._sources, index._settings, index._timeout, privacy)

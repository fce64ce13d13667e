"""The index: documents go in, passages come out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import unwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_args

from leafspan import indexing
from leafspan.checks import check_choice, check_flag, shown, with_option_names
from leafspan.configuration import Config
from leafspan.documents import TREE_SETTINGS, IndexSettings, OpenOptions
from leafspan.embedding import CheckedEmbedder, EmbeddingCache, default_embedder, find_cache, to_embedder
from leafspan.engines import connect, is_address, is_awaited
from leafspan.errors import DamagedIndex, InvalidArgument, StorageFailed, StorageReadOnly, WriterBusy
from leafspan.flows import Flow, arun, awaiting, blocking, driver_awaits, parameters_of, run
from leafspan.indexing import adopting
from leafspan.lexical import Analysis, BM25Settings
from leafspan.retrieval import Defaults, Sources, import_numpy
from leafspan.search import SearchIndexes
from leafspan.splitting import Splitter
from leafspan.store import DamageRule, OnDamage, has_index, open_store, record_embedder
from leafspan.text import UnicodeErrors
from leafspan.trees import Trees, check_summary
from leafspan.view import View

if TYPE_CHECKING:
    from leafspan.indexing import Copied, Finding, Reembedded
    from leafspan.indexing.adopting import Adopted

TREES = ".tree"  # the suffix of the name under which an index's trees are stored

MOST_NAME = 495
"""Most characters of an index's name. Its trees and collections have longer names, and Chroma allows 512 characters."""
_FEW_TO_EMBED = 5_000  # largest number of texts to embed again when an index is opened, if embedding may cost money


@dataclass(frozen=True, slots=True)
class _Opening:
    """The options of one ``Index.open``. It can be pickled, so that another process can open the index again."""

    path: str | Path | None
    client: Any
    name: str
    embedder: Any
    options: OpenOptions
    cache_dir: str | Path | None = None
    embedding_cache: bool | EmbeddingCache | None = None
    create: bool = True
    read_only: bool = False
    timeout: float = 30.0
    freshness: float = 0.0
    on_damage: OnDamage = "raise"
    unicode_errors: UnicodeErrors = "strict"
    suggest: bool = False  # whether to warn of a collection of the same name that leafspan did not make
    defaults: Defaults = field(default_factory=Defaults)

    def configured(self, config: Config | str | Path | Mapping[str, Any] | None) -> _Opening:
        """Return the same with options of a configuration that the call does not give."""
        wanted = Config.of(config)
        return replace(
            self,
            embedder=wanted.embedder if self.embedder is None else self.embedder,
            options=wanted.options_with(self.options),
            suggest=True,
            defaults=wanted.defaults(),
        )


class Index(View):
    """Documents that are cut into leaves and stored in Chroma, PostgreSQL or Qdrant. Open one with ``Index.open``.

    Each method has an asynchronous twin whose name starts with ``a``, which does not block the event loop. An index may
    be used by many threads. It can be closed, or used in a ``with`` statement.
    """

    _opening: _Opening  # how it was opened

    @classmethod
    @with_option_names
    @blocking
    def open(
        cls,
        path: str | Path | None = None,
        *,
        client: Any = None,
        name: str = "kb",
        embedder: Any = None,
        splitter: Splitter | None = None,
        context_sentences: int | None = None,
        title_weight: float | None = None,
        analyzer: Analysis | None = None,
        bm25: BM25Settings | None = None,
        config: Config | str | Path | Mapping[str, Any] | None = None,
        cache_dir: str | Path | None = None,
        embedding_cache: bool | EmbeddingCache | None = None,
        create: bool = True,
        read_only: bool = False,
        timeout: float = 30.0,
        freshness: float = 0.0,
        on_damage: OnDamage = "raise",
        unicode_errors: UnicodeErrors = "strict",
    ) -> Flow[Self]:
        """Open the index in a folder, in a database, or behind a client (a Chroma server, Chroma Cloud, in memory).

        Args:
            path: Folder of the index, or the address of one behind a Chroma server, ``"http://host:port/name"``, or of a
                PostgreSQL database, ``"postgresql://user@host/database"``. Give either this or ``client``.
            client: A client of chromadb or Qdrant, a pool of psycopg, or an engine of your own (see
                docs/write-an-engine.md).
            name: Name of the index, whose leaves are the Chroma collection ``{name}.leaves``, so that a folder can hold
                several. Default: ``"kb"``.
            embedder: A LangChain Embeddings, a LlamaIndex BaseEmbedding, a Chroma EmbeddingFunction, a
                ``SentenceTransformer`` (or another model with ``encode``), a function from texts to vectors, an
                ``Embedder``, or a name: ``"minilm"``, ``"e5"``, ``"wordllama"``, or ``"package.module:attribute"``,
                which is imported. Default: ``"minilm"`` or ``"e5"`` if the index was made with it, otherwise the bundled
                WordLlama.
            splitter: How documents are cut into leaves: for a splitter of LangChain or LlamaIndex, ``splitter_from`` of
                ``langchain_ext`` or ``llamaindex_ext``. Default: ``HierarchicalSplitter()``.
            context_sentences: Number of sentences from the previous and the next leaf to index with each leaf, >= 0.
                Default: 0.
            title_weight: Weight, >= 0, of the title and the headings in a leaf's vector, beside 1 for its text.
                Default: 0.3.
            analyzer: How texts become the terms that BM25 counts: an ``Analyzer``, or a function from a text to a list of
                terms, which gets title, headings and text one by one. Default: ``Analyzer()``, which reads each document in
                its own language.
            bm25: k1, b and the variant of BM25. Default: ``BM25Settings()``.
            config: A ``Config``, the path of a YAML or JSON file, or a mapping. It sets each of the six options above
                that you do not give here, and the strategy and limits for a ``retrieve`` without them. Default: none.
            cache_dir: Folder for the copies that leafspan makes of an index behind a client. Default: in the user's
                cache folder.
            embedding_cache: Whether to keep vectors, so that no text is embedded twice, even after a failure; or an
                ``EmbeddingCache``, which sets folder and size. Default: on, except for embedders that are known to be
                local: WordLlama, and models with ``encode``.
            create: Whether to create the index if it does not exist. Default: True.
            read_only: Whether to only read: leafspan writes nothing in the folder, as if it could not be written. So
                what ``warm()`` would build must already be there. Default: False.
            timeout: Seconds, >= 0, to wait for another writer, or for one answer of a server, which gets at least a second.
                Default: 30.
            freshness: Seconds, >= 0, during which leafspan does not ask a server or database again whether the index
                has changed. Asking takes one round trip. Default: 0, each question asks.
            on_damage: How to treat damaged documents. ``"raise"``: an error when leafspan meets one, or when a result
                would be incomplete without it. ``"skip"``: leave the document out, name it in ``trace.left_out``, and
                warn once. Default: ``"raise"``.
            unicode_errors: How to treat a document or question with half of a surrogate pair, as broken converters
                write it. ``"strict"``: an error. ``"replace"``: U+FFFD in its place. Default: ``"strict"``.

        Splitter, context_sentences, title_weight, analyzer and bm25 are fixed when the index is made. Leave them out to
        open it as it was made. If there is a Chroma collection of the same name that leafspan did not make, a warning
        says so. ``adopt`` makes an index of such a collection.

        Raises:
            InvalidArgument: if not exactly one of ``path`` and ``client`` is given, the client is asynchronous, or another
                option is out of its range.
            WriterBusy: if the index must be made, and another writer holds the folder for longer than the timeout.
            ServerTimeout: if a server does not answer within the timeout.
            StorageFailed: if a server cannot be reached, or what is stored cannot be opened.
            StorageReadOnly: if the folder cannot be written, and lacks the copies that questions need: call ``warm()``
                where it can be written.
            IndexNotFound: if there is no index, and ``create`` is False.
            DamagedIndex: if the index's stored settings are damaged.
            IndexMismatch: if the index was made with another splitter, weight, analyzer or format, or ``{name}.leaves`` or
                ``{name}.manifest`` is a collection that leafspan did not make. Another embedder raises the same, at the
                first embedding.
        """
        if is_awaited(client) and not (yield driver_awaits()):
            raise InvalidArgument(
                f"client must not be asynchronous here, got {shown(client)}: use `await Index.aopen(...)`"
            )
        options = OpenOptions(splitter, context_sentences, title_weight, analyzer, bm25)
        how = cache_dir, embedding_cache, create, read_only, timeout, freshness, on_damage, unicode_errors
        opening = _Opening(path, client, name, embedder, options, *how)
        return (yield from cls._open(opening.configured(config)))

    @classmethod
    @with_option_names
    @parameters_of(open)
    async def aopen(cls, *arguments: Any, **options: Any) -> Self:
        """Like ``open``. It also takes an asynchronous client, for which only the ``a...`` methods work."""
        return await arun(unwrap(cls.open)(cls, *arguments, **options))

    @classmethod
    def _open(cls, opening: _Opening) -> Flow[Self]:
        import_numpy()
        check_choice("unicode_errors", opening.unicode_errors, get_args(UnicodeErrors))
        check_flag("create", opening.create)
        check_flag("read_only", opening.read_only)
        create = opening.create and not opening.read_only
        rule = DamageRule.of(opening.on_damage)
        embedder = None if opening.embedder is None else to_embedder(opening.embedder)
        vectors = find_cache(opening.embedding_cache, embedder or default_embedder())
        path, client, name = yield from _reached(opening.path, opening.client, opening.name, opening.timeout)
        if create:
            yield from cls._check_new_name(path, client, name, opening.timeout)
        open_one = partial(
            open_store,
            path,
            client,
            timeout=opening.timeout,
            cache_dir=opening.cache_dir,
            read_only=opening.read_only,
            freshness=opening.freshness,
        )
        wanted = IndexSettings.made(opening.options).record()
        store = yield from open_one(name, settings=wanted, create=create, suggest=opening.suggest, damage=rule)
        settings = IndexSettings.recorded(store.settings, opening.options)
        open_trees = partial(open_one, f"{store.name}{TREES}", settings=TREE_SETTINGS, damage=rule.for_trees())
        write_first = partial(record_embedder, store, timeout=opening.timeout)
        checked = CheckedEmbedder(store.embedder, write_first, embedder, vectors, store.id)
        reopen = None
        if path is not None:
            absolute = Path(path).expanduser().absolute()
            reopen = partial(cls._reopened, replace(opening, path=absolute, create=False, suggest=False))
        sources = Sources(
            SearchIndexes.of(store, settings),
            checked,
            Trees(open_trees, settings),
            opening.defaults,
            reopen,
            opening.unicode_errors,
        )
        index = cls(sources, settings, opening.timeout)
        index._opening = opening
        yield from index._restore_vectors(embed=checked.embedder.local)
        return index

    @classmethod
    def _reopened(cls, opening: _Opening) -> Self:
        return run(cls._open(opening))

    @staticmethod
    def _check_new_name(path: str | Path | None, client: Any, name: str, timeout: float) -> Flow[None]:
        """Check that an index of this name can have trees, and does not have the name of another index's trees."""
        if not isinstance(name, str) or (len(name) <= MOST_NAME and not name.endswith(TREES)):
            return
        if not (yield from has_index(path, client, name, timeout)):
            raise InvalidArgument(
                f"name must have at most {MOST_NAME} characters and not end with {TREES!r}, which is for trees, got "
                f"{shown(name)}"
            )

    @blocking
    def check(self, *, quick: bool = False, verify: bool = False, progress: bool | None = None) -> Flow[list[Finding]]:
        """Find damage: half-written documents, missing or altered leaves, lost counts. Writes nothing.

        It reads the texts of all documents and trees, and compares them with their checksums.

        Args:
            quick: Whether to check only that all leaves are there, without reading vectors or the texts of complete
                documents. Default: False.
            verify: Whether to also compare every leaf in Chroma with leafspan's copies of texts, metadata, vectors,
                words and the list of documents. Not with ``quick``. Default: False.
            progress: Whether to show a bar. Default: only in a terminal or a notebook, after a second.

        Returns:
            The problems; an empty list if the index is whole.

        Raises:
            InvalidArgument: if an option is of a wrong type, or both ``quick`` and ``verify`` are given.
            StorageReadOnly: if the folder cannot be written, or the index was opened with ``read_only``.
        """
        return self._examine(False, quick, verify, progress)

    acheck = awaiting(check)

    @blocking
    def repair(self, *, quick: bool = False, verify: bool = False, progress: bool | None = None) -> Flow[list[Finding]]:
        """Find what ``check`` finds, and repair it.

        ``repair`` deletes nothing that may be part of a document. A document that cannot be repaired is marked, and its
        finding says so: the next ``add`` of the document writes it again, even if it has not changed. A tree is built
        again by the next ``build_tree``. Where Chroma and leafspan's copies differ, the copies are rebuilt. On a
        server, run ``repair`` while nobody else writes.

        Args:
            quick: As in ``check``. Default: False.
            verify: As in ``check``. Default: False.
            progress: As in ``check``.

        Returns:
            The problems, each with whether it was repaired. An empty list if the index was whole.

        Raises:
            InvalidArgument: if an option is of a wrong type, or both ``quick`` and ``verify`` are given.
            StorageReadOnly: if the folder cannot be written, or the index was opened with ``read_only``.
            WriterBusy: if another writer holds the index for longer than the timeout.
        """
        return self._examine(True, quick, verify, progress)

    arepair = awaiting(repair)

    @blocking
    def copy_to(
        self,
        path: str | Path | None = None,
        *,
        client: Any = None,
        name: str = "kb",
        timeout: float = 30.0,
        progress: bool | None = None,
    ) -> Flow[Copied]:
        """Copy the index to another folder, server or database. Nothing is embedded again.

        Documents, leaves, vectors, trees, settings and the embedder's name are copied. To continue an interrupted copy,
        run it again. Others can read the index meanwhile, and changes by writers are copied too.

        Args:
            path: Folder of the copy, or the address of its server, as for ``Index.open``. Give either this or ``client``.
            client: A client, a pool or an engine, as for ``Index.open``.
            name: Name of the copy. Default: ``"kb"``.
            timeout: Seconds, >= 0, to wait for another writer, or for one answer of a server. Default: 30.
            progress: Whether to show a bar. Default: only in a terminal or a notebook, after a second.

        Returns:
            How much the copy has, and how many documents were written. Index and copy then have equal rows and checksums.

        Raises:
            InvalidArgument: if an option is of a wrong type, or the copy would be the index itself, or has documents
                that the index does not have.
            IndexMismatch: if an index is there that was made with other settings, or with another embedder.
            ConcurrentUpdate: if writers change documents faster than they are copied.
            DamagedIndex: if a document is not as it was written.
            WriterBusy: if another writer holds the copy for longer than the timeout.
            ServerTimeout: if a server does not answer within the timeout.
            StorageFailed: if the target cannot be reached, or fails.
        """
        path, client, name = yield from _reached(path, client, name, timeout)
        yield from self._check_new_name(path, client, name, timeout)
        rule = DamageRule.of("raise")
        open_one = partial(open_store, path, client, timeout=timeout)
        store = yield from open_one(name, settings=self._store.settings, create=True, damage=rule)
        open_trees = partial(open_one, f"{store.name}{TREES}", settings=TREE_SETTINGS, damage=rule.for_trees())
        indexes, trees = SearchIndexes.of(store, self._settings), Trees(open_trees, self._settings)
        try:
            yield from indexing.check_copy(self._store, store)
            documents, leaves, written = yield from indexing.copy_store(
                self._store, store, timeout=timeout, show=progress, what="Copying"
            )
            summaries = 0
            if (own := (yield from self._sources.trees.existing())) is not None:
                copied_trees = (yield from trees.created()).store
                yield from indexing.copy_texts(own.store, copied_trees, timeout=timeout)
                _, summaries, _ = yield from indexing.copy_store(
                    own.store, copied_trees, timeout=timeout, show=progress, what="Copying trees"
                )
            return indexing.Copied(documents, leaves, summaries, written)
        finally:
            indexes.close()
            trees.close()

    acopy_to = awaiting(copy_to)

    @blocking
    def reembed(
        self,
        embedder: Any = None,
        *,
        splitter: Splitter | None = None,
        context_sentences: int | None = None,
        title_weight: float | None = None,
        switch: bool = True,
        dry_run: bool = False,
        progress: bool | None = None,
    ) -> Flow[Reembedded]:
        """Embed all documents again, with another embedder or other leaves, while questions go on with the old vectors.

        The new vectors form another edition of the index. When it has all documents, it takes the place of the old one in
        one step. The old one is then the spare edition, until ``delete_spare`` deletes it. To put it back, call
        ``reembed`` with its embedder and options: only what has changed meanwhile is embedded. After a failure, call it
        again, too: it goes on where it was.

        Others can read and write meanwhile. Other processes, and views that were made before, stay with the old edition:
        they warn, and can write no more. Behind a Chroma server or Qdrant, nobody else may write during the last step.

        Args:
            embedder: The new embedder: see ``Index.open``. Default: the present one, for other leaves.
            splitter: How documents are cut into leaves: see ``Index.open``. Trees must then be built again. Documents that
                were added as chunks keep them. Default: the leaves stay.
            context_sentences: See ``Index.open``. Default: as it is.
            title_weight: See ``Index.open``. Default: as it is.
            switch: Whether the new edition takes the place of the old one. Without it, ``Index.open`` with the edition's
                name and the new embedder opens it, such as for ``evaluate``. Default: True.
            dry_run: Whether to report only what would be done. Default: False.
            progress: Whether to show a bar. Default: only in a terminal or a notebook, after a second.

        Returns:
            The name of the edition, and how many texts were embedded.

        Raises:
            InvalidArgument: if an option is out of its range, the index is empty, or it has a spare edition with another
                embedder or other options.
            IndexMismatch: if another process has re-embedded the index after it was opened.
            ConcurrentUpdate: if another process re-embeds it, or changes documents faster than they are embedded.
            WriterBusy: if another writer holds the index for longer than the timeout.
        """
        check_flag("switch", switch)
        check_flag("dry_run", dry_run)
        check_flag("progress", bool(progress) if progress is None else progress)
        options = OpenOptions(splitter, context_sentences, title_weight)
        if embedder is None:
            yield from self._embedder.confirm(record=False)  # the present one must be the one that made the index
        new = self._embedder.embedder if embedder is None else to_embedder(embedder)
        opening = self._opening
        path, client, _ = yield from _reached(opening.path, opening.client, opening.name, self._timeout)
        vectors = find_cache(opening.embedding_cache, new)
        done = yield from indexing.Reembedding(
            self._store,
            self._sources.trees,
            self._settings,
            options,
            CheckedEmbedder.unrecorded(new, vectors, self._store.id),
            self._timeout,
            lambda name: has_index(path, client, name, self._timeout),
            partial(open_store, path, client, timeout=self._timeout, cache_dir=opening.cache_dir),
        ).run(switch=switch, dry_run=dry_run, show=progress)
        if done.switched and done.edition != self._store.name:
            opening = replace(opening, embedder=new, options=opening.options.with_others(options), create=False)
            self.__dict__.update((yield from type(self)._open(opening)).__dict__)
        return done

    areembed = awaiting(reembed)

    @blocking
    def delete_spare(self) -> Flow[str | None]:
        """Delete the spare edition that ``reembed`` has left, with its vectors.

        Returns:
            The name of the edition, or None without a spare edition.

        Raises:
            IndexMismatch: if another process has re-embedded the index after it was opened.
            WriterBusy: if another writer holds the index for longer than the timeout.
        """
        return indexing.delete_spare(self._store, self._timeout)

    adelete_spare = awaiting(delete_spare)

    def _restore_vectors(self, *, embed: bool) -> Flow[None]:
        """Rebuild vectors that were lost when the files were opened: from the segments, or by embedding the texts again."""
        if not self._store.has_lost:
            return
        for indexes in (self._sources.indexes, (yield from self._sources.trees.existing())):
            if indexes is None or indexes.store.lost_vectors() is None:
                continue
            try:
                yield from indexing.rebuild_vectors(
                    indexes.store,
                    indexes.vectors,
                    self._embed_again,
                    self._settings,
                    timeout=self._timeout,
                    most_embedded=None if embed else _FEW_TO_EMBED,
                )
            except (WriterBusy, StorageReadOnly) as error:
                warnings.warn(f"cannot rebuild lost vectors: {error}", RuntimeWarning, stacklevel=2)

    def _embed_again(self, texts: Sequence[str]) -> Flow[Any]:
        """Embed stored texts again. Their view is not known here, so no view shares their vectors in the cache."""
        return self._embedder.documents(texts, view="rebuilt vectors")

    def _examine(self, repair: bool, quick: bool, verifying: bool, progress: bool | None) -> Flow[list[Finding]]:
        check_flag("quick", quick)
        check_flag("verify", verifying)
        if quick and verifying:
            raise InvalidArgument("quick and verify must not both be True: verify reads everything, quick next to nothing")
        options = indexing.Examination(repair, self._timeout, quick, progress)
        findings: list[Finding] = []
        try:
            if not quick:  # first: nothing can be written while Chroma's log has writes that its tables refuse
                findings += yield from indexing.examine_files(self._store, options)
            findings += yield from indexing.examine(self._store, options)
        except (StorageFailed, DamagedIndex):
            # Chroma cannot read a damaged database. The database itself can be checked without Chroma.
            findings += yield from indexing.examine_database(self._store)
            if findings:
                return findings
            raise
        parts = [(self._sources.indexes, options)]
        if (trees := (yield from self._sources.trees.existing())) is not None:
            remedy = "build_tree() makes its tree again"
            of_trees = replace(options, remedy=remedy, derived=True, check_leaf=check_summary)
            parts.append((trees, of_trees))
            findings += _of_trees((yield from indexing.examine(trees.store, of_trees)))
        if quick:
            return findings
        findings += yield from indexing.examine_database(self._store)
        for indexes, _ in parts:
            findings += yield from indexing.examine_vectors(
                indexes.store, indexes.vectors, self._embed_again, self._settings, options
            )
        for indexes, own in parts if verifying else ():
            embed = self._embed_again if self._embedder.embedder.local else None
            problems = yield from indexing.verify(indexes.store, indexes.copies, embed, self._settings, own)
            findings += _of_trees(problems) if indexes is trees else problems
        return findings

    @property
    def client(self) -> Any:
        """The client or engine in use, for looking at what is stored; write to it only through the index."""
        return self._store.client

    def close(self) -> None:
        """Release the files. A client that you gave stays open, and its index can still be used."""
        self._sources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@blocking
def adopt(
    source: Any,
    path: str | Path | None = None,
    *,
    client: Any = None,
    name: str = "kb",
    collection: str | None = None,
    docstore: Any = None,
    embedder: Any = None,
    join: bool = True,
    rename: Mapping[str, str] | None = None,
    splitter: Splitter | None = None,
    context_sentences: int | None = None,
    title_weight: float | None = None,
    analyzer: Analysis | None = None,
    bm25: BM25Settings | None = None,
    cache_dir: str | Path | None = None,
    dry_run: bool = False,
    progress: bool | None = None,
    timeout: float = 30.0,
) -> Flow[Adopted]:
    """Make an index of a collection that LangChain, LlamaIndex or Chroma alone has written, with its vectors.

    Chunks of one text become the leaves of one document, so that windows, parents and merging work across them. For
    this, leafspan must know where in the text each chunk starts: from LlamaIndex's nodes, or from LangChain's chunks
    that have a ``start_index`` and otherwise equal metadata. Such a leaf has the id of its record as metadata
    ``chunk_id``. Any other record becomes a document of one leaf, under its own id. Metadata that LlamaIndex's nodes
    hide from models stay hidden, and ``chunk_id`` is hidden too.

    The collection is only read. The index can be in the same Chroma or in another one. To continue a killed adoption,
    run it again with the same options. If nothing has changed, it does nothing.

    Args:
        source: A LangChain ``Chroma``, a LlamaIndex ``ChromaVectorStore``, ``StorageContext`` or ``VectorStoreIndex``,
            a collection or client of chromadb, or a folder of Chroma.
        path: Folder of the index, or its address: see ``Index.open``. Give either this or ``client``.
        client: A client that chromadb made, for an index behind it.
        name: Name of the index. Default: ``"kb"``.
        collection: Name of the collection, if the source is a folder or a client. Default: the only one there.
        docstore: LlamaIndex's docstore. It has the texts between nodes, and the nodes above them. Default: the one of the
            ``StorageContext`` or ``VectorStoreIndex``.
        embedder: The embedder that the collection was made with: see ``Index.open``. A few texts are embedded again, and
            compared with their vectors. Default: the embedder of the ``Chroma`` or ``VectorStoreIndex``, or else WordLlama.
        join: Whether chunks of one text become one document. If not, each record becomes a document of its own, and can
            be filtered by its own metadata. Default: True.
        rename: Metadata keys with the names that they get, for keys that leafspan reserves, such as
            ``{"start": "start_time"}``. Default: such a key gets ``adopted_`` before its name.
        splitter: See ``Index.open``, as for the following ones. It cuts documents that are added later.
        context_sentences: See ``Index.open``.
        title_weight: See ``Index.open``.
        analyzer: See ``Index.open``.
        bm25: See ``Index.open``.
        cache_dir: See ``Index.open``.
        dry_run: Whether to report only what would be done. Nothing is written then. Default: False.
        progress: Whether to show a bar. Default: only in a terminal or a notebook.
        timeout: See ``Index.open``.

    Returns:
        What was done, and which records could not be taken, and why.

    Raises:
        InvalidArgument: if the source is of another kind, or an option is out of its range.
        IndexNotFound: if the folder or client has no such collection.
        IndexMismatch: if the embedder did not make the collection's vectors, or an index of this name was made with
            another embedder or other options.
        WriterBusy: if another writer holds the index for longer than the timeout.
    """
    options = OpenOptions(splitter, context_sentences, title_weight, analyzer, bm25)
    check_flag("dry_run", dry_run)
    path, client, name = yield from _reached(path, client, name, timeout)
    # Find everything that can be wrong before the index is made.
    exists = yield from has_index(path, client, name, timeout)
    opened = yield from adopting.open_source(source, collection, docstore, timeout)
    try:
        embedder = opened.embedder if embedder is None else embedder
        embedder = default_embedder() if embedder is None else to_embedder(embedder)
        plan = yield from adopting.read_plan(opened, join=join, rename=rename, show=progress)
        yield from adopting.check_embedder(opened, plan, embedder)
        if dry_run and not exists:
            IndexSettings.made(options)  # checks the options
            return (yield from adopting.adopt(opened, plan, None, dry_run=True, show=progress))
        opening = _Opening(path, client, name, embedder, options, cache_dir, False, not dry_run, timeout=timeout)
        index = yield from Index._open(opening)
        try:
            yield from index._embedder.confirm(record=not dry_run)
            return (yield from adopting.adopt(opened, plan, index._target(), dry_run=dry_run, show=progress))
        finally:
            index.close()
    finally:
        opened.close()


aadopt = awaiting(adopt)
aadopt.__doc__ = "Like ``adopt``. It also takes Chroma's asynchronous client."


def _reached(path: Any, client: Any, name: str, timeout: float) -> Flow[tuple[Any, Any, str]]:
    """The path, client and name of an index, with a client instead of the path if the path is an address."""
    if not is_address(path) or client is not None:
        return path, client, name
    client, named = yield from connect(path, timeout)
    return None, client, named or name


def _of_trees(findings: Sequence[Finding]) -> list[Finding]:
    return [replace(each, problem=f"its tree: {each.problem}") for each in findings]

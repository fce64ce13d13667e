"""Building the trees of an index: what is new or has changed is grown, the rest stays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from leafspan.adding import recover
from leafspan.documents import RESERVED_PREFIX
from leafspan.engine import Flow
from leafspan.errors import IndexMismatch, InvalidArgument
from leafspan.progress import Progress
from leafspan.reading import reading
from leafspan.scope import Scope
from leafspan.store import Catalogue, Coming, Gone, Reader, Row
from leafspan.store.texts import Texts
from leafspan.strategies.strategy import whole
from leafspan.structure import STRUCTURE_KEY
from leafspan.tree.clusters import Clusterer
from leafspan.tree.growing import Kept, Sapling, Tally, Twig, growing
from leafspan.tree.node import VERSION_MARK, Node
from leafspan.tree.planning import Planned
from leafspan.tree.summarizing import Embed, Summarizer
from leafspan.tree.trees import Trees, TreeSources
from leafspan.tree.view import TreeView
from leafspan.values import Covered, leaf_id

MARK = ":"  # ends the part of a key that says who may find it
_GROUP = 10_000  # leaves whose trees are grown at a time


@dataclass(frozen=True, slots=True)
class FailedSummary:
    """A summary that could not be made: of a tree (a document's id, or what the layers above are of) in a layer."""

    tree: str
    layer: int
    error: Exception


@dataclass(frozen=True, slots=True)
class TreesBuilt:
    """What a ``build_tree`` did, or would do.

    ``built``: the ids of the documents whose trees are new; ``unchanged``: how many others have theirs. ``summaries``: how
    many were written, of which ``asked`` different ones were made, and ``reused`` had been made before for the same texts.
    ``words_sent`` and ``words_received``: of a dry run, about so many would go to a language model and come back.
    ``failed``: what to build again; the trees of these documents are not there.
    """

    built: tuple[str, ...]
    unchanged: int
    summaries: int
    asked: int
    reused: int
    words_sent: int
    words_received: int
    failed: tuple[FailedSummary, ...]

    @property
    def share_asked(self) -> float:
        """The share of the summaries needed that had to be made anew, in [0, 1]; 0 where none was needed."""
        needed = self.asked + self.reused
        return self.asked / needed if needed else 0.0


@dataclass(frozen=True, slots=True)
class Plan:
    """How trees are built: see ``Index.build_tree``.

    ``chosen``: the summarizer was given, and is not there for lack of another.

    Raises:
        InvalidArgument: if an option is out of its range.
    """

    clusterer: Clusterer
    summarizer: Summarizer
    chosen: bool = True
    max_layers: int = 5
    across: bool = False
    partition_by: str | None = None

    def __post_init__(self) -> None:
        whole("max_layers", self.max_layers, 1)
        if not callable(self.clusterer) or isinstance(self.clusterer, type):
            raise InvalidArgument(f"clusterer must be one such as Bisecting(), or a function, got {self.clusterer!r}")
        if self.partition_by is not None and (not isinstance(self.partition_by, str) or not self.partition_by):
            raise InvalidArgument(f"partition_by must be a metadata key, got {self.partition_by!r}")

    @property
    def identity(self) -> str:
        """What a tree depends on besides its document."""
        clusterer = getattr(self.clusterer, "__qualname__", None) or repr(self.clusterer)
        return json.dumps([self.summarizer.identity, self.summarizer.max_input_words, clusterer, self.max_layers])


def building(
    trees: Trees,
    plan: Plan,
    *,
    store: Any,
    embed: Embed,
    title_weight: float,
    scope: Scope | None,
    timeout: float,
    progress: bool | None,
    dry_run: bool,
) -> Flow[TreesBuilt]:
    """Grow the trees of what the view shows, document by document, then the layers above; each group is written at once."""
    documents: Catalogue = yield from reading(store, Reader.catalogue, scope)
    sources = (yield from trees.existing()) if dry_run else (yield from trees.made())
    there = dict((yield from reading(sources.store, Reader.rows))) if sources else {}
    _check_summarizer(plan, there)
    work = _Work(trees, sources, plan, store, embed, title_weight, scope, timeout, dry_run, documents, there)
    return (yield from work.run(progress))


def _check_summarizer(plan: Plan, there: Mapping[str, Row]) -> None:
    used = next((row.more["summarizer"] for row in there.values() if row.version is not None), None)
    if used is not None and used != plan.summarizer.identity and not plan.chosen:
        raise IndexMismatch(
            f"the trees were built with the summarizer {used}; pass it again, or summarizer=Extractive() to build them anew"
        )


class _Work:
    """One build, and what it has done so far."""

    def __init__(
        self,
        trees: Trees,
        sources: TreeSources | None,
        plan: Plan,
        store: Any,
        embed: Embed,
        title_weight: float,
        scope: Scope | None,
        timeout: float,
        dry_run: bool,
        documents: Catalogue,
        there: dict[str, Row],
    ) -> None:
        self._sources = sources
        self._plan = plan
        self._store = store
        self._embed = embed
        self._title_weight = title_weight
        self._scope = scope
        self._timeout = timeout
        self._dry_run = dry_run
        self._documents = documents
        self._there = there  # the rows of the trees, by stored ids
        # What one tenant has asked for must not tell another of its texts.
        self._prefix = scope.suffix if scope else ""
        self._planned = Planned(plan.summarizer) if dry_run else None
        self._texts = sources.store.texts(timeout) if sources else None
        self._kept: Kept = _Looking(self._texts) if dry_run or self._texts is None else self._texts
        self._roots: dict[str, list[Twig]] = {}  # of each document's tree
        self._tally = Tally()
        self._built: list[str] = []
        self._summaries = 0
        self._failed: list[FailedSummary] = []

    def run(self, show: bool | None) -> Flow[TreesBuilt]:
        todo: list[str] = []
        unchanged: list[str] = []
        for shown in sorted(self._documents.rows):
            row = self._documents.rows[shown]
            if row.version is not None:
                stored = self._documents.stored_id(shown) or shown
                (unchanged if self._is_built(stored, row) else todo).append(shown)
        leaves = sum(self._documents.rows[shown].leaves for shown in todo)
        progress = Progress(leaves, show=show, what="Building trees", unit=" leaves")
        try:
            for group in _groups(todo, self._documents.rows):
                yield from self._build(group, progress)
            if self._goes_on and not self._failed:
                yield from self._build_above(unchanged, progress)
        finally:
            progress.close()
        if not self._dry_run:
            yield from self._clear_up()
        return TreesBuilt(
            tuple(self._built),
            len(unchanged),
            self._summaries,
            self._tally.asked,
            self._tally.reused,
            self._planned.words_sent if self._planned else 0,
            self._planned.words_received if self._planned else 0,
            tuple(self._failed),
        )

    @property
    def _goes_on(self) -> bool:
        """Whether there are to be layers above the documents' trees."""
        return self._plan.across or self._plan.partition_by is not None

    def _is_built(self, stored: str, row: Row) -> bool:
        tree = self._there.get(stored)
        return tree is not None and tree.version is not None and not tree.litter and tree.hash == self._hash(row)

    def _hash(self, row: Row) -> str:
        return hashlib.sha256(json.dumps([row.hash, row.version, self._plan.identity]).encode()).hexdigest()

    def _build(self, group: Sequence[str], progress: Progress) -> Flow[None]:
        """The trees of some documents."""
        grown: list[tuple[Row, Sapling]] = yield from reading(
            self._store, lambda reader: self._saplings(reader, group), self._scope
        )
        yield from self._grow([sapling for _, sapling in grown], progress)
        coming = []
        for row, sapling in grown:
            if sapling.failures:
                self._failed += [FailedSummary(sapling.name, layer, error) for layer, error in sapling.failures]
                continue
            self._built.append(sapling.name)
            self._summaries += len(sapling.nodes)
            if self._goes_on:
                self._roots[row.document_id] = [sapling.twigs[place] for place in sapling.roots]
            coming.append(_tree_of(row, sapling, self._plan.summarizer.identity))
        yield from self._write(coming)

    def _saplings(self, reader: Reader, group: Sequence[str]) -> Flow[list[tuple[Row, Sapling]]]:
        """The documents as they are now: with their stored ids, and the tree's hash and version."""
        view = yield from reader.catalogue()
        rows = [view.rows[shown] for shown in group if shown in view.rows and view.rows[shown].version is not None]
        ids = [leaf_id(row.document_id, row.version or "", n) for row in rows for n in range(row.leaves)]
        leaves = yield from reader.fetch_leaves(ids)
        vectors = yield from reader.fetch_vectors(ids)
        if len(leaves) < len(ids):
            raise Gone
        found = []
        for row in rows:
            stored = view.stored_id(row.document_id) or row.document_id
            twigs = []
            for n in range(row.leaves):
                leaf = leaves[id_ := leaf_id(row.document_id, row.version or "", n)]
                cover = Covered(stored, row.version or "", n, n, leaf.leaf.start, leaf.leaf.end)
                twigs.append(
                    Twig(leaf_id(stored, row.version or "", n), leaf.text, leaf.leaf.words, vectors[id_], 0, (cover,))
                )
            tree = self._tree_row(stored, row)
            node_id = partial(_numbered, stored, tree.version or "")
            found.append((tree, Sapling(row.document_id, twigs, node_id, row.title)))
        return found

    def _tree_row(self, stored: str, row: Row) -> Row:
        digest = self._hash(row)
        old = self._there.get(stored)
        version = VERSION_MARK + digest[:7]
        if old is not None and old.version == version and old.hash != digest:
            version = VERSION_MARK + digest[7:14]
        return Row(stored, digest, version, 0, title=row.title, more={"of": row.version})

    def _grow(self, saplings: Sequence[Sapling], progress: Progress) -> Flow[None]:
        yield from growing(
            saplings,
            clusterer=self._plan.clusterer,
            summarizer=self._planned or self._plan.summarizer,
            max_layers=self._plan.max_layers,
            embed=None if self._planned else self._embed,
            title_weight=self._title_weight,
            kept=self._kept,
            prefix=self._prefix + MARK,
            tally=self._tally,
            progress=progress,
        )

    def _build_above(self, unchanged: Sequence[str], progress: Progress) -> Flow[None]:
        """The layers above the trees, over all of them or for each value of a key."""
        yield from self._load_roots([self._documents.stored_id(shown) or shown for shown in unchanged])
        parts: dict[str, list[Twig]] = {}
        for stored, twigs in sorted(self._roots.items()):
            shown = self._documents.shown_id(stored) or stored
            for label in self._labels(self._documents.rows[shown].metadata):
                parts.setdefault(label, []).extend(twigs)
        saplings = [Sapling(label, twigs, _layer_id) for label, twigs in sorted(parts.items())]
        yield from self._grow(saplings, progress)
        coming = []
        for sapling in saplings:
            self._failed += [FailedSummary(sapling.name, layer, error) for layer, error in sapling.failures]
            self._summaries += len(sapling.nodes)
            coming += [_layer_of(twig, sapling.name, self._plan.summarizer.identity) for twig in sapling.nodes]
        if self._failed:
            return
        wanted = {each.row.document_id for each in coming}
        yield from self._write([each for each in coming if not self._is_there(each.row)])
        labels = {sapling.name for sapling in saplings}
        old = [
            row
            for id_, row in self._there.items()
            if "label" in row.more and id_ not in wanted and (self._scope is None or row.more["label"] in labels)
        ]
        yield from self._delete(old)

    def _labels(self, metadata: Mapping[str, object]) -> list[str]:
        key = self._plan.partition_by
        if key is None:
            return [f"{self._prefix}all documents"]
        value = metadata.get(key)
        values = value if isinstance(value, list) else [] if value is None else [value]
        return [f"{self._prefix}{key} = {json.dumps(each, ensure_ascii=False)}" for each in dict.fromkeys(values)]

    def _load_roots(self, ids: Sequence[str]) -> Flow[None]:
        """The roots of trees that were built before."""
        if self._sources is None or not ids:
            return
        rows = {id_: self._there[id_] for id_ in ids}
        tops = {id_: [leaf_id(id_, row.version or "", place) for place in row.more["tops"]] for id_, row in rows.items()}
        wanted = [each for every in tops.values() for each in every]

        def read(reader: Reader) -> Flow[Any]:
            return (yield from reader.fetch_records(wanted)), (yield from reader.fetch_vectors(wanted))

        records, vectors = yield from reading(self._sources.store, read)
        for id_ in ids:
            self._roots[id_] = [_loaded(each, records[each], vectors[each]) for each in tops[id_]]
        bare = {id_: row.more["bare"] for id_, row in rows.items() if row.more["bare"]}
        yield from reading(self._store, lambda reader: self._load_bare(reader, bare), self._scope)

    def _load_bare(self, reader: Reader, bare: Mapping[str, Sequence[int]]) -> Flow[None]:
        """The leaves that are roots themselves."""
        view = yield from reader.catalogue()
        places = {
            leaf_id(shown, view.rows[shown].version or "", n): id_
            for id_, ordinals in bare.items()
            if (shown := view.shown_id(id_)) is not None
            for n in ordinals
        }
        leaves = yield from reader.fetch_leaves(list(places))
        vectors = yield from reader.fetch_vectors(list(places))
        for id_, stored in places.items():
            leaf = leaves[id_].leaf
            cover = Covered(stored, leaf.version, leaf.ordinal, leaf.ordinal, leaf.start, leaf.end)
            twig = Twig(
                leaf_id(stored, leaf.version, leaf.ordinal), leaves[id_].text, leaf.words, vectors[id_], 0, (cover,)
            )
            self._roots.setdefault(stored, []).append(twig)

    def _is_there(self, row: Row) -> bool:
        old = self._there.get(row.document_id)
        return old is not None and old.version == row.version and not old.litter

    def _write(self, coming: Sequence[Coming]) -> Flow[None]:
        if self._dry_run or not coming:
            return
        assert self._sources is not None
        writer = yield from self._sources.store.start_writing(self._timeout, [each.row.document_id for each in coming])
        try:
            yield from recover(writer)
            yield from writer.replace(coming)
        finally:
            writer.stop()
        self._there.update((each.row.document_id, each.row) for each in coming)

    def _delete(self, rows: Sequence[Row]) -> Flow[None]:
        if self._dry_run or not rows:
            return
        assert self._sources is not None
        writer = yield from self._sources.store.start_writing(self._timeout, [row.document_id for row in rows])
        try:
            yield from recover(writer)
            yield from writer.delete([writer.rows[row.document_id] for row in rows if row.document_id in writer.rows])
        finally:
            writer.stop()
        for row in rows:
            self._there.pop(row.document_id, None)

    def _clear_up(self) -> Flow[None]:
        """Forget the trees of what is gone, and the texts that were kept for none of those that are left."""
        if self._scope is None:
            seen = TreeView(self._there, self._documents)
            yield from self._delete([row for id_, row in self._there.items() if id_ not in seen.rows])
        if self._failed or self._texts is None:
            return
        used = {key for row in self._there.values() for key in row.more["keys"]}
        keys = yield from self._texts.keys()
        own = (key for key in keys if key.partition(MARK)[0] == self._prefix)
        yield from self._texts.delete([key for key in own if key not in used])


class _Looking:
    """Only looks at what was kept before."""

    def __init__(self, texts: Texts | None) -> None:
        self._texts = texts

    def get(self, keys: Sequence[str]) -> Flow[dict[str, str]]:
        """See Kept."""
        return (yield from self._texts.get(keys)) if self._texts else {}

    def put(self, texts: Mapping[str, str]) -> Flow[None]:
        """See Kept: nothing is."""
        yield from ()


def _groups(ids: Sequence[str], rows: Mapping[str, Row]) -> Iterator[list[str]]:
    """Documents of about so many leaves together."""
    group: list[str] = []
    size = 0
    for id_ in ids:
        group.append(id_)
        size += rows[id_].leaves
        if size >= _GROUP:
            yield group
            group, size = [], 0
    if group:
        yield group


def _numbered(stored: str, version: str, place: int, children: Sequence[str]) -> str:
    return leaf_id(stored, version, place)


def _layer_id(place: int, children: Sequence[str]) -> str:
    """The id of a summary of several documents: it is a tree of its own, the same as long as its children are."""
    digest = hashlib.sha256(json.dumps(list(children)).encode()).hexdigest()
    return leaf_id(f"{RESERVED_PREFIX}layer:{digest[:16]}", VERSION_MARK + digest[16:23], 0)


def _tree_of(row: Row, sapling: Sapling, summarizer: str) -> Coming:
    nodes = sapling.nodes
    more = {
        **row.more,
        "layers": [twig.layer for twig in nodes],
        "tops": [place - sapling.given for place in sapling.roots if place >= sapling.given],
        "bare": [place for place in sapling.roots if place < sapling.given],
        "keys": [twig.node.key for twig in nodes if twig.node],
        "summarizer": summarizer,
    }
    return _coming(replace(row, leaves=len(nodes), words=sum(twig.words for twig in nodes), more=more), nodes)


def _layer_of(twig: Twig, label: str, summarizer: str) -> Coming:
    assert twig.node is not None
    id_, version, _ = twig.id.rsplit("#", 2)
    more = {
        "label": label,
        "children": list(twig.node.children),
        "layers": [twig.layer],
        "tops": [0],
        "bare": [],
        "keys": [twig.node.key],
        "summarizer": summarizer,
    }
    return _coming(Row(id_, twig.node.key, version, 1, words=twig.words, more=more), [twig])


def _coming(row: Row, twigs: Sequence[Twig]) -> Coming:
    metadatas = [{STRUCTURE_KEY: twig.node.pack()} for twig in twigs if twig.node]
    return Coming(row, [twig.text for twig in twigs], metadatas, [twig.vector for twig in twigs])


def _loaded(id_: str, record: tuple[str, Mapping[str, Any]], vector: Any) -> Twig:
    text, metadata = record
    node = Node.unpack(metadata[STRUCTURE_KEY])
    return Twig(id_, text, node.words, vector, node.layer, node.covers, node)

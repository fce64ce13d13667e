"""Building the trees of an index: what is new or has changed is grown, the rest stays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from leafspan.adding import recover
from leafspan.engine import Flow
from leafspan.errors import IndexMismatch, InvalidArgument, LeafspanError
from leafspan.identity import identity_of
from leafspan.progress import Progress
from leafspan.reading import reading
from leafspan.scope import Scope
from leafspan.store import Catalogue, Coming, Reader, Row, Store, grouped
from leafspan.strategies.strategy import flag, whole
from leafspan.tree.clusters import Clusterer
from leafspan.tree.forgetting import clearing_up, deleting_trees
from leafspan.tree.growing import Sapling, Tally, Twig, growing
from leafspan.tree.kept import KeptLayers, KeptTexts, key_prefix, view_name
from leafspan.tree.layers import layers_to_grow
from leafspan.tree.node import VERSION_MARK
from leafspan.tree.planning import Planned
from leafspan.tree.planting import LAYERS, layer_of, leaf_twigs, numbered, root_twigs, tree_of
from leafspan.tree.summarizing import Embed, Summarizer
from leafspan.tree.trees import Trees

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
    many were written. Of the different ones that were needed, ``asked`` were made, and ``reused`` had been made before for
    the same texts. ``words_sent`` and ``words_received``: of a dry run, about so many would go to a language model and come
    back. ``failed``: what to build again; these trees are not there.
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
        flag("across", self.across)
        if not callable(self.clusterer) or isinstance(self.clusterer, type):
            raise InvalidArgument(f"clusterer must be one such as Bisecting(), or a function, got {self.clusterer!r}")
        if self.partition_by is not None and (not isinstance(self.partition_by, str) or not self.partition_by):
            raise InvalidArgument(f"partition_by must be a metadata key, got {self.partition_by!r}")

    @property
    def identity(self) -> str:
        """What a tree depends on besides its document."""
        clusterer = identity_of(self.clusterer)
        return json.dumps([self.summarizer.identity, self.summarizer.max_input_words, clusterer, self.max_layers])


def building(
    trees: Trees,
    plan: Plan,
    *,
    store: Store,
    embed: Embed,
    title_weight: float,
    scope: Scope | None,
    timeout: float,
    progress: bool | None,
    dry_run: bool,
) -> Flow[TreesBuilt]:
    """Grow the trees of what the view shows, document by document, then the layers above; each group is written at once."""
    sources = (yield from trees.existing()) if dry_run else (yield from trees.made())
    at = sources.store if sources else None
    there = dict((yield from reading(at, Reader.rows))) if at else {}
    documents: Catalogue = yield from reading(store, Reader.catalogue, scope)
    _check_summarizer(plan, there, documents, scope)
    texts = at.texts(timeout) if at else None
    rows_before = dict(there)
    keys_before = (yield from texts.keys()) if texts and not dry_run else set()
    kept = KeptTexts(texts, only_look=dry_run) if plan.summarizer.asks else KeptLayers(at, there)
    planned = Planned(plan.summarizer) if dry_run else None

    def grow(saplings: Sequence[Sapling], bar: Progress, tally: Tally) -> Flow[None]:
        yield from growing(
            saplings,
            clusterer=plan.clusterer,
            summarizer=planned or plan.summarizer,
            max_layers=plan.max_layers,
            embed=None if planned else embed,
            title_weight=title_weight,
            kept=kept,
            prefix=key_prefix(scope),
            tally=tally,
            progress=bar,
        )

    work = _Work(plan, scope, store, at, documents, there, grow, timeout, dry_run)
    yield from work.run(progress)
    if at is not None and not dry_run:
        failed = {LAYERS, *work.failed_owners} if work.failed else set[str]()
        yield from clearing_up(
            store, at, rows_before=rows_before, keys_before=keys_before, failed=failed, scope=scope, timeout=timeout
        )
    return TreesBuilt(
        tuple(work.built),
        len(work.unchanged),
        work.summaries,
        work.tally.asked,
        work.tally.reused,
        planned.words_sent if planned else 0,
        planned.words_received if planned else 0,
        tuple(work.failed),
    )


def _check_summarizer(plan: Plan, there: Mapping[str, Row], documents: Catalogue, scope: Scope | None) -> None:
    """Nobody who has paid a language model is to lose its summaries for having forgotten to say so."""
    if plan.chosen:
        return
    view = view_name(scope)
    for id_, row in there.items():
        own = documents.shown_id(id_) is not None or row.more.get("view") == view
        if own and row.version is not None and row.more["summarizer"] != plan.summarizer.identity:
            raise IndexMismatch(
                f"the trees were built with the summarizer {row.more['summarizer']}; pass it again, or "
                "summarizer=Extractive() to build them anew"
            )


@dataclass(slots=True)
class _Work:
    """One build, and what it has done so far. ``there``: the rows of the trees, by stored ids."""

    plan: Plan
    scope: Scope | None
    store: Store
    trees: Store | None
    documents: Catalogue
    there: dict[str, Row]
    grow: Callable[[Sequence[Sapling], Progress, Tally], Flow[None]]
    timeout: float
    dry_run: bool
    roots: dict[str, list[Twig]] = field(default_factory=dict)  # of each document's tree, by shown ids
    tally: Tally = field(default_factory=Tally)
    built: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    summaries: int = 0
    failed: list[FailedSummary] = field(default_factory=list)
    failed_owners: set[str] = field(default_factory=set)

    def run(self, show: bool | None) -> Flow[None]:
        """Build what is not there."""
        todo: list[str] = []
        for shown, row in sorted(self.documents.rows.items()):
            if row.version is None:
                continue
            if not row.hash:
                lost = LeafspanError("leaves of the document are missing, as doctor() has found; add it again")
                self.failed.append(FailedSummary(shown, 0, lost))
                self.failed_owners.add(self._stored(shown))
            else:
                (self.unchanged if self._is_built(shown) else todo).append(shown)
        leaves = sum(self.documents.rows[shown].leaves for shown in todo)
        progress = Progress(leaves, show=show, what="Building trees", unit=" leaves")
        try:
            yield from self._build(todo, progress)
            if self._goes_on:
                yield from self._load_roots(progress)
                if not self.failed:
                    yield from self._build_above(progress)
        finally:
            progress.close()

    @property
    def _goes_on(self) -> bool:
        """Whether there are to be layers above the documents' trees."""
        return self.plan.across or self.plan.partition_by is not None

    def _is_built(self, shown: str) -> bool:
        tree = self.there.get(self._stored(shown))
        if tree is None or tree.version is None or tree.litter:
            return False
        return tree.hash == self._hash(self.documents.rows[shown])

    def _stored(self, shown: str) -> str:
        return self.documents.stored_id(shown) or shown

    def _hash(self, row: Row) -> str:
        return hashlib.sha256(json.dumps([row.hash, row.version, self.plan.identity]).encode()).hexdigest()

    def _build(self, todo: Sequence[str], progress: Progress) -> Flow[None]:
        """The trees of these documents, written group by group."""
        for rows in grouped([self.documents.rows[shown] for shown in todo], _GROUP):
            group = [row.document_id for row in rows]
            planted = yield from reading(self.store, partial(self._plant, group=group), self.scope)
            yield from self.grow([sapling for _, sapling in planted], progress, self.tally)
            coming = []
            for row, sapling in planted:
                if sapling.failures:
                    self._report(sapling)
                    continue
                self.built.append(sapling.name)
                self.summaries += len(sapling.nodes)
                if self._goes_on:
                    self.roots[sapling.name] = [sapling.twigs[place] for place in sapling.roots]
                coming.append(tree_of(row, sapling, self.plan.summarizer.identity))
            yield from self._write(coming)

    def _plant(self, reader: Reader, group: Sequence[str]) -> Flow[list[tuple[Row, Sapling]]]:
        """The documents as they are now, ready to grow, and the rows that their trees will have."""
        view = yield from reader.catalogue()
        rows = {id_: row for id_ in group if (row := view.rows.get(id_)) is not None and row.version is not None}
        twigs = yield from leaf_twigs(reader, {id_: range(row.leaves) for id_, row in rows.items()})
        planted = []
        for id_, row in rows.items():
            tree = self._tree_row(view.stored_id(id_) or id_, row)
            node_id = partial(numbered, tree.document_id, tree.version or "")
            planted.append((tree, Sapling(id_, tree.document_id, twigs[id_], node_id, row.title)))
        return planted

    def _tree_row(self, stored: str, row: Row) -> Row:
        digest = self._hash(row)
        old = self.there.get(stored)
        version = VERSION_MARK + digest[:7]
        if old is not None and old.version == version and old.hash != digest:
            version = VERSION_MARK + digest[7:14]
        return Row(stored, digest, version, 0, title=row.title, more={"of": row.version})

    def _report(self, sapling: Sapling) -> None:
        self.failed += [FailedSummary(sapling.name, layer, error) for layer, error in sapling.failures]
        self.failed_owners.add(sapling.owner)

    def _load_roots(self, progress: Progress) -> Flow[None]:
        """The roots of the trees that were there; trees that are not whole any more are built anew."""
        if self.trees is None or not self.unchanged:
            return
        found = yield from reading(self.trees, self._summary_roots)
        bare = yield from reading(self.store, self._leaf_roots, self.scope)
        whole = [shown for shown in self.unchanged if shown in found and shown in bare]
        self.roots.update((shown, [*bare[shown], *found[shown]]) for shown in whole)
        lost = [shown for shown in self.unchanged if shown not in self.roots]
        self.unchanged = whole
        yield from self._build(lost, progress)

    def _summary_roots(self, reader: Reader) -> Flow[dict[str, list[Twig]]]:
        rows = yield from reader.rows()
        for id_ in map(self._stored, self.unchanged):
            # Another builder, or a deletion, may have come between.
            if id_ in rows:
                self.there[id_] = rows[id_]
            else:
                self.there.pop(id_, None)
        shown = {self._stored(id_): id_ for id_ in self.unchanged if self._is_built(id_)}
        found = yield from root_twigs(reader, [self.there[id_] for id_ in shown])
        return {shown[id_]: twigs for id_, twigs in found.items()}

    def _leaf_roots(self, reader: Reader) -> Flow[dict[str, list[Twig]]]:
        """Of trees in which some leaves have no summary; of others none."""
        now = (yield from reader.catalogue()).rows
        trees = {id_: self.there[self._stored(id_)].more for id_ in self.unchanged if self._stored(id_) in self.there}
        same = {id_: more["bare"] for id_, more in trees.items() if id_ in now and now[id_].version == more["of"]}
        return (yield from leaf_twigs(reader, same))

    def _build_above(self, progress: Progress) -> Flow[None]:
        """The layers above the trees, in place of those that the view had. Where one fails, what it had stays."""
        view = view_name(self.scope)
        saplings = layers_to_grow(self.roots, self.documents, self.plan.partition_by)
        yield from self.grow(saplings, progress, self.tally)
        wanted: dict[str, Coming] = {}
        kept = set()
        for sapling in saplings:
            if sapling.failures:
                self._report(sapling)
                kept.add(sapling.name)
                continue
            for twig in sapling.nodes:
                coming = layer_of(twig, view, sapling.name, self.plan.summarizer.identity)
                wanted.setdefault(coming.row.document_id, coming)
        new = [coming for coming in wanted.values() if not self._is_there(coming.row)]
        self.summaries += len(new)
        yield from self._write(new)
        own = [row for row in self.there.values() if row.more.get("view") == view]
        old = [row for row in own if row.document_id not in wanted and row.more["label"] not in kept]
        if self.trees is not None and not self.dry_run:
            yield from deleting_trees(self.trees, old, self.timeout)

    def _is_there(self, row: Row) -> bool:
        old = self.there.get(row.document_id)
        return old is not None and (old.version, old.hash) == (row.version, row.hash) and not old.litter

    def _write(self, coming: Sequence[Coming]) -> Flow[None]:
        if self.trees is None or self.dry_run or not coming:
            return
        writer = yield from self.trees.start_writing(self.timeout, [each.row.document_id for each in coming])
        try:
            yield from recover(writer)
            yield from writer.replace(coming)
        finally:
            writer.stop()
        self.there.update((each.row.document_id, each.row) for each in coming)

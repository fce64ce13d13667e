"""Building the trees of an index: document by document, then the layers above."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from leafspan.embedding import Embed
from leafspan.engine import Flow, Progress
from leafspan.errors import IndexMismatch
from leafspan.store import Catalogue, DocumentToWrite, Reader, Row, Scope, Store, Texts, read_consistently
from leafspan.tree._cleanup import Before, remove_unused
from leafspan.tree._document_trees import DocumentTrees
from leafspan.tree._dry_run import DryRunSummarizer
from leafspan.tree._growing import TreeGrower
from leafspan.tree._layers import layers_to_grow
from leafspan.tree._plan import Plan
from leafspan.tree._report import Report, TreesBuilt
from leafspan.tree._stored_trees import LAYERS, layer_tree
from leafspan.tree._summary_cache import LanguageModelCache, LayerCache, SummaryCache, key_prefix, view_name
from leafspan.tree._tree_record import TreeRecord
from leafspan.tree._tree_rows import TreeRows
from leafspan.tree._trees import Trees


class BuildOptions(NamedTuple):
    """What a build needs of an index: how to embed, whose documents, and how long to wait for another writer."""

    embed: Embed
    title_weight: float
    scope: Scope | None
    timeout: float
    progress: bool | None
    dry_run: bool


def build_trees(trees: Trees, plan: Plan, store: Store, options: BuildOptions) -> Flow[TreesBuilt]:
    """Build the trees of what the view shows, document by document, then the layers above. Each group is written at once.

    Raises:
        IndexMismatch: if the trees there were built with another summarizer, and none was given.
        WriterBusy: if another writer holds the index for longer than the timeout.
    """
    scope, dry_run = options.scope, options.dry_run
    opened = (yield from trees.existing()) if dry_run else (yield from trees.made())
    tree_store = opened.store if opened else None
    rows = dict((yield from read_consistently(tree_store, Reader.rows))) if tree_store else {}
    documents: Catalogue = yield from read_consistently(store, Reader.catalogue, scope)
    _check_summarizer(plan, rows, documents, scope)
    texts = tree_store.texts(options.timeout) if tree_store else None
    before = Before(dict(rows), (yield from texts.keys()) if texts and not dry_run else set())
    stand_in = DryRunSummarizer(plan.summarizer) if dry_run else None
    report = Report()
    tree_rows = TreeRows(tree_store, rows, options.timeout, read_only=dry_run)
    grower = TreeGrower(
        plan.clusterer,
        stand_in or plan.summarizer,
        plan.max_layers,
        embed=None if dry_run else options.embed,
        title_weight=options.title_weight,
        cache=_cache(plan, texts, tree_store, rows, dry_run=dry_run),
        key_prefix=key_prefix(scope),
    )
    document_trees = DocumentTrees(plan, store, scope, documents, tree_rows, grower, report)
    yield from _build(document_trees, options.progress)
    if tree_store is not None and not dry_run:
        failed = {LAYERS, *report.failed_owners} if report.failed else set[str]()
        yield from remove_unused(store, tree_store, before, failed, scope, options.timeout)
    return TreesBuilt(
        tuple(report.built),
        len(report.unchanged),
        report.summaries,
        report.tally.asked,
        report.tally.reused,
        stand_in.words_sent if stand_in else 0,
        stand_in.words_received if stand_in else 0,
        tuple(report.failed),
    )


def _check_summarizer(plan: Plan, rows: Mapping[str, Row], documents: Catalogue, scope: Scope | None) -> None:
    """Check that nobody who has paid a language model loses its summaries for having forgotten to name it."""
    if plan.summarizer_was_given:
        return
    view = view_name(scope)
    for id_, row in rows.items():
        record = TreeRecord.of(row)
        is_own = documents.shown_id(id_) is not None or record.view == view
        if is_own and row.version is not None and record.summarizer != plan.summarizer.identity:
            raise IndexMismatch(
                f"the trees were built with the summarizer {record.summarizer}; pass it again, or "
                "summarizer=Extractive() to build them anew"
            )


def _cache(plan: Plan, texts: Texts | None, store: Store | None, rows: Mapping[str, Row], *, dry_run: bool) -> SummaryCache:
    return LanguageModelCache(texts, read_only=dry_run) if plan.summarizer.asks else LayerCache(store, rows)


def _build(documents: DocumentTrees, show: bool | None) -> Flow[None]:
    todo = documents.to_build()
    leaves = sum(documents.documents.rows[shown].leaves for shown in todo)
    bar = Progress(leaves, show=show, what="Building trees", unit=" leaves")
    try:
        yield from documents.build(todo, bar)
        if documents.plan.has_upper_layers:
            yield from documents.load_roots(bar)
            if not documents.report.failed:
                yield from _build_upper_layers(documents, bar)
    finally:
        bar.close()


def _build_upper_layers(below: DocumentTrees, bar: Progress) -> Flow[None]:
    """Build the layers above the trees, in place of those that the view had. Where one fails, what it had stays."""
    view, trees, report = view_name(below.scope), below.trees, below.report
    drafts = layers_to_grow(below.roots, below.documents, below.plan.partition_by)
    yield from below.grower.grow(drafts, report.tally, bar)
    wanted: dict[str, DocumentToWrite] = {}
    failed_labels = set()
    for draft in drafts:
        if draft.failures:
            report.add_failures(draft)
            failed_labels.add(draft.name)
            continue
        for node in draft.summaries:
            tree = layer_tree(node, view, draft.name, below.plan.summarizer.identity)
            wanted.setdefault(tree.row.document_id, tree)
    new = [tree for tree in wanted.values() if not _is_there(tree.row, trees)]
    report.summaries += len(new)
    yield from trees.write(new)
    records = {id_: TreeRecord.of(row) for id_, row in trees.rows.items()}
    yield from trees.delete(
        [
            row
            for id_, row in trees.rows.items()
            if records[id_].view == view and id_ not in wanted and records[id_].label not in failed_labels
        ]
    )


def _is_there(row: Row, trees: TreeRows) -> bool:
    old = trees.rows.get(row.document_id)
    return old is not None and (old.version, old.hash) == (row.version, row.hash) and not old.leftovers

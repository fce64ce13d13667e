"""Building the trees of an index: document by document, then the layers above them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from leafspan.embedding import Embed
from leafspan.errors import IndexMismatch
from leafspan.flows import Flow, Progress
from leafspan.store import Catalogue, DocumentToWrite, Reader, Row, Scope, Store, Texts, read_consistently
from leafspan.trees._cleanup import StateBeforeBuild, remove_unused
from leafspan.trees._document_trees import DocumentTrees
from leafspan.trees._dry_run import DryRunSummarizer
from leafspan.trees._growing import TreeGrower
from leafspan.trees._layers import layers_to_grow
from leafspan.trees._plan import Plan
from leafspan.trees._report import Report, TreesBuilt
from leafspan.trees._stored_trees import UPPER_LAYERS, layer_tree
from leafspan.trees._summary_cache import LanguageModelCache, LayerCache, SummaryCache, key_prefix, view_name
from leafspan.trees._tree_record import TreeRecord
from leafspan.trees._tree_rows import TreeRows
from leafspan.trees._trees import Trees


class BuildOptions(NamedTuple):
    """The index's settings that a build of trees needs.

    Attributes:
        embed: What embeds summaries.
        title_weight: Weight of a document's title in the vectors of its summaries, >= 0.
        scope: The view to build in, None for the whole index.
        timeout: Seconds to wait for another writer.
        progress: Whether to show a bar. None shows it only in a terminal or a notebook.
        dry_run: Whether to report only what would be done.
    """

    embed: Embed
    title_weight: float
    scope: Scope | None
    timeout: float
    progress: bool | None
    dry_run: bool


def build_trees(trees: Trees, plan: Plan, store: Store, options: BuildOptions) -> Flow[TreesBuilt]:
    """Build the trees of the visible documents, then the layers above them, and write trees in groups.

    Raises:
        IndexMismatch: if the existing trees were built with another summarizer, and the call gives no summarizer.
        WriterBusy: if another writer holds the index for longer than the timeout.
    """
    scope, dry_run = options.scope, options.dry_run
    opened = (yield from trees.existing()) if dry_run else (yield from trees.created())
    tree_store = opened.store if opened else None
    rows = dict((yield from read_consistently(tree_store, Reader.rows))) if tree_store else {}
    documents: Catalogue = yield from read_consistently(store, Reader.unpacked, scope)
    _check_summarizer(plan, rows, documents, scope)
    texts = tree_store.texts(options.timeout) if tree_store else None
    before = StateBeforeBuild(dict(rows), (yield from texts.keys()) if texts and not dry_run else set())
    dry_run_summarizer = DryRunSummarizer(plan.summarizer) if dry_run else None
    report = Report()
    tree_rows = TreeRows(tree_store, rows, options.timeout, read_only=dry_run)
    grower = TreeGrower(
        plan.clusterer,
        dry_run_summarizer or plan.summarizer,
        plan.max_layers,
        embed=None if dry_run else options.embed,
        title_weight=options.title_weight,
        cache=_summary_cache(plan, texts, tree_store, rows, dry_run=dry_run),
        key_prefix=key_prefix(scope),
    )
    yield from _build(DocumentTrees(plan, store, scope, documents, tree_rows, grower, report), options.progress)
    if tree_store is not None and not dry_run:
        failed = {UPPER_LAYERS, *report.failed_owners} if report.failed else set[str]()
        yield from remove_unused(store, tree_store, before, failed, scope, options.timeout)
    return _trees_built(report, dry_run_summarizer)


def _check_summarizer(plan: Plan, rows: Mapping[str, Row], documents: Catalogue, scope: Scope | None) -> None:
    """Refuse to replace a language model's summaries because the user did not name the summarizer."""
    if plan.summarizer_was_given:
        return
    view = view_name(scope)
    for id_, row in rows.items():
        record = TreeRecord.of(row)
        is_own = documents.shown_id(id_) is not None or record.view == view
        if is_own and row.version is not None and record.summarizer != plan.summarizer.identity:
            raise IndexMismatch(
                f"the trees were built with the summarizer {record.summarizer}; pass it again, or "
                "summarizer=Extractive() to build them again"
            )


def _summary_cache(
    plan: Plan, texts: Texts | None, store: Store | None, rows: Mapping[str, Row], *, dry_run: bool
) -> SummaryCache:
    """The cache: all answers of a language model; for other summarizers, which are cheap, the upper layers only."""
    return LanguageModelCache(texts, read_only=dry_run) if plan.summarizer.asks else LayerCache(store, rows)


def _build(document_trees: DocumentTrees, show: bool | None) -> Flow[None]:
    to_build = document_trees.to_build()
    leaves = sum(document_trees.documents.rows[shown].leaves for shown in to_build)
    bar = Progress(leaves, show=show, what="Building trees", unit=" leaves")
    try:
        yield from document_trees.build(to_build, bar)
        if document_trees.plan.has_upper_layers:
            yield from document_trees.load_roots(bar)
            if not document_trees.report.failed:
                yield from _build_upper_layers(document_trees, bar)
    finally:
        bar.close()


def _build_upper_layers(document_trees: DocumentTrees, bar: Progress) -> Flow[None]:
    """Build the layers above the documents' trees, and delete the view's outdated layers.

    If a summary fails, the old layers over the same documents stay.
    """
    view, trees, report = view_name(document_trees.scope), document_trees.trees, document_trees.report
    drafts = layers_to_grow(document_trees.roots, document_trees.documents, document_trees.plan.partition_by)
    yield from document_trees.grower.grow(drafts, report.tally, bar)
    wanted: dict[str, DocumentToWrite] = {}
    failed_labels = set()
    for draft in drafts:
        if draft.failures:
            report.add_failures(draft)
            failed_labels.add(draft.name)
            continue
        for node in draft.summaries:
            tree = layer_tree(node, view, draft.name, document_trees.plan.summarizer.identity)
            wanted.setdefault(tree.row.document_id, tree)
    new = [tree for tree in wanted.values() if not _is_stored(tree.row, trees)]
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


def _is_stored(row: Row, trees: TreeRows) -> bool:
    """Whether the tree is stored with this version and hash, and without leftovers."""
    old = trees.rows.get(row.document_id)
    return old is not None and (old.version, old.hash) == (row.version, row.hash) and not old.leftovers


def _trees_built(report: Report, dry_run_summarizer: DryRunSummarizer | None) -> TreesBuilt:
    return TreesBuilt(
        tuple(report.built),
        len(report.unchanged),
        report.summaries,
        report.tally.asked,
        report.tally.reused,
        dry_run_summarizer.words_sent if dry_run_summarizer else 0,
        dry_run_summarizer.words_received if dry_run_summarizer else 0,
        tuple(report.failed),
    )

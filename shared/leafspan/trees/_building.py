"""Building the trees of an index: document by document, then the layers above them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from leafspan.checks import RESERVED_ID_PREFIX, STRUCTURE_KEY
from leafspan.embedding import Embed
from leafspan.engines import StaleRead
from leafspan.errors import DamagedIndex, IndexMismatch
from leafspan.flows import Flow, Progress
from leafspan.store import Catalogue, DocumentToWrite, Reader, Row, Scope, Store, Texts, grouped, read_consistently
from leafspan.trees._growing import TreeDraft, TreeGrower, TreeNode
from leafspan.trees._plan import FailedSummary, Plan, TreesBuilt
from leafspan.trees._records import UPPER_LAYERS, TreeRecord, fetch_summaries, key_prefix, view_name
from leafspan.trees._trees import StateBeforeBuild, TreeRows, Trees, delete_trees, remove_unused
from leafspan.values import SUMMARY_VERSION, Covered, LeafId, leaf_ids


class BuildOptions(NamedTuple):
    """The index's settings that a build of trees needs."""

    embed: Embed
    title_weight: float  # of a document's title in the vectors of its summaries, >= 0
    scope: Scope | None  # the view to build in, None for the whole index
    timeout: float  # seconds to wait for another writer
    progress: bool | None  # whether to show a bar; None shows it only in a terminal or a notebook


def build_trees(trees: Trees, plan: Plan, store: Store, options: BuildOptions) -> Flow[TreesBuilt]:
    """Build the trees of the visible documents, then the layers above them, and write trees in groups."""
    scope = options.scope
    tree_store = (yield from trees.created()).store
    rows = dict((yield from read_consistently(tree_store, Reader.rows)))
    documents: Catalogue = yield from read_consistently(store, Reader.unpacked, scope)
    _check_summarizer(plan, rows, documents, scope)
    texts = Texts(tree_store, options.timeout)
    before = StateBeforeBuild(dict(rows), (yield from texts.keys()))
    grower = TreeGrower(
        plan.clusterer,
        plan.summarizer,
        plan.max_layers,
        embed=options.embed,
        title_weight=options.title_weight,
        # The answers of a model are stored. Other summaries are cheap.
        cache=texts if plan.summarizer.asks else _LayerCache(tree_store, rows),
        key_prefix=key_prefix(scope),
    )
    build = DocumentTrees(plan, store, scope, documents, TreeRows(tree_store, rows, options.timeout), grower)
    outdated = build.outdated()
    leaves = sum(documents.rows[shown].leaves for shown in outdated)
    bar = Progress(leaves, show=options.progress, what="Building trees", unit=" leaves")
    try:
        yield from build.build(outdated, bar)
        if plan.across_documents:
            yield from build.load_roots(bar)
            if not build.failed:
                yield from _build_upper_layers(build, bar)
    finally:
        bar.close()
    failed = {UPPER_LAYERS, *build.failed_owners} if build.failed else set[str]()
    yield from remove_unused(store, tree_store, before, failed, scope, options.timeout)
    for each in (store, tree_store):
        if each.lost_vectors() == 0:  # noticed when this build opened Chroma
            (yield from each.start_writing(options.timeout, None)).stop()  # it first writes what the segments have
    counts = len(build.unchanged), build.summaries, grower.requests, grower.reused
    return TreesBuilt(tuple(build.built), *counts, tuple(build.failed))


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


def _build_upper_layers(build: DocumentTrees, bar: Progress) -> Flow[None]:
    """Build the layers above the documents' trees, and delete outdated ones. If a summary fails, the old layers stay."""
    view, trees, documents = view_name(build.scope), build.trees, build.documents
    nodes = []
    for shown, roots in sorted(build.roots.items()):
        # A single root covers its whole document. Summaries above list the document's id instead of every run.
        nodes += [replace(roots[0], covers=(documents.stored_id(shown) or shown,))] if len(roots) == 1 else roots
    draft = TreeDraft("all documents", UPPER_LAYERS, nodes, partial(_upper_summary_id, view))
    yield from build.grower.grow([draft], bar)
    if draft.failures:
        build.add_failures(draft)
        return
    made = [_layer_tree(node, view, build.plan.summarizer.identity) for node in draft.summaries]
    layers = {tree.row.document_id: tree for tree in made}
    new = [tree for id_, tree in layers.items() if not trees.has(id_, tree.row.hash)]
    build.summaries += len(new)
    yield from trees.write(new)
    outdated = [row for id_, row in trees.rows.items() if id_ not in layers and TreeRecord.of(row).view == view]
    yield from delete_trees(trees.store, outdated, trees.timeout)


_GROUP = 10_000  # leaves of a group of documents whose trees are built together


@dataclass(slots=True)
class DocumentTrees:
    """Builds the trees of the visible documents, and collects what was done so far. Ids are shown ids."""

    plan: Plan
    store: Store  # of the documents
    scope: Scope | None  # the view to build in, None for the whole index
    documents: Catalogue  # visible at the start of the build
    trees: TreeRows
    grower: TreeGrower
    roots: dict[str, list[TreeNode]] = field(default_factory=dict)  # the top of each tree, if the plan has upper layers
    built: list[str] = field(default_factory=list)  # documents whose trees are new
    unchanged: list[str] = field(default_factory=list)  # documents whose trees are up to date
    summaries: int = 0  # number written
    failed: list[FailedSummary] = field(default_factory=list)
    failed_owners: set[str] = field(default_factory=set)  # stored ids of documents; ``UPPER_LAYERS`` for layers above

    def outdated(self) -> list[str]:
        """The shown ids of documents with outdated trees. Others are noted as unchanged, damaged documents as failed."""
        outdated: list[str] = []
        for shown, row in sorted(self.documents.rows.items()):
            if row.version is None and row.damage is None:
                continue
            if not row.hash:
                lost = DamagedIndex("the document is damaged; call repair(), then add it again", shown)
                self.failed.append(FailedSummary(shown, 0, lost))
                self.failed_owners.add(self._stored_id(shown))
            else:
                (self.unchanged if self._is_built(shown) else outdated).append(shown)
        return outdated

    def build(self, ids: Sequence[str], bar: Progress, *, are_lost: bool = False) -> Flow[None]:
        for rows in grouped([self.documents.rows[shown] for shown in ids], _GROUP):
            group = [row.document_id for row in rows]
            drafts = yield from read_consistently(self.store, partial(self._drafts, group=group), self.scope)
            yield from self.grower.grow([draft for _, draft in drafts], bar)
            to_write = []
            for row, draft in drafts:
                if draft.failures:
                    self.add_failures(draft)
                    continue
                self.built.append(draft.name)
                self.summaries += len(draft.summaries)
                if self.plan.across_documents:
                    self.roots[draft.name] = [draft.nodes[place] for place in draft.roots]
                to_write.append(_document_tree(row, draft, self.plan.summarizer.identity))
            yield from self.trees.write(to_write, are_lost=are_lost)

    def load_roots(self, bar: Progress) -> Flow[None]:
        """Load the tops of the unchanged trees. A tree that is no longer whole is built again."""
        if not (unchanged := self.unchanged):
            return
        # This leaves damaged trees out, and they are built again.
        summaries = yield from read_consistently(self.trees.store, self._summary_roots, leave_out=True)
        leaves = yield from read_consistently(self.store, self._leaf_roots, self.scope)
        whole = [shown for shown in unchanged if shown in summaries and shown in leaves]
        self.roots.update((shown, [*leaves[shown], *summaries[shown]]) for shown in whole)
        others = [shown for shown in unchanged if shown not in self.roots]
        self.unchanged = whole
        lost = {shown for shown in others if self._is_built(shown)}
        yield from self.build(sorted(lost), bar, are_lost=True)
        yield from self.build([shown for shown in others if shown not in lost], bar)  # another build has replaced them

    def add_failures(self, draft: TreeDraft) -> None:
        self.failed += [FailedSummary(draft.name, layer, error) for layer, error in draft.failures]
        self.failed_owners.add(draft.owner)

    def _drafts(self, reader: Reader, group: Sequence[str]) -> Flow[list[tuple[Row, TreeDraft]]]:
        """A draft for each current document of the group, with the row of its future tree."""
        visible = yield from reader.catalogue()
        rows = {id_: row for id_ in group if (row := visible.rows.get(id_)) is not None and row.version is not None}
        nodes = yield from _leaf_nodes(reader, {id_: range(row.leaves) for id_, row in rows.items()})
        drafts = []
        for id_, row in rows.items():
            tree = self._tree_row(visible.stored_id(id_) or id_, row)
            node_id = partial(_summary_id, tree.document_id, tree.version or "")
            drafts.append((tree, TreeDraft(id_, tree.document_id, nodes[id_], node_id, row.title)))
        return drafts

    def _tree_row(self, stored_id: str, row: Row) -> Row:
        """The row of a document's future tree, without the fields that depend on its summaries."""
        digest = self._hash(row)
        old = self.trees.rows.get(stored_id)
        version = SUMMARY_VERSION + digest[:7]
        # Two digests can have the same start, but two versions must differ.
        if old is not None and old.version == version and old.hash != digest:
            version = SUMMARY_VERSION + digest[7:14]
        return Row(stored_id, digest, version, 0, title=row.title, extra={"of": row.version})

    def _summary_roots(self, reader: Reader) -> Flow[dict[str, list[TreeNode]]]:
        """The summaries at the tops of the unchanged trees that still exist, by shown id."""
        rows: Mapping[str, Row] = yield from reader.rows()
        unchanged = self.unchanged
        for id_ in map(self._stored_id, unchanged):
            # Another build, or a deletion, may have changed the trees meanwhile.
            if id_ in rows:
                self.trees.rows[id_] = rows[id_]
            else:
                self.trees.rows.pop(id_, None)
        shown_ids = {self._stored_id(shown): shown for shown in unchanged if self._is_built(shown)}
        roots = yield from _root_nodes(reader, [self.trees.rows[id_] for id_ in shown_ids])
        return {shown_ids[id_]: nodes for id_, nodes in roots.items()}

    def _leaf_roots(self, reader: Reader) -> Flow[dict[str, list[TreeNode]]]:
        """The leaves below no summary of each unchanged tree whose document has not changed since, by shown id."""
        documents = (yield from reader.catalogue()).rows
        rows = {id_: self.trees.rows.get(self._stored_id(id_)) for id_ in self.unchanged}
        records = {id_: TreeRecord.of(row) for id_, row in rows.items() if row is not None}
        bare = {
            id_: record.bare
            for id_, record in records.items()
            if id_ in documents and documents[id_].version == record.document_version
        }
        return (yield from _leaf_nodes(reader, bare))

    def _is_built(self, shown: str) -> bool:
        return self.trees.has(self._stored_id(shown), self._hash(self.documents.rows[shown]))

    def _stored_id(self, shown: str) -> str:
        return self.documents.stored_id(shown) or shown

    def _hash(self, row: Row) -> str:
        """A hash of everything that a document's tree depends on."""
        return hashlib.sha256(json.dumps([row.hash, row.version, self.plan.identity]).encode()).hexdigest()


def _summary_id(tree_id: str, version: str, number: int, children: Sequence[str], key: str) -> str:
    """The id of a summary in a document's tree: its number identifies it, so children and key are not needed."""
    return str(LeafId(tree_id, version, number))


def _leaf_nodes(reader: Reader, wanted: Mapping[str, Iterable[int]]) -> Flow[dict[str, list[TreeNode]]]:
    """Leaves as nodes, by the shown ids of their documents."""
    visible = yield from reader.catalogue()
    versions = {shown: visible.rows[shown].version or "" for shown in wanted}
    ids = [LeafId(shown, versions[shown], ordinal) for shown, ordinals in wanted.items() for ordinal in ordinals]
    leaves = yield from reader.fetch_leaves(ids)
    vectors = yield from reader.fetch_vectors(list(map(str, ids)))
    if len(leaves) < len(ids):
        raise StaleRead
    nodes: dict[str, list[TreeNode]] = {shown: [] for shown in wanted}
    for id_ in ids:
        leaf, stored = leaves[id_].leaf, visible.stored_id(id_.document_id) or id_.document_id
        cover = Covered(stored, leaf.version, leaf.ordinal, leaf.ordinal, leaf.start, leaf.end)
        stored_id = str(id_._replace(document_id=stored))
        nodes[id_.document_id].append(TreeNode(stored_id, leaves[id_].text, leaf.words, vectors[str(id_)], 0, (cover,)))
    return nodes


def _root_nodes(reader: Reader, rows: Iterable[Row]) -> Flow[dict[str, list[TreeNode]]]:
    """The summaries at the tops of trees as nodes, by the id of the tree. A tree with a missing summary is left out."""
    tops = {row.document_id: leaf_ids(row.document_id, row.version or "", TreeRecord.of(row).tops) for row in rows}
    records = yield from fetch_summaries(reader, [id_ for ids in tops.values() for id_ in ids])
    vectors = yield from reader.fetch_vectors(list(records))
    nodes = {
        id_: TreeNode(id_, text, record.words, vectors[id_], record.layer, record.covers, record)
        for id_, (text, record) in records.items()
    }
    return {tree: [nodes[id_] for id_ in ids] for tree, ids in tops.items() if all(id_ in nodes for id_ in ids)}


def _upper_summary_id(view: str, number: int, children: Sequence[str], key: str) -> str:
    """The id of a view's summary of several documents, which stays the same as long as its children and their texts do."""
    name = hashlib.sha256(json.dumps([view, children]).encode()).hexdigest()[:16]
    version = hashlib.sha256(json.dumps([children, key]).encode()).hexdigest()[:7]
    return str(LeafId(f"{RESERVED_ID_PREFIX}layer:{name}", SUMMARY_VERSION + version, 0))


def _document_tree(row: Row, draft: TreeDraft, summarizer: str) -> DocumentToWrite:
    summaries = draft.summaries
    record = TreeRecord(
        layers=[node.layer for node in summaries],
        tops=[place - draft.base for place in draft.roots if place >= draft.base],
        bare=[place for place in draft.roots if place < draft.base],
        keys=[node.record.key for node in summaries if node.record],
        summarizer=summarizer,
        document_version=row.extra["of"],
    )
    words = sum(node.words for node in summaries)
    return _to_write(replace(row, leaves=len(summaries), words=words, extra=record.pack()), summaries)


def _layer_tree(node: TreeNode, view: str, summarizer: str) -> DocumentToWrite:
    """A summary of several documents, ready to be written."""
    assert node.record is not None
    leaf = LeafId.parse(node.id)
    children, key = list(node.record.children), node.record.key
    record = TreeRecord([node.layer], tops=[0], bare=[], keys=[key], summarizer=summarizer, view=view, children=children)
    return _to_write(Row(leaf.document_id, key, leaf.version, 1, words=node.words, extra=record.pack()), [node])


def _to_write(row: Row, nodes: Sequence[TreeNode]) -> DocumentToWrite:
    metadatas = [{STRUCTURE_KEY: node.record.pack()} for node in nodes if node.record]
    return DocumentToWrite(row, [node.text for node in nodes], metadatas, [node.vector for node in nodes])


class _LayerCache:
    """The stored summaries of several documents, as the cache for summarizers whose answers are not stored."""

    def __init__(self, store: Store, rows: Mapping[str, Row]) -> None:
        self._store = store
        upper = [row for row in rows.values() if row.version is not None and not TreeRecord.of(row).is_of_document]
        self._ids = {row.hash: str(LeafId(row.document_id, row.version or "", 0)) for row in upper}

    def get(self, keys: Sequence[str]) -> Flow[dict[str, str]]:
        """The texts of the stored summaries with these keys. Damaged summaries are left out, and so made again."""
        key_of = {self._ids[key]: key for key in keys if key in self._ids}
        if not key_of:
            return {}
        records = yield from read_consistently(
            self._store, lambda reader: Reader.fetch_records(reader, list(key_of)), leave_out=True
        )
        return {key_of[id_]: text for id_, (text, _) in records.items()}

    def put_all(self, texts: Mapping[str, tuple[str, str]]) -> Flow[None]:
        """No write: the stored summaries are the cache."""
        yield from ()

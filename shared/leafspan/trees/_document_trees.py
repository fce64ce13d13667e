"""Building the trees of documents: new and changed documents get new trees, the other trees stay."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from leafspan.errors import DamagedIndex
from leafspan.flows import Flow, Progress
from leafspan.store import Catalogue, Reader, Row, Scope, Store, grouped, read_consistently
from leafspan.trees._growing import TreeDraft, TreeGrower, TreeNode
from leafspan.trees._plan import Plan
from leafspan.trees._report import FailedSummary, Report
from leafspan.trees._stored_trees import document_tree, leaf_nodes, root_nodes, summary_id
from leafspan.trees._tree_record import TreeRecord
from leafspan.trees._tree_rows import TreeRows
from leafspan.values import SUMMARY_VERSION

_GROUP = 10_000  # leaves of a group of documents whose trees are built together


@dataclass(slots=True)
class DocumentTrees:
    """Builds the trees of the visible documents.

    Attributes:
        plan: How to build.
        store: The store of the documents.
        scope: The view to build in, None for the whole index.
        documents: The visible documents at the start of the build.
        trees: The rows of the trees.
        grower: The grower of the trees.
        report: What was done so far.
        roots: The nodes at the top of each tree, by the shown id of its document. Filled only if the plan has upper layers.
    """

    plan: Plan
    store: Store
    scope: Scope | None
    documents: Catalogue
    trees: TreeRows
    grower: TreeGrower
    report: Report
    roots: dict[str, list[TreeNode]] = field(default_factory=dict)

    def to_build(self) -> list[str]:
        """The shown ids of the documents whose trees are not up to date.

        Adds the other documents to the report as unchanged, and damaged documents as failed.
        """
        outdated: list[str] = []
        for shown, row in sorted(self.documents.rows.items()):
            if row.version is None and row.damage is None:
                continue
            if not row.hash:
                lost = DamagedIndex("the document is damaged; call repair(), then add it again", shown)
                self.report.failed.append(FailedSummary(shown, 0, lost))
                self.report.failed_owners.add(self._stored_id(shown))
            else:
                (self.report.unchanged if self._is_built(shown) else outdated).append(shown)
        return outdated

    def build(self, ids: Sequence[str], bar: Progress, *, are_lost: bool = False) -> Flow[None]:
        """Build the trees of these documents, and write them in groups."""
        for rows in grouped([self.documents.rows[shown] for shown in ids], _GROUP):
            group = [row.document_id for row in rows]
            drafts = yield from read_consistently(self.store, partial(self._drafts, group=group), self.scope)
            yield from self.grower.grow([draft for _, draft in drafts], self.report.tally, bar)
            to_write = []
            for row, draft in drafts:
                if draft.failures:
                    self.report.add_failures(draft)
                    continue
                self.report.built.append(draft.name)
                self.report.summaries += len(draft.summaries)
                if self.plan.has_upper_layers:
                    self.roots[draft.name] = [draft.nodes[place] for place in draft.roots]
                to_write.append(document_tree(row, draft, self.plan.summarizer.identity))
            yield from self.trees.write(to_write, are_lost=are_lost)

    def load_roots(self, bar: Progress) -> Flow[None]:
        """Load the tops of the unchanged trees. A tree that is no longer whole is built again."""
        unchanged = self.report.unchanged
        if self.trees.store is None or not unchanged:
            return
        # Damaged trees are built again.
        summaries = yield from read_consistently(self.trees.store, self._summary_roots, leave_out=True)
        leaves = yield from read_consistently(self.store, self._leaf_roots, self.scope)
        whole = [shown for shown in unchanged if shown in summaries and shown in leaves]
        self.roots.update((shown, [*leaves[shown], *summaries[shown]]) for shown in whole)
        lost = [shown for shown in unchanged if shown not in self.roots]
        self.report.unchanged = whole
        yield from self.build(lost, bar, are_lost=True)

    def _drafts(self, reader: Reader, group: Sequence[str]) -> Flow[list[tuple[Row, TreeDraft]]]:
        """A draft for each current document of the group, with the row of its future tree."""
        visible = yield from reader.catalogue()
        rows = {id_: row for id_ in group if (row := visible.rows.get(id_)) is not None and row.version is not None}
        nodes = yield from leaf_nodes(reader, {id_: range(row.leaves) for id_, row in rows.items()})
        drafts = []
        for id_, row in rows.items():
            tree = self._tree_row(visible.stored_id(id_) or id_, row)
            node_id = partial(summary_id, tree.document_id, tree.version or "")
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
        unchanged = self.report.unchanged
        for id_ in map(self._stored_id, unchanged):
            # Another build, or a deletion, may have changed the trees meanwhile.
            if id_ in rows:
                self.trees.rows[id_] = rows[id_]
            else:
                self.trees.rows.pop(id_, None)
        shown_ids = {self._stored_id(shown): shown for shown in unchanged if self._is_built(shown)}
        roots = yield from root_nodes(reader, [self.trees.rows[id_] for id_ in shown_ids])
        return {shown_ids[id_]: nodes for id_, nodes in roots.items()}

    def _leaf_roots(self, reader: Reader) -> Flow[dict[str, list[TreeNode]]]:
        """For each unchanged tree the leaves below no summary, by shown id.

        The list is empty if every leaf is below a summary. A tree whose document has changed since is left out.
        """
        documents = (yield from reader.catalogue()).rows
        rows = {id_: self.trees.rows.get(self._stored_id(id_)) for id_ in self.report.unchanged}
        records = {id_: TreeRecord.of(row) for id_, row in rows.items() if row is not None}
        bare = {
            id_: record.bare
            for id_, record in records.items()
            if id_ in documents and documents[id_].version == record.document_version
        }
        return (yield from leaf_nodes(reader, bare))

    def _is_built(self, shown: str) -> bool:
        return self.trees.has(self._stored_id(shown), self._hash(self.documents.rows[shown]))

    def _stored_id(self, shown: str) -> str:
        return self.documents.stored_id(shown) or shown

    def _hash(self, row: Row) -> str:
        """A hash of everything that a document's tree depends on."""
        return hashlib.sha256(json.dumps([row.hash, row.version, self.plan.identity]).encode()).hexdigest()

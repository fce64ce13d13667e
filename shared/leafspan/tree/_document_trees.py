"""Building the trees of documents: what is new or has changed is made, the rest stays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from leafspan.engine import Flow, Progress
from leafspan.errors import LeafspanError
from leafspan.store import Catalogue, Reader, Row, Scope, Store, grouped, read_consistently
from leafspan.tree._growing import TreeDraft, TreeGrower, TreeNode
from leafspan.tree._plan import Plan
from leafspan.tree._report import FailedSummary, Report
from leafspan.tree._stored_trees import document_tree, leaf_nodes, numbered, root_nodes
from leafspan.tree._tree_record import TreeRecord
from leafspan.tree._tree_rows import TreeRows
from leafspan.values import SUMMARY_VERSION

_GROUP = 10_000  # leaves whose trees are made at a time


@dataclass(slots=True)
class DocumentTrees:
    """Builds the trees of the documents that a view shows. ``roots`` has the tops of each tree, by shown ids."""

    plan: Plan
    store: Store
    scope: Scope | None
    documents: Catalogue
    trees: TreeRows
    grower: TreeGrower
    report: Report
    roots: dict[str, list[TreeNode]] = field(default_factory=dict)

    def to_build(self) -> list[str]:
        """The documents whose trees are not up to date. The others, and those that have lost leaves, are reported."""
        todo: list[str] = []
        for shown, row in sorted(self.documents.rows.items()):
            if row.version is None:
                continue
            if not row.hash:
                lost = LeafspanError("leaves of the document are missing, as doctor() has found; add it again")
                self.report.failed.append(FailedSummary(shown, 0, lost))
                self.report.failed_owners.add(self._stored(shown))
            else:
                (self.report.unchanged if self._is_built(shown) else todo).append(shown)
        return todo

    def build(self, todo: Sequence[str], bar: Progress) -> Flow[None]:
        """Build the trees of these documents, written group by group."""
        for rows in grouped([self.documents.rows[shown] for shown in todo], _GROUP):
            group = [row.document_id for row in rows]
            drafts = yield from read_consistently(self.store, partial(self._drafts, group=group), self.scope)
            yield from self.grower.grow([draft for _, draft in drafts], self.report.tally, bar)
            finished = []
            for row, draft in drafts:
                if draft.failures:
                    self.report.add_failures(draft)
                    continue
                self.report.built.append(draft.name)
                self.report.summaries += len(draft.summaries)
                if self.plan.has_upper_layers:
                    self.roots[draft.name] = [draft.nodes[place] for place in draft.roots]
                finished.append(document_tree(row, draft, self.plan.summarizer.identity))
            yield from self.trees.write(finished)

    def load_roots(self, bar: Progress) -> Flow[None]:
        """Load the tops of the trees that were there. Trees that are not whole any more are built again."""
        unchanged = self.report.unchanged
        if self.trees.store is None or not unchanged:
            return
        found = yield from read_consistently(self.trees.store, self._summary_roots)
        bare = yield from read_consistently(self.store, self._leaf_roots, self.scope)
        whole = [shown for shown in unchanged if shown in found and shown in bare]
        self.roots.update((shown, [*bare[shown], *found[shown]]) for shown in whole)
        lost = [shown for shown in unchanged if shown not in self.roots]
        self.report.unchanged = whole
        yield from self.build(lost, bar)

    def _drafts(self, reader: Reader, group: Sequence[str]) -> Flow[list[tuple[Row, TreeDraft]]]:
        """The documents as they are now, ready to grow, and the rows that their trees will have."""
        visible = yield from reader.catalogue()
        rows = {id_: row for id_ in group if (row := visible.rows.get(id_)) is not None and row.version is not None}
        nodes = yield from leaf_nodes(reader, {id_: range(row.leaves) for id_, row in rows.items()})
        drafts = []
        for id_, row in rows.items():
            tree = self._tree_row(visible.stored_id(id_) or id_, row)
            node_id = partial(numbered, tree.document_id, tree.version or "")
            drafts.append((tree, TreeDraft(id_, tree.document_id, nodes[id_], node_id, row.title)))
        return drafts

    def _tree_row(self, stored: str, row: Row) -> Row:
        digest = self._hash(row)
        old = self.trees.rows.get(stored)
        version = SUMMARY_VERSION + digest[:7]
        if old is not None and old.version == version and old.hash != digest:
            version = SUMMARY_VERSION + digest[7:14]
        return Row(stored, digest, version, 0, title=row.title, extra={"of": row.version})

    def _summary_roots(self, reader: Reader) -> Flow[dict[str, list[TreeNode]]]:
        rows: Mapping[str, Row] = yield from reader.rows()
        unchanged = self.report.unchanged
        for id_ in map(self._stored, unchanged):
            # Another builder, or a deletion, may have come between.
            if id_ in rows:
                self.trees.rows[id_] = rows[id_]
            else:
                self.trees.rows.pop(id_, None)
        shown = {self._stored(id_): id_ for id_ in unchanged if self._is_built(id_)}
        found = yield from root_nodes(reader, [self.trees.rows[id_] for id_ in shown])
        return {shown[id_]: nodes for id_, nodes in found.items()}

    def _leaf_roots(self, reader: Reader) -> Flow[dict[str, list[TreeNode]]]:
        """The leaves that no summary was made of, of each tree; none for a tree that has no such leaves."""
        now = (yield from reader.catalogue()).rows
        rows = {id_: self.trees.rows.get(self._stored(id_)) for id_ in self.report.unchanged}
        records = {id_: TreeRecord.of(row) for id_, row in rows.items() if row is not None}
        same = {
            id_: record.bare
            for id_, record in records.items()
            if id_ in now and now[id_].version == record.document_version
        }
        return (yield from leaf_nodes(reader, same))

    def _is_built(self, shown: str) -> bool:
        return self.trees.has(self._stored(shown), self._hash(self.documents.rows[shown]))

    def _stored(self, shown: str) -> str:
        return self.documents.stored_id(shown) or shown

    def _hash(self, row: Row) -> str:
        return hashlib.sha256(json.dumps([row.hash, row.version, self.plan.identity]).encode()).hexdigest()

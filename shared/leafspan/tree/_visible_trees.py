"""Which summaries can be seen: those of which everything that they cover can be."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from leafspan.filters import Where
from leafspan.store import Catalogue, Row, Selection, shown_rows
from leafspan.strategies import TreeRoot
from leafspan.tree._tree_record import TreeRecord
from leafspan.values import LeafId, leaf_ids


@dataclass(frozen=True, slots=True)
class TreeVisibility:
    """Sees the summaries of what ``documents`` shows, which is the index, or a view of it, at one moment.

    A tree counts as long as the version of the document that it was made of does; a summary of several documents as long
    as all that it was made of do. So nothing need be done to a tree when a document is changed, deleted or moved to
    another tenant: from that moment on it is not seen.

    ``name``: only the layers above the documents' trees that were built in this view are seen, and those of ``label`` that
    were built in the whole index, which are over just the documents of this view. Which documents others have clustered
    together depends on what else they see, even where only documents are covered that this view shows. None: all.
    """

    documents: Catalogue
    shares_statistics: bool
    name: str | None = None
    label: str | None = None

    def visible(self, everything: Catalogue) -> VisibleTrees:
        """The trees that are visible."""
        rows = everything.rows
        if self.name is not None:
            rows = {id_: row for id_, row in rows.items() if self._is_own(TreeRecord.of(row))}
        return VisibleTrees(rows, self.documents)

    def _is_own(self, record: TreeRecord) -> bool:
        view = self.name if record.view is None else record.view
        return view == self.name or (view == "" and self.label is not None and self.label == record.label)


class VisibleTrees(Catalogue):
    """The trees by the ids under which their documents are shown; those of several documents by their own."""

    def __init__(self, rows: Mapping[str, Row], documents: Catalogue) -> None:
        self.documents = documents
        self._trees = rows
        self._records = {id_: TreeRecord.of(row) for id_, row in rows.items()}
        # By stored ids: the documents that each visible tree covers.
        self._covered: dict[str, frozenset[str] | None] = {}
        for id_ in rows:
            self._covers(id_)
        stored = {
            documents.shown_id(id_) or id_: id_
            for id_, covered in self._covered.items()
            if covered is not None and id_ in rows
        }
        super().__init__(shown_rows(rows, stored), stored)

    def layer(self, summary: LeafId) -> int:
        """The layer of a summary, which goes by the shown id of its document."""
        return TreeRecord.of(self.rows[summary.document_id]).layers[summary.ordinal]

    def roots(self, where: Where | None) -> list[TreeRoot]:
        """The highest summaries that are visible among documents that match, in the order of shown ids and places.

        A document without a tree, or one whose tree is out of date, has its leaves for roots.
        """
        chosen = self.select(where).ids
        below = {child for id_ in chosen for child in self._records[id_].children or ()}
        found = [root for id_ in chosen for root in self._tops(id_, below)]
        for id_ in self.documents.select(where).ids:
            row = self.documents.rows[self.documents.shown_id(id_) or id_]
            ordinals = self._records[id_].bare if id_ in chosen else range(row.leaves)
            leaves = [LeafId(id_, row.version or "", ordinal) for ordinal in ordinals]
            found += [
                TreeRoot(str(leaf._replace(document_id=row.document_id)), 0) for leaf in leaves if str(leaf) not in below
            ]
        return sorted(found, key=_order)

    def nodes(self, where: Where | None, layer: int) -> list[str]:
        """The ids of all summaries of a layer, in the same order."""
        chosen = self.select(where).ids
        found = [
            TreeRoot(root, layer)
            for id_ in chosen
            for root in self._summaries(id_, [n for n, its in enumerate(self._records[id_].layers) if its == layer])
        ]
        return [root.id for root in sorted(found, key=_order)]

    def summaries(self, document_id: str | None) -> list[str]:
        """The ids of all summaries, or of the tree of the document shown under this id: by document, top layer first."""
        rows = self.rows if document_id is None else {id_: row for id_, row in self.rows.items() if id_ == document_id}
        found = [
            (id_, -layer, number, row.version or "")
            for id_, row in rows.items()
            for number, layer in enumerate(TreeRecord.of(row).layers)
        ]
        return [str(LeafId(id_, version, number)) for id_, _, number, version in sorted(found)]

    def _choose(self, where: Where | None) -> Selection:
        """The trees that cover nothing but documents that match."""
        documents = self.documents.select(where).ids
        ids = frozenset(id_ for id_, covered in self._covered.items() if covered is not None and covered <= documents)
        return Selection(ids, sum(self._trees[id_].leaves for id_ in ids))

    def _tops(self, id_: str, below: Collection[str]) -> Iterator[TreeRoot]:
        """The tops of a tree that no other tree was made of."""
        record, version = self._records[id_], self._trees[id_].version or ""
        tops = [number for number in record.tops if str(LeafId(id_, version, number)) not in below]
        return (TreeRoot(id_, record.layers[n]) for n, id_ in zip(tops, self._summaries(id_, tops), strict=True))

    def _summaries(self, id_: str, numbers: Sequence[int]) -> list[str]:
        """The shown ids of summaries of a tree."""
        return leaf_ids(self._shown_ids[id_], self._trees[id_].version or "", numbers)

    def _covers(self, id_: str) -> frozenset[str] | None:
        """The documents, by stored ids, that a tree covers; None if it is not visible."""
        if id_ in self._covered:
            return self._covered[id_]
        row = self._trees.get(id_)
        covered: frozenset[str] | None = None
        if row is not None and row.version is not None:
            record = self._records[id_]
            if record.children is not None:
                covered = self._union(record.children)
            elif self._is_current(id_, record.document_version):
                covered = frozenset([id_])
        self._covered[id_] = covered
        return covered

    def _union(self, children: Sequence[str]) -> frozenset[str] | None:
        """The documents that children cover together; None if one of them is not visible."""
        documents: set[str] = set()
        for child in map(LeafId.parse, children):
            if child.is_summary:
                row = self._trees.get(child.document_id)
                same = row is not None and row.version == child.version
                covered = self._covers(child.document_id) if same else None
                if covered is None:
                    return None
                documents |= covered
            elif self._is_current(child.document_id, child.version):
                documents.add(child.document_id)
            else:
                return None
        return frozenset(documents)

    def _is_current(self, id_: str, version: str | None) -> bool:
        """Whether the document is visible in this version."""
        shown = self.documents.shown_id(id_)
        return shown is not None and self.documents.rows[shown].version == version

    @cached_property
    def _shown_ids(self) -> dict[str, str]:
        return {id_: self.shown_id(id_) or id_ for id_ in self._trees}


def _order(root: TreeRoot) -> LeafId:
    return LeafId.parse(root.id)

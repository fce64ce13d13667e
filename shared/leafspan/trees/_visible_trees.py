"""Decides which summaries are visible: they must cover only visible documents."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from leafspan.filters import Where
from leafspan.store import Catalogue, Row, Selection, shown_rows
from leafspan.strategies import TreeRoot
from leafspan.trees._records import TreeRecord
from leafspan.values import LeafId


@dataclass(frozen=True, slots=True)
class TreeVisibility:
    """The trees that a reader may see, as a ``Visibility``: the summaries of visible documents.

    A tree is visible while the version of the document that it was built from is current. A summary of several documents is
    visible while all of its children are. So a document can be changed, deleted or moved to another tenant without touching
    its tree, which becomes invisible at that moment.

    Layers above the documents' trees can be limited further, to layers that the view has built itself. Other views cluster
    documents together with documents that this view does not show, so their clusters would reveal these, even in a summary
    that covers only shown documents.
    """

    documents: Catalogue
    shares_statistics: bool
    name: str | None = None  # of a view that shows only its own layers above the documents' trees

    def visible(self, everything: Catalogue) -> VisibleTrees:
        rows: Mapping[str, Row] = everything.unpacked().rows
        if self.name is not None:
            rows = {id_: row for id_, row in rows.items() if TreeRecord.of(row).view in {None, self.name}}
        return VisibleTrees(rows, self.documents)


class VisibleTrees(Catalogue):
    """The visible trees, by the shown ids of their documents; summaries of several documents by their own ids."""

    def __init__(self, rows: Mapping[str, Row], documents: Catalogue) -> None:
        self.documents = documents
        self.cached_roots: dict[tuple[Where | None, int | None], Sequence[TreeRoot]] = {}
        self._trees = rows
        self._records = {id_: TreeRecord.of(row) for id_, row in rows.items()}
        # The documents of each tree, None if the tree is not visible; all by stored ids.
        self._covered: dict[str, frozenset[str] | None] = {}
        for id_ in rows:
            self._covers(id_)
        stored = {
            documents.shown_id(id_) or id_: id_
            for id_, covered in self._covered.items()
            if id_ in rows and (covered is not None or self._is_reported(rows[id_]))
        }
        super().__init__(shown_rows(rows, stored), stored)

    def layer(self, summary: LeafId) -> int:
        return TreeRecord.of(self.rows[summary.document_id]).layers[summary.ordinal]

    def roots(self, where: Where | None) -> list[TreeRoot]:
        """Summaries and leaves below no summary, by shown document id, then position; all leaves without a current tree."""
        chosen = self.select(where).ids
        below = {child for id_ in chosen for child in self._records[id_].children or ()}
        roots = [root for id_ in chosen for root in self._tops(id_, below)]
        for id_ in self.documents.select(where).ids:
            row = self.documents.rows[self.documents.shown_id(id_) or id_]
            ordinals = self._records[id_].bare if id_ in chosen else range(row.leaves)
            leaves = [LeafId(id_, row.version or "", ordinal) for ordinal in ordinals]
            roots += [TreeRoot(leaf._replace(document_id=row.document_id), 0) for leaf in leaves if str(leaf) not in below]
        return sorted(roots)

    def nodes(self, where: Where | None, layer: int) -> list[LeafId]:
        """The shown ids of the summaries of a layer, by document id, then position."""
        nodes: list[LeafId] = []
        for id_ in self.select(where).ids:
            numbers = [number for number, each in enumerate(self._records[id_].layers) if each == layer]
            nodes += self._summaries(id_, numbers)
        return sorted(nodes)

    def summaries(self, document_id: str | None) -> list[LeafId]:
        """The shown ids of summaries, by document, top layer first."""
        rows = self.rows if document_id is None else {id_: row for id_, row in self.rows.items() if id_ == document_id}
        listed = [
            (id_, -layer, number, row.version or "")
            for id_, row in rows.items()
            for number, layer in enumerate(TreeRecord.of(row).layers)
        ]
        return [LeafId(id_, version, number) for id_, _, number, version in sorted(listed)]

    def _choose(self, where: Where | None) -> Selection:
        """The visible trees that cover only documents that match."""
        documents = self.documents.select(where).ids
        ids = frozenset(id_ for id_, covered in self._covered.items() if covered is not None and covered <= documents)
        return Selection(ids, sum(self._trees[id_].leaves for id_ in ids))

    def _tops(self, id_: str, below: Collection[str]) -> Iterator[TreeRoot]:
        """The tops of a tree that are not in ``below``, the nodes below summaries of several documents."""
        record, version = self._records[id_], self._trees[id_].version or ""
        tops = [number for number in record.tops if str(LeafId(id_, version, number)) not in below]
        return (TreeRoot(id_, record.layers[n]) for n, id_ in zip(tops, self._summaries(id_, tops), strict=True))

    def _summaries(self, id_: str, numbers: Sequence[int]) -> list[LeafId]:
        """The shown ids of the summaries of a tree with these numbers."""
        return [LeafId(self._shown_ids[id_], self._trees[id_].version or "", number) for number in numbers]

    def _covers(self, id_: str) -> frozenset[str] | None:
        """The stored ids of the documents that a tree covers; None if the tree is not visible."""
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
        """The stored ids of the documents that the children cover; None if a child is not visible."""
        documents: set[str] = set()
        for child in map(LeafId.parse, children):
            if child.is_summary:
                row = self._trees.get(child.document_id)
                is_current = row is not None and row.version == child.version
                covered = self._covers(child.document_id) if is_current else None
                if covered is None:
                    return None
                documents |= covered
            elif self._is_current(child.document_id, child.version):
                documents.add(child.document_id)
            else:
                return None
        return frozenset(documents)

    def _is_reported(self, row: Row) -> bool:
        """Whether to report a damaged tree: always in the whole index, in a view if its document is visible."""
        return row.damage is not None and (
            self.documents.shown_id(row.document_id) is not None or not self.documents.is_scoped
        )

    def _is_current(self, id_: str, version: str | None) -> bool:
        """Whether a document (by stored id) is visible, and this version is current."""
        shown = self.documents.shown_id(id_)
        return shown is not None and self.documents.rows[shown].version == version

    @cached_property
    def _shown_ids(self) -> dict[str, str]:
        return {id_: self.shown_id(id_) or id_ for id_ in self._trees}

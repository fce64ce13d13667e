"""Which summaries can be seen: those of which everything that they cover can be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from leafspan.filters import Where
from leafspan.requests import Root
from leafspan.store import Catalogue, Row, Selection, shown_rows
from leafspan.tree.node import is_summary
from leafspan.values import leaf_id


@dataclass(frozen=True, slots=True)
class TreeViewpoint:
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

    def view(self, everything: Catalogue) -> TreeView:
        """What is seen of these trees."""
        rows = everything.rows
        if self.name is not None:
            rows = {id_: row for id_, row in rows.items() if self._is_own(row)}
        return TreeView(rows, self.documents)

    def _is_own(self, row: Row) -> bool:
        view: str | None = row.more.get("view", self.name)
        return view == self.name or (view == "" and self.label is not None and self.label == row.more["label"])


class TreeView(Catalogue):
    """The trees by the ids under which their documents are shown; those of several documents by their own."""

    def __init__(self, rows: Mapping[str, Row], documents: Catalogue) -> None:
        self.documents = documents
        self._trees = rows
        # By stored ids: of each tree that is seen the documents that it covers.
        self._covered: dict[str, frozenset[str] | None] = {}
        for id_ in rows:
            self._covers(id_)
        stored = {
            documents.shown_id(id_) or id_: id_
            for id_, covered in self._covered.items()
            if covered is not None and id_ in rows
        }
        super().__init__(shown_rows(rows, stored), stored)

    def _choose(self, where: Where | None) -> Selection:
        """The trees that cover nothing but documents that match."""
        documents = self.documents.select(where).ids
        ids = frozenset(id_ for id_, covered in self._covered.items() if covered is not None and covered <= documents)
        return Selection(ids, sum(self._trees[id_].leaves for id_ in ids))

    def roots(self, where: Where | None) -> list[Root]:
        """The highest that can be seen among documents that match, in the order of shown ids and places.

        A document without a tree, or one whose tree is out of date, has its leaves for roots.
        """
        chosen = self.select(where).ids
        below = {child for id_ in chosen for child in self._trees[id_].more.get("children", ())}
        shown = self._shown_ids
        found = [
            Root(leaf_id(shown[id_], self._trees[id_].version or "", place), layer)
            for id_ in chosen
            for place, layer in self._tops(id_)
            if leaf_id(id_, self._trees[id_].version or "", place) not in below
        ]
        for id_ in self.documents.select(where).ids:
            name = self.documents.shown_id(id_) or id_
            row = self.documents.rows[name]
            ordinals = self._trees[id_].more["bare"] if id_ in chosen else range(row.leaves)
            found += [
                Root(leaf_id(name, row.version or "", n), 0)
                for n in ordinals
                if leaf_id(id_, row.version or "", n) not in below
            ]
        return sorted(found, key=_place)

    def nodes(self, where: Where | None, layer: int) -> list[str]:
        """The ids of all summaries of a layer, in the same order."""
        shown = self._shown_ids
        found = [
            Root(leaf_id(shown[id_], row.version or "", place), layer)
            for id_ in self.select(where).ids
            for row in [self._trees[id_]]
            for place, its in enumerate(row.more["layers"])
            if its == layer
        ]
        return [root.id for root in sorted(found, key=_place)]

    def summaries(self, document_id: str | None) -> list[str]:
        """The ids of all summaries, or of the tree of the document shown under this id: by document, top layer first."""
        rows = self.rows if document_id is None else {id_: row for id_, row in self.rows.items() if id_ == document_id}
        found = [
            (id_, -layer, place, row.version or "")
            for id_, row in rows.items()
            for place, layer in enumerate(row.more["layers"])
        ]
        return [leaf_id(id_, version, place) for id_, _, place, version in sorted(found)]

    def _tops(self, id_: str) -> Iterator[tuple[int, int]]:
        """Place and layer of the summaries of a tree that no other one of it was made of."""
        more = self._trees[id_].more
        return ((place, more["layers"][place]) for place in more["tops"])

    def _covers(self, id_: str) -> frozenset[str] | None:
        """The documents, by stored ids, that a tree covers; None where it is not seen."""
        if id_ in self._covered:
            return self._covered[id_]
        row = self._trees.get(id_)
        covered: frozenset[str] | None = None
        if row is not None and row.version is not None:
            if "children" in row.more:
                covered = self._union(row.more["children"])
            elif self._counts(id_, row.more["of"]):
                covered = frozenset([id_])
        self._covered[id_] = covered
        return covered

    def _union(self, children: list[str]) -> frozenset[str] | None:
        """What children cover together; None where one of them is not seen."""
        documents: set[str] = set()
        for child in children:
            id_, version, _ = child.rsplit("#", 2)
            if is_summary(child):
                row = self._trees.get(id_)
                covered = self._covers(id_) if row is not None and row.version == version else None
                if covered is None:
                    return None
                documents |= covered
            elif self._counts(id_, version):
                documents.add(id_)
            else:
                return None
        return frozenset(documents)

    def _counts(self, id_: str, version: str) -> bool:
        """Whether the document is seen in this version."""
        shown = self.documents.shown_id(id_)
        return shown is not None and self.documents.rows[shown].version == version

    @cached_property
    def _shown_ids(self) -> dict[str, str]:
        return {id_: self.shown_id(id_) or id_ for id_ in self._trees}


def _place(root: Root) -> tuple[str, str, int]:
    id_, version, ordinal = root.id.rsplit("#", 2)
    return id_, version, int(ordinal)

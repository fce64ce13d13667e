"""Reading summaries beside the documents that they are of, as one retrieval sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leafspan.engine import Flow
from leafspan.nearness import nearest, similarities
from leafspan.requests import Match, Matched, Nearest, Root, Roots
from leafspan.store import Catalogue, Gone, Reader
from leafspan.structure import STRUCTURE_KEY
from leafspan.trace import Trace
from leafspan.tree.node import Node, united
from leafspan.tree.trees import Trees, TreeSources
from leafspan.tree.view import TreeView, TreeViewpoint
from leafspan.values import Covered, Found, Hit, Span, Summary, leaf_id


class SummaryReader:
    """The summaries of what ``documents`` reads, entered when first wanted; whoever is done calls ``leave``.

    Where no tree was ever built there are none. ``stale``: as for a Reader, of trees.
    """

    def __init__(self, trees: Trees, documents: Reader, stale: set[tuple[str, str]]) -> None:
        self._trees = trees
        self._documents = documents
        self._stale = stale
        self._entered: tuple[TreeSources, Reader] | None = None
        self._looked = False

    def enter(self) -> Flow[tuple[TreeSources, Reader] | None]:
        """Where they are, and a reader of those that can be seen."""
        if not self._looked:
            sources = yield from self._trees.existing()
            if sources is not None:
                view = yield from self._documents.catalogue()
                scope = self._documents.scope
                viewpoint = TreeViewpoint(view, scope is None or scope.shares_statistics)
                again = bool(self._stale)
                self._entered = sources, (yield from sources.store.reader(self._stale, scope=viewpoint, again=again))
            self._looked = True
        return self._entered

    def leave(self) -> None:
        """Done."""
        if self._entered is not None:
            self._entered[1].leave()
            self._entered = None
            self._looked = False

    def nearest(self, request: Nearest) -> Flow[list[list[Hit]]]:
        """The nearest to each vector."""
        if (entered := (yield from self.enter())) is None:
            return [[] for _ in request.vectors]
        sources, reader = entered
        return (yield from nearest(reader, sources.copy, request.vectors, request.count, request.where))

    def match(self, request: Match) -> Flow[list[Matched]]:
        """Those that match the words of each question best."""
        if (entered := (yield from self.enter())) is None:
            return [Matched([], 0.0) for _ in request.texts]
        sources, reader = entered
        return (yield from sources.words.match(reader, request))

    def similarities(self, vectors: Any, ids: Sequence[str]) -> Flow[Any]:
        """The cosines of these with each vector."""
        if (entered := (yield from self.enter())) is None:
            raise Gone
        sources, reader = entered
        return (yield from similarities(reader, sources.copy, vectors, ids))

    def view(self) -> Flow[TreeView]:
        """What can be seen of the trees."""
        if (entered := (yield from self.enter())) is None:
            return TreeView({}, (yield from self._documents.catalogue()))
        seen = yield from entered[1].catalogue()
        assert isinstance(seen, TreeView)
        return seen

    def roots(self, request: Roots) -> Flow[list[Root]]:
        """See Roots."""
        view = yield from self.view()
        roots = view.roots(request.where)
        if request.layer is None:
            return roots
        lower = [root for root in roots if root.layer < request.layer]
        return [*(Root(id_, request.layer) for id_ in view.nodes(request.where, request.layer)), *lower]

    def load(self, ids: Sequence[str]) -> Flow[list[tuple[Found, str]]]:
        """What is stored of those that are there, each with its text."""
        if (entered := (yield from self.enter())) is None:
            return []
        _, reader = entered
        records = yield from reader.fetch_records(ids)
        view = yield from self._documents.catalogue()
        return [
            (_found(id_, Node.unpack(metadata[STRUCTURE_KEY]), view), text) for id_, (text, metadata) in records.items()
        ]


def _found(id_: str, node: Node, view: Catalogue) -> Found:
    """The summary as the view shows it."""
    document_id, version, ordinal = id_.rsplit("#", 2)
    place = int(ordinal)
    row = view.rows.get(document_id)
    metadata = {key: row.metadata[key] for key in sorted(row.metadata)} if row else {}
    children = tuple(_shown(child, view) for child in node.children)
    summary = Summary(node.layer, children, united(_run(cover, view) for cover in node.covers))
    span = Span(document_id, version, place, place, (place, 0))
    return Found(span, 0.0, Trace(), metadata, words=node.words, summary=summary)


def _shown(id_: str, view: Catalogue) -> str:
    document_id, version, ordinal = id_.rsplit("#", 2)
    return leaf_id(view.shown_id(document_id) or document_id, version, int(ordinal))


def _run(cover: Covered | str, view: Catalogue) -> Covered:
    """What is covered."""
    if isinstance(cover, Covered):
        return cover._replace(document_id=view.shown_id(cover.document_id) or cover.document_id)
    row = view.rows[view.shown_id(cover) or cover]
    return Covered(row.document_id, row.version or "", 0, row.leaves - 1, 0, row.characters)

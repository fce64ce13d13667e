"""Reading summaries beside the documents that they are of, as one retrieval sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from leafspan.engine import Flow
from leafspan.filters import Where
from leafspan.metadata import copied
from leafspan.nearness import nearest, similarities
from leafspan.requests import Match, Matched, Nearest, Root, Roots
from leafspan.scope import Scope
from leafspan.store import Catalogue, Gone, Reader
from leafspan.structure import STRUCTURE_KEY
from leafspan.trace import Trace
from leafspan.tree.kept import view_name
from leafspan.tree.layers import label_of
from leafspan.tree.node import Node, is_summary, united
from leafspan.tree.trees import Trees, TreeSources
from leafspan.tree.view import TreeView, TreeViewpoint
from leafspan.values import Covered, Found, Hit, Span, Summary, leaf_id

_KEPT = 32  # filters whose roots are kept, of each view
_ROOTS: WeakKeyDictionary[TreeView, dict[tuple[Where | None, int | None], Sequence[Root]]] = WeakKeyDictionary()


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
                shares = scope is None or scope.shares_statistics
                viewpoint = TreeViewpoint(view, shares)
                if isinstance(scope, Scope) and not shares:
                    viewpoint = TreeViewpoint(view, shares, view_name(scope), label_of(scope.where))
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

    def roots(self, request: Roots) -> Flow[Sequence[Root]]:
        """See Roots."""
        view = yield from self.view()
        known = _ROOTS.setdefault(view, {})
        key = request.where, request.layer
        if (roots := known.get(key)) is None:
            roots = view.roots(request.where)
            if request.layer is not None and any(root.layer > request.layer for root in roots):
                roots = yield from self._cut(view, roots, request.where, request.layer)
            if len(known) >= _KEPT:
                known.clear()
            known[key] = roots
        return roots

    def _cut(self, view: TreeView, roots: Sequence[Root], where: Where | None, layer: int) -> Flow[list[Root]]:
        """What is in a layer, and of what is lower the roots and what hangs from above it."""
        top = max(root.layer for root in roots)
        above = [id_ for each in range(layer + 1, top + 1) for id_ in view.nodes(where, each)]
        summaries = {found.span.leaf_ids[0]: found.summary for found, _ in (yield from self.load(above))}
        if len(summaries) < len(above):
            raise Gone
        children = dict.fromkeys(child for each in summaries.values() if each for child in each.children)
        hanging = [root for child in children if (root := Root(child, _layer(child, view))).layer <= layer]
        lower = [root for root in roots if root.layer <= layer]
        return list(dict.fromkeys([*(Root(id_, layer) for id_ in view.nodes(where, layer)), *lower, *hanging]))

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
    children = tuple(_shown(child, view) for child in node.children)
    summary = Summary(node.layer, children, united(_run(cover, view) for cover in node.covers))
    documents = {run.document_id for run in summary.covers}
    metadata = copied(dict(sorted(view.rows[min(documents)].metadata.items()))) if len(documents) == 1 else {}
    span = Span(document_id, version, place, place, (place, 0))
    return Found(span, 0.0, Trace(), metadata, words=node.words, summary=summary)


def _shown(id_: str, view: Catalogue) -> str:
    document_id, version, ordinal = id_.rsplit("#", 2)
    return leaf_id(view.shown_id(document_id) or document_id, version, int(ordinal))


def _layer(id_: str, view: TreeView) -> int:
    document_id, _, place = id_.rsplit("#", 2)
    return view.rows[document_id].more["layers"][int(place)] if is_summary(id_) else 0


def _run(cover: Covered | str, view: Catalogue) -> Covered:
    """What is covered."""
    if isinstance(cover, Covered):
        return cover._replace(document_id=view.shown_id(cover.document_id) or cover.document_id)
    row = view.rows[view.shown_id(cover) or cover]
    return Covered(row.document_id, row.version or "", 0, row.leaves - 1, 0, row.characters)

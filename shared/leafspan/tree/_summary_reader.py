"""Reading summaries beside the documents that they are of, as one retrieval sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from leafspan.documents import copy_metadata
from leafspan.engine import Flow
from leafspan.filters import Where
from leafspan.reserved import STRUCTURE_KEY
from leafspan.search import SearchIndexes, nearest_leaves, similarities
from leafspan.store import Catalogue, Reader, Scope, StaleRead
from leafspan.strategies import LexicalMatches, LexicalSearch, TreeRoot, TreeRoots, VectorSearch
from leafspan.trace import Trace
from leafspan.tree._layers import label_of
from leafspan.tree._summary_cache import view_name
from leafspan.tree._summary_record import SummaryRecord, united
from leafspan.tree._trees import Trees
from leafspan.tree._visible_trees import TreeVisibility, VisibleTrees
from leafspan.values import Candidate, Covered, Hit, LeafId, Span, Summary

_KEPT = 32  # filters whose roots are kept, of each view
_ROOTS: WeakKeyDictionary[VisibleTrees, dict[tuple[Where | None, int | None], Sequence[TreeRoot]]] = WeakKeyDictionary()


class SummaryReader:
    """The summaries of what ``documents`` reads, entered when first wanted; whoever is done calls ``leave``.

    Where no tree was ever built there are none. ``stale``: as for a Reader, of trees.
    """

    def __init__(self, trees: Trees, documents: Reader, stale: set[tuple[str, str]]) -> None:
        self._trees = trees
        self._documents = documents
        self._stale = stale
        self._entered: tuple[SearchIndexes, Reader] | None = None
        self._looked = False

    def enter(self) -> Flow[tuple[SearchIndexes, Reader] | None]:
        """Where they are, and a reader of those that can be seen."""
        if not self._looked:
            sources = yield from self._trees.existing()
            if sources is not None:
                view = yield from self._documents.catalogue()
                scope = self._documents.scope
                shares = scope is None or scope.shares_statistics
                viewpoint = TreeVisibility(view, shares)
                if isinstance(scope, Scope) and not shares:
                    viewpoint = TreeVisibility(view, shares, view_name(scope), label_of(scope.where))
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

    def vector_search(self, request: VectorSearch) -> Flow[list[list[Hit]]]:
        """The nearest to each vector."""
        if (entered := (yield from self.enter())) is None:
            return [[] for _ in request.vectors]
        sources, reader = entered
        return (yield from nearest_leaves(reader, sources.vectors, request.vectors, request.count, request.where))

    def lexical_search(self, request: LexicalSearch) -> Flow[list[LexicalMatches]]:
        """Those that match the words of each question best."""
        if (entered := (yield from self.enter())) is None:
            return [LexicalMatches([], 0.0) for _ in request.texts]
        sources, reader = entered
        return (yield from sources.words.search(reader, request))

    def similarities(self, vectors: Any, ids: Sequence[str]) -> Flow[Any]:
        """The cosines of these with each vector."""
        if (entered := (yield from self.enter())) is None:
            raise StaleRead
        sources, reader = entered
        return (yield from similarities(reader, sources.vectors, vectors, ids))

    def documents(self) -> Flow[Catalogue]:
        """The documents that the summaries are of, as the view shows them."""
        return self._documents.catalogue()

    def visible(self) -> Flow[VisibleTrees]:
        """What can be seen of the trees."""
        if (entered := (yield from self.enter())) is None:
            return VisibleTrees({}, (yield from self._documents.catalogue()))
        seen = yield from entered[1].catalogue()
        assert isinstance(seen, VisibleTrees)
        return seen

    def roots(self, request: TreeRoots) -> Flow[Sequence[TreeRoot]]:
        """See Roots."""
        view = yield from self.visible()
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

    def _cut(self, view: VisibleTrees, roots: Sequence[TreeRoot], where: Where | None, layer: int) -> Flow[list[TreeRoot]]:
        """What is in a layer, and of what is lower the roots and what hangs from above it."""
        top = max(root.layer for root in roots)
        above = [id_ for each in range(layer + 1, top + 1) for id_ in view.nodes(where, each)]
        summaries = {found.id: found.summary for found, _ in (yield from self.load(above))}
        if len(summaries) < len(above):
            raise StaleRead
        children = dict.fromkeys(child for each in summaries.values() if each for child in each.children)
        layers = {child: view.layer(leaf) if (leaf := LeafId.parse(child)).is_summary else 0 for child in children}
        hanging = [TreeRoot(child, its) for child, its in layers.items() if its <= layer]
        lower = [root for root in roots if root.layer <= layer]
        return list(dict.fromkeys([*(TreeRoot(id_, layer) for id_ in view.nodes(where, layer)), *lower, *hanging]))

    def load(self, ids: Sequence[str]) -> Flow[list[tuple[Candidate, str]]]:
        """What is stored of those that are there, each with its text."""
        if (entered := (yield from self.enter())) is None:
            return []
        _, reader = entered
        records = yield from reader.fetch_records(ids)
        documents = yield from self.documents()
        return [
            (_candidate(id_, SummaryRecord.unpack(metadata[STRUCTURE_KEY]), documents), text)
            for id_, (text, metadata) in records.items()
        ]


def _candidate(id_: str, record: SummaryRecord, documents: Catalogue) -> Candidate:
    """The summary as the view shows it."""
    leaf = LeafId.parse(id_)
    children = tuple(_shown(child, documents) for child in record.children)
    summary = Summary(record.layer, children, united(_run(cover, documents) for cover in record.covers))
    covered = {run.document_id for run in summary.covers}
    metadata = copy_metadata(dict(sorted(documents.rows[min(covered)].metadata.items()))) if len(covered) == 1 else {}
    span = Span(leaf.document_id, leaf.version, leaf.ordinal, leaf.ordinal, (leaf.ordinal, 0))
    return Candidate(span, 0.0, Trace(), metadata, words=record.words, summary=summary)


def _shown(id_: str, documents: Catalogue) -> str:
    leaf = LeafId.parse(id_)
    return str(leaf._replace(document_id=documents.shown_id(leaf.document_id) or leaf.document_id))


def _run(cover: Covered | str, documents: Catalogue) -> Covered:
    """What is covered, by shown ids."""
    if isinstance(cover, Covered):
        return cover._replace(document_id=documents.shown_id(cover.document_id) or cover.document_id)
    row = documents.rows[documents.shown_id(cover) or cover]
    return Covered(row.document_id, row.version or "", 0, row.leaves - 1, 0, row.characters)

"""Reads summaries together with their documents during one retrieval."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from leafspan.documents import copy_metadata
from leafspan.engines import StaleRead
from leafspan.filters import Where
from leafspan.flows import Flow
from leafspan.search import SearchIndexes, leaf_vectors, nearest_leaves, similarities
from leafspan.store import Catalogue, Met, Reader, Scope
from leafspan.strategies import LexicalMatches, LexicalSearch, TreeRoot, TreeRoots, VectorSearch
from leafspan.trace import EMPTY_TRACE
from leafspan.trees._layers import label_of
from leafspan.trees._stored_summaries import fetch_summaries
from leafspan.trees._summary_cache import view_name
from leafspan.trees._summary_record import SummaryRecord, united
from leafspan.trees._trees import Trees
from leafspan.trees._visible_trees import TreeVisibility, VisibleTrees
from leafspan.values import Candidate, Covered, Hit, LeafId, Span, Summary

_CACHE_SIZE = 32  # filters whose roots are cached for each catalogue
_ROOTS: WeakKeyDictionary[VisibleTrees, dict[tuple[Where | None, int | None], Sequence[TreeRoot]]] = WeakKeyDictionary()


class SummaryReader:
    """The visible summaries, for one attempt at a retrieval. It has no summaries if no tree was ever built.

    The trees are opened when they are first needed. Call ``leave`` when done.
    """

    def __init__(self, trees: Trees, documents: Reader, met: Met) -> None:
        self._trees = trees
        self._documents = documents
        self._met = met
        self._opened: tuple[SearchIndexes, Reader] | None = None
        self._has_looked = False

    def enter(self) -> Flow[tuple[SearchIndexes, Reader] | None]:
        """The trees' search indexes and a reader of the visible summaries, or None if no tree was ever built."""
        if not self._has_looked:
            indexes = yield from self._trees.existing()
            if indexes is not None:
                visibility = yield from self._visibility()
                again = bool(self._met)
                self._opened = indexes, (yield from indexes.store.reader(self._met, scope=visibility, again=again))
            self._has_looked = True
        return self._opened

    def leave(self) -> None:
        """Close the reader of the summaries. The next read opens it again."""
        if self._opened is not None:
            self._opened[1].leave()
            self._opened = None
            self._has_looked = False

    def warn_of_left_out(self) -> Collection[str]:
        """The documents whose trees are damaged, and so were left out. A warning names them once."""
        return self._opened[1].warn_of_left_out() if self._opened is not None else ()

    def vector_search(self, request: VectorSearch) -> Flow[list[list[Hit]]]:
        """See VectorSearch: the summaries nearest to each vector, best first."""
        yield from self._documents.whole_catalogue()
        if (opened := (yield from self.enter())) is None:
            return [[] for _ in request.vectors]
        indexes, reader = opened
        return (yield from nearest_leaves(reader, indexes.vectors, request.vectors, request.count, request.where))

    def lexical_search(self, request: LexicalSearch) -> Flow[list[LexicalMatches]]:
        """See LexicalSearch: the summaries that match the words of each question best."""
        yield from self._documents.whole_catalogue()
        if (opened := (yield from self.enter())) is None:
            return [LexicalMatches([], 0.0) for _ in request.texts]
        indexes, reader = opened
        return (yield from indexes.words.search(reader, request))

    def similarities(self, vectors: Any, ids: Sequence[str]) -> Flow[Any]:
        """The cosines of vectors (rows) with summaries (columns).

        Raises:
            StaleRead: if a summary is no longer there.
        """
        if (opened := (yield from self.enter())) is None:
            raise StaleRead
        indexes, reader = opened
        return (yield from similarities(reader, indexes.vectors, vectors, ids))

    def vectors(self, ids: Sequence[str]) -> Flow[Any]:
        """The vectors of at least one summary, a row each.

        Raises:
            StaleRead: if a summary is no longer there.
        """
        if (opened := (yield from self.enter())) is None:
            raise StaleRead
        indexes, reader = opened
        return (yield from leaf_vectors(reader, indexes.vectors, ids))

    def documents(self) -> Flow[Catalogue]:
        """The visible documents."""
        return self._documents.catalogue()

    def visible(self) -> Flow[VisibleTrees]:
        """The visible trees."""
        if (opened := (yield from self.enter())) is None:
            return VisibleTrees({}, (yield from self._documents.catalogue()))
        visible = yield from opened[1].whole_catalogue()
        assert isinstance(visible, VisibleTrees)
        return visible

    def has_trees(self) -> Flow[bool]:
        """See HasTrees."""
        return (yield from self.enter()) is not None

    def roots(self, request: TreeRoots) -> Flow[Sequence[TreeRoot]]:
        """See TreeRoots."""
        yield from self._documents.whole_catalogue()
        visible = yield from self.visible()
        cached = _ROOTS.setdefault(visible, {})
        key = request.where, request.layer
        if (roots := cached.get(key)) is None:
            roots = visible.roots(request.where)
            if request.layer is not None and any(root.layer > request.layer for root in roots):
                roots = yield from self._roots_up_to(request.layer, visible, roots, request.where)
            if len(cached) >= _CACHE_SIZE:
                cached.clear()
            cached[key] = roots
        return roots

    def _visibility(self) -> Flow[TreeVisibility]:
        """The visibility of trees for the reader of the documents."""
        documents = yield from self._documents.catalogue()
        scope = self._documents.scope
        shares_statistics = scope is None or scope.shares_statistics
        if isinstance(scope, Scope) and not shares_statistics:
            return TreeVisibility(documents, shares_statistics, view_name(scope), label_of(scope.where))
        return TreeVisibility(documents, shares_statistics)

    def _roots_up_to(
        self, layer: int, visible: VisibleTrees, roots: Sequence[TreeRoot], where: Where | None
    ) -> Flow[list[TreeRoot]]:
        """The roots of the trees without the layers above ``layer``.

        They are the summaries of that layer, the roots of lower trees, and lower children of the removed summaries.
        """
        top = max(root.layer for root in roots)
        above = [id_ for each in range(layer + 1, top + 1) for id_ in visible.nodes(where, each)]
        summaries = {candidate.id: candidate.summary for candidate, _ in (yield from self.load(above))}
        if len(summaries) < len(above):
            raise StaleRead
        children = dict.fromkeys(child for each in summaries.values() if each for child in each.children)
        layers = {child: visible.layer(leaf) if (leaf := LeafId.parse(child)).is_summary else 0 for child in children}
        cut_off = [TreeRoot(child, its_layer) for child, its_layer in layers.items() if its_layer <= layer]
        lower = [root for root in roots if root.layer <= layer]
        return list(dict.fromkeys([*(TreeRoot(id_, layer) for id_ in visible.nodes(where, layer)), *lower, *cut_off]))

    def load(self, ids: Sequence[str]) -> Flow[list[tuple[Candidate, str]]]:
        """Summaries as candidates with score 0, each with its text. A summary that is no longer there is left out."""
        if (opened := (yield from self.enter())) is None:
            return []
        indexes, reader = opened
        if ids:
            yield from indexes.keep_up(reader)
        records = yield from fetch_summaries(reader, ids)
        documents = yield from self.documents()
        yield from reader.refuse(
            {id_: problem for id_, (_, record) in records.items() if (problem := _problem(id_, record, documents))}
        )
        return [(_candidate(id_, record, documents), text) for id_, (text, record) in records.items()]


def _problem(id_: str, record: SummaryRecord, documents: Catalogue) -> str | None:
    """The defect of a visible summary's record, or None if the summary covers leaves of visible documents."""
    for cover in record.covers:
        document_id = cover if isinstance(cover, str) else cover.document_id
        row = documents.rows.get(documents.shown_id(document_id) or "")
        if row is None or (
            isinstance(cover, Covered)
            and (cover.version != row.version or cover.last >= row.leaves or cover.end > row.characters)
        ):
            return f"its summary {LeafId.parse(id_).ordinal} covers leaves that are not there"
    return None


def _candidate(id_: str, record: SummaryRecord, documents: Catalogue) -> Candidate:
    """A summary as a candidate, with shown ids."""
    leaf = LeafId.parse(id_)
    children = tuple(_shown_id(child, documents) for child in record.children)
    summary = Summary(record.layer, children, united(_shown_run(cover, documents) for cover in record.covers))
    covered = {run.document_id for run in summary.covers}
    metadata = copy_metadata(dict(sorted(documents.rows[min(covered)].metadata.items()))) if len(covered) == 1 else {}
    span = Span(leaf.document_id, leaf.version, leaf.ordinal, leaf.ordinal, (leaf.ordinal, 0))
    return Candidate(span, 0.0, EMPTY_TRACE, metadata, words=record.words, summary=summary)


def _shown_id(id_: str, documents: Catalogue) -> str:
    """The shown id of a leaf or a summary."""
    leaf = LeafId.parse(id_)
    return str(leaf._replace(document_id=documents.shown_id(leaf.document_id) or leaf.document_id))


def _shown_run(cover: Covered | str, documents: Catalogue) -> Covered:
    """A covered run of leaves with its document's shown id; a document's id covers all of its leaves."""
    if isinstance(cover, Covered):
        return cover._replace(document_id=documents.shown_id(cover.document_id) or cover.document_id)
    row = documents.rows[documents.shown_id(cover) or cover]
    return Covered(row.document_id, row.version or "", 0, row.leaves - 1, 0, row.characters)

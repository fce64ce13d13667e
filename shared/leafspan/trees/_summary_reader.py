"""Reads summaries together with their documents during one retrieval."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple, TypeVar

from leafspan.documents import copy_metadata
from leafspan.engines import StaleRead
from leafspan.filters import Where
from leafspan.flows import Flow
from leafspan.search import SearchIndexes, leaf_vectors, nearest_leaves, similarities
from leafspan.store import Catalogue, Reader, ReadHistory, Row, Scope, Store, outline_of, read_consistently
from leafspan.strategies import LexicalMatches, LexicalSearch, TreeRoot, TreeRoots, VectorSearch
from leafspan.text import display
from leafspan.trace import EMPTY_TRACE
from leafspan.trees._records import SummaryRecord, TreeRecord, fetch_summaries, united, view_name
from leafspan.trees._trees import Trees
from leafspan.trees._visible_trees import TreeVisibility, VisibleTrees
from leafspan.values import Candidate, Covered, Hit, LeafId, Passage, Span, Summary

_CACHE_SIZE = 32  # filters whose roots are cached for each catalogue


class SummaryReader:
    """The visible summaries, for one attempt at a retrieval. Trees are opened when they are first needed."""

    def __init__(self, trees: Trees, documents: Reader, history: ReadHistory) -> None:
        self.documents = documents
        self._trees = trees
        self._history = history
        self._opened: tuple[SearchIndexes, Reader] | None = None
        self._has_looked = False

    def enter(self) -> Flow[tuple[SearchIndexes, Reader] | None]:
        """The trees' search indexes and a reader of the visible summaries, or None if no tree was ever built."""
        if not self._has_looked:
            indexes = yield from self._trees.existing()
            if indexes is not None:
                documents, scope = (yield from self.documents.catalogue()), self.documents.scope
                is_shared = scope is None or scope.shares_statistics
                name = view_name(scope) if isinstance(scope, Scope) and not is_shared else None
                visibility, again = TreeVisibility(documents, is_shared, name), bool(self._history)
                self._opened = indexes, (yield from indexes.store.reader(self._history, scope=visibility, again=again))
            self._has_looked = True
        return self._opened

    def warn_of_left_out(self) -> Collection[str]:
        """The documents whose trees are damaged, and so were left out. A warning names them once."""
        return self._opened[1].warn_of_left_out() if self._opened is not None else ()

    def vector_search(self, request: VectorSearch) -> Flow[list[list[Hit]]]:
        """The summaries nearest to each vector, best first."""
        yield from self.documents.whole_catalogue()
        if (opened := (yield from self.enter())) is None:
            return [[] for _ in request.vectors]
        indexes, reader = opened
        return (yield from nearest_leaves(reader, indexes.vectors, request.vectors, request.count, request.where))

    def lexical_search(self, request: LexicalSearch) -> Flow[list[LexicalMatches]]:
        """The summaries that match the words of each question best."""
        yield from self.documents.whole_catalogue()
        if (opened := (yield from self.enter())) is None:
            return [LexicalMatches([], 0.0) for _ in request.texts]
        indexes, reader = opened
        return (yield from indexes.words.search(reader, request))

    def similarities(self, vectors: Any, ids: Sequence[LeafId]) -> Flow[Any]:
        """The cosines of vectors (rows) with summaries (columns)."""
        if (opened := (yield from self.enter())) is None:
            raise StaleRead
        indexes, reader = opened
        return (yield from similarities(reader, indexes.vectors, vectors, ids))

    def vectors(self, ids: Sequence[LeafId]) -> Flow[Any]:
        if (opened := (yield from self.enter())) is None:
            raise StaleRead
        indexes, reader = opened
        return (yield from leaf_vectors(reader, indexes.vectors, ids))

    def visible(self) -> Flow[VisibleTrees]:
        if (opened := (yield from self.enter())) is None:
            return VisibleTrees({}, (yield from self.documents.catalogue()))
        visible = yield from opened[1].whole_catalogue()
        assert isinstance(visible, VisibleTrees)
        return visible

    def has_trees(self) -> Flow[bool]:
        """Whether any tree was ever built."""
        return (yield from self.enter()) is not None

    def roots(self, request: TreeRoots) -> Flow[Sequence[TreeRoot]]:
        """The tops of the visible trees, without the layers above ``request.layer``."""
        yield from self.documents.whole_catalogue()
        visible = yield from self.visible()
        cached = visible.cached_roots
        key = request.where, request.layer
        if (roots := cached.get(key)) is None:
            roots = visible.roots(request.where)
            if request.layer is not None and any(root.layer > request.layer for root in roots):
                roots = yield from self._roots_up_to(request.layer, visible, roots, request.where)
            if len(cached) >= _CACHE_SIZE:
                cached.clear()
            cached[key] = roots
        return roots

    def _roots_up_to(
        self, layer: int, visible: VisibleTrees, roots: Sequence[TreeRoot], where: Where | None
    ) -> Flow[list[TreeRoot]]:
        """The summaries of a layer, the roots of lower trees, and lower children of the summaries above the layer."""
        top = max(root.layer for root in roots)
        above = [id_ for each in range(layer + 1, top + 1) for id_ in visible.nodes(where, each)]
        summaries = {candidate.id: candidate.summary for candidate, _ in (yield from self.load(above))}
        if len(summaries) < len(above):
            raise StaleRead
        children = [LeafId.parse(child) for each in summaries.values() if each for child in each.children]
        layers = {child: visible.layer(child) if child.is_summary else 0 for child in children}
        cut_off = [TreeRoot(child, its_layer) for child, its_layer in layers.items() if its_layer <= layer]
        lower = [root for root in roots if root.layer <= layer]
        return list(dict.fromkeys([*(TreeRoot(id_, layer) for id_ in visible.nodes(where, layer)), *lower, *cut_off]))

    def load(self, ids: Sequence[LeafId]) -> Flow[list[tuple[Candidate, str]]]:
        """Summaries as candidates with score 0, each with its text. A summary that is no longer there is left out."""
        if (opened := (yield from self.enter())) is None:
            return []
        indexes, reader = opened
        if ids:
            yield from indexes.refresh(reader)
        records = yield from fetch_summaries(reader, list(map(str, ids)))
        documents = yield from self.documents.catalogue()
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
    leaf = LeafId.parse(id_)
    return str(leaf._replace(document_id=documents.shown_id(leaf.document_id) or leaf.document_id))


def _shown_run(cover: Covered | str, documents: Catalogue) -> Covered:
    """A covered run of leaves with its document's shown id; a document's id covers all of its leaves."""
    if isinstance(cover, Covered):
        return cover._replace(document_id=documents.shown_id(cover.document_id) or cover.document_id)
    row = documents.rows[documents.shown_id(cover) or cover]
    return Covered(row.document_id, row.version or "", 0, row.leaves - 1, 0, row.characters)


def summary_passage(candidate: Candidate, text: str, row: Row | None) -> Passage:
    """A summary as a passage, under its own id.

    If it covers one document, the passage has that document's id, title and headings, and the characters from its first to
    its last leaf. Otherwise its document id is empty, and start and end are None.
    """
    summary = candidate.summary
    assert summary is not None
    covers = summary.covers
    document_id = candidate.document_id
    return Passage(
        candidate.span.id,
        document_id,
        covers[0].start if document_id else None,
        covers[-1].end if document_id else None,
        text,
        candidate.score,
        dict(candidate.metadata),
        candidate.trace,
        summary,
        title=row.title if row else None,
        headings=row.headings((run.first, run.last) for run in covers) if row else (),
        kind="summary",
        outline=outline_of(row, tuple([(run.first, run.last) for run in covers])) if row else None,
        hidden=row.hidden if row else (),
    )


T = TypeVar("T")


class TreeCounts(NamedTuple):
    trees: int  # documents whose tree is up to date
    summaries: int
    layers: int  # highest layer of a summary, 0 if there is no summary


def count_trees(store: Store, trees: Trees, scope: Scope | None) -> Flow[TreeCounts]:
    def read(summaries: SummaryReader) -> Flow[TreeCounts]:
        rows = (yield from summaries.visible()).rows.values()
        records = [TreeRecord.of(row) for row in rows if row.version is not None]
        layers = [layer for record in records for layer in record.layers]
        return TreeCounts(sum(record.is_of_document for record in records), len(layers), max(layers, default=0))

    return _read_summaries(store, trees, scope, read)


def list_summaries(store: Store, trees: Trees, document_id: str | None, scope: Scope | None) -> Flow[list[Passage]]:
    """The visible summaries as passages with score 0, by document, top layer first."""

    def read(summaries: SummaryReader) -> Flow[list[Passage]]:
        documents = yield from summaries.documents.catalogue()
        if document_id is not None and document_id not in documents.rows:
            raise documents.lacks(document_id)
        ids = (yield from summaries.visible()).summaries(document_id)
        passages = {
            each.id: summary_passage(each, text, documents.rows.get(each.document_id))
            for each, text in (yield from summaries.load(ids))
        }
        return [passages[id_] for id_ in ids if id_ in passages]

    return _read_summaries(store, trees, scope, read)


def _read_summaries(store: Store, trees: Trees, scope: Scope | None, read: Callable[[SummaryReader], Flow[T]]) -> Flow[T]:
    """The result of ``read``, which starts again whenever something it saw was replaced."""
    history = ReadHistory()

    return read_consistently(store, lambda reader: read(SummaryReader(trees, reader, history)), scope)


class Summaries(list[Passage]):
    """A list of summaries, and of the leaves below them if you asked for leaves. Notebooks show it as trees."""

    def __repr__(self) -> str:
        return "[" + ",\n ".join(map(repr, self)) + "]"

    def _repr_html_(self) -> str | None:
        """HTML for notebooks: each tree, which opens layer by layer."""
        return display("Summaries", self)

"""Lexical search: finding leaves by their words, with BM25."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from leafspan.checks import check_choice
from leafspan.engine import Call, Flow
from leafspan.errors import IndexMismatch
from leafspan.lexical import Analysis, BM25Settings, Corpus, RankBM25, best, to_terms
from leafspan.mirror import Mirror, MirrorSnapshot, WordPostings
from leafspan.store import Catalogue, Reader, Selection
from leafspan.strategies import LexicalMatches, LexicalSearch
from leafspan.values import Hit

ENGINES = {"postings": Corpus, "rank-bm25": RankBM25}


class LexicalIndex:
    """BM25 over the leaves that a reader sees. It brings itself up to date at each search.

    Args:
        folder: Folder for its files. None to keep everything in memory.
        analyzer: How texts become terms. None if the index was made with a function that was not given again.
        settings: How to score, unless a search says otherwise.
        read_only: Whether nothing must be written or removed in the folder. Default: False.
    """

    def __init__(
        self, folder: Path | None, analyzer: Analysis | None, settings: BM25Settings, *, read_only: bool = False
    ) -> None:
        self.analyzer = analyzer
        self._settings = settings
        self._mirror = None if analyzer is None else Mirror(folder, WordPostings(analyzer), read_only=read_only)
        self._corpora: tuple[MirrorSnapshot | None, dict[str, Any]] = (None, {})

    @property
    def copy(self) -> Mirror | None:
        """The postings of all leaves. None if the analyzer was not given again."""
        return self._mirror

    def search(self, reader: Reader, request: LexicalSearch) -> Flow[list[LexicalMatches]]:
        """The leaves that match the words of each query, best first. Ties are ordered by document, then position.

        Args:
            reader: Reader of the index.
            request: The queries, the number of leaves for each, and how to score.

        Raises:
            IndexMismatch: if the index was made with an analyzer that is a function, and that was not given again.
            StaleRead: if a document is replaced meanwhile.
        """
        if self._mirror is None:
            raise IndexMismatch(
                "the index was made with an analyzer of your own: open it with that (analyzer=...) to search its words"
            )
        visible = yield from reader.whole_catalogue(request.where)
        snapshot = yield from self._mirror.current(reader)
        scope = reader.scope
        matching = None if scope is None and request.where is None else visible.select(request.where)
        counted = None if scope is None or scope.shares_statistics else visible.select(None)
        return (yield Call(self._search, (snapshot, visible, matching, counted, request)))  # type: ignore[no-any-return]

    def warm(self, reader: Reader) -> Flow[None]:
        """Load and bring up to date what a search needs. Does nothing if the analyzer was not given again.

        Raises:
            StaleRead: if a document is replaced meanwhile.
        """
        if self._mirror is not None:
            snapshot = yield from self._mirror.current(reader)
            yield Call(self._corpus, (snapshot, "postings"))

    def _search(
        self,
        snapshot: MirrorSnapshot,
        visible: Catalogue,
        matching: Selection | None,
        counted: Selection | None,
        request: LexicalSearch,
    ) -> list[LexicalMatches]:
        """The best leaves for each query.

        Args:
            snapshot: The postings.
            visible: The visible documents.
            matching: The documents whose leaves may be found. None for all.
            counted: The documents over which idf and the average length are computed. None for all.
            request: The queries.
        """
        corpus = self._corpus(snapshot, request.engine)
        counting = None if counted is None else snapshot.mask(counted)
        wanted = None if matching is None else snapshot.mask(matching)

        def order(row: int) -> tuple[str, int]:
            leaf = snapshot.leaf(row)
            return visible.shown_id(leaf.document_id) or "", leaf.ordinal

        found = []
        assert self.analyzer is not None
        for terms in to_terms(self.analyzer, request.texts):
            scores = corpus.score(terms, settings=request.bm25 or self._settings, counting=counting)
            if wanted is not None:
                scores = replace(scores, marked=scores.present & wanted)
            rows = best(scores, request.count, order)
            hits = [_hit(snapshot, visible, row, float(scores.scores[row])) for row in rows]
            found.append(LexicalMatches(hits, scores.ideal))
        return found

    def _corpus(self, snapshot: MirrorSnapshot, engine: str) -> Any:
        """The corpus of an engine, which is kept until there is another snapshot."""
        check_choice("engine", engine, ENGINES)
        known, corpora = self._corpora
        if known is not snapshot:
            corpora = {}
            self._corpora = (snapshot, corpora)
        if engine not in corpora:
            corpora[engine] = ENGINES[engine](snapshot.parts)
        return corpora[engine]


def _hit(snapshot: MirrorSnapshot, visible: Catalogue, row: int, score: float) -> Hit:
    leaf = snapshot.leaf(row)
    shown = visible.shown_id(leaf.document_id) or ""
    return Hit(leaf if shown == leaf.document_id else leaf._replace(document_id=shown), score)

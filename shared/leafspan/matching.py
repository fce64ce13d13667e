"""Finding leaves by their words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from leafspan.engine import Call, Flow
from leafspan.errors import IndexMismatch, InvalidArgument
from leafspan.lexical import Analysis, BM25Settings, Corpus, RankBM25, best, to_terms
from leafspan.mirror import Mirror, Mirrored
from leafspan.mirror.word_postings import WordPostings
from leafspan.requests import Match, Matched
from leafspan.store import Catalogue, Reader, Selection
from leafspan.values import Hit

ENGINES = {"postings": Corpus, "rank-bm25": RankBM25}


class WordSearch:
    """BM25 over what a reader sees, kept current with the index by itself; ``folder``: where its files are."""

    def __init__(self, folder: Path | None, analyzer: Analysis | None, settings: BM25Settings) -> None:
        self._analyzer = analyzer
        self._settings = settings
        self._mirror = None if analyzer is None else Mirror(folder, WordPostings(analyzer))
        self._corpora: tuple[Mirrored | None, dict[str, Any]] = (None, {})

    def match(self, reader: Reader, request: Match) -> Flow[list[Matched]]:
        """The leaves with words of each question, best first; ties go by document, then position.

        Raises:
            IndexMismatch: if the analyzer that the index was made with is a function, and was not given again.
        """
        if self._mirror is None:
            raise IndexMismatch("the index was made with an analyzer of your own; open it with that to search its words")
        mirrored = yield from self._mirror.current(reader)
        view = yield from reader.catalogue()
        everything = reader.scope is None
        chosen = None if everything and request.where is None else view.select(request.where)
        counted = None if reader.scope is None or reader.scope.shares_statistics else view.select(None)
        return (yield Call(self._search, (mirrored, view, chosen, counted, request)))  # type: ignore[no-any-return]

    def _search(
        self,
        mirrored: Mirrored,
        view: Catalogue,
        chosen: Selection | None,
        counted: Selection | None,
        request: Match,
    ) -> list[Matched]:
        corpus = self._corpus(mirrored, request.engine)
        counting = None if counted is None else mirrored.mask(counted)
        wanted = None if chosen is None else mirrored.mask(chosen)

        def order(row: int) -> tuple[str, int]:
            document_id, _, ordinal = mirrored.leaf(row)
            return view.shown_id(document_id) or "", ordinal

        found = []
        assert self._analyzer is not None
        for terms in to_terms(self._analyzer, request.texts):
            scores = corpus.score(terms, settings=request.settings or self._settings, counting=counting)
            if wanted is not None:
                scores = replace(scores, marked=scores.present & wanted)
            rows = best(scores, request.count, order)
            found.append(Matched([self._hit(mirrored, view, row, float(scores.scores[row])) for row in rows], scores.ideal))
        return found

    def _corpus(self, mirrored: Mirrored, engine: str) -> Any:
        if engine not in ENGINES:
            raise InvalidArgument(f"engine must be one of {', '.join(map(repr, ENGINES))}, got {engine!r}")
        known, corpora = self._corpora
        if known is not mirrored:
            corpora = {}
            self._corpora = (mirrored, corpora)
        if engine not in corpora:
            corpora[engine] = ENGINES[engine](mirrored.parts)
        return corpora[engine]

    def _hit(self, mirrored: Mirrored, view: Catalogue, row: int, score: float) -> Hit:
        document_id, version, ordinal = mirrored.leaf(row)
        return Hit(view.shown_id(document_id) or "", version, ordinal, score)

"""Lexical search: finds the leaves and larger nodes that match the words of a question best, with BM25."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from math import log
from typing import Any
from weakref import WeakKeyDictionary

from leafspan.checks import check_choice
from leafspan.embedding import is_english
from leafspan.errors import IndexMismatch
from leafspan.flows import Call, Flow, NDArray, np
from leafspan.lexical import (
    Analysis,
    Analyzer,
    AnotherTerm,
    BM25Settings,
    Corpus,
    NodeScores,
    RankBM25,
    Scores,
    best,
    code_of,
    find_language,
    find_plain_words,
    keeps_leaf_words,
    other_numbers,
    other_writings,
    read_as,
    reading_number,
    respelt,
    score_reached_by,
    terms_of_chunks,
    terms_of_question,
)
from leafspan.search._soft_matches import SoftMatcher, words_of
from leafspan.segments import Mirror, MirrorSnapshot, collect, in_parts
from leafspan.store import Catalogue, Reader, Selection
from leafspan.strategies import LexicalMatches, LexicalSearch, MatchingNodes, NodeHits, ScaleWeights, SoftMatches
from leafspan.values import LeafId, to_hits

_ANOTHER_WRITING = 0.5  # weight of a word that documents write in another way; codes are not written by chance

ENGINES = {"postings": Corpus, "rank-bm25": RankBM25}

_SOFT_MATCHER = ""
_RESPELT, _MOST_RESPELT = "respelt", 1_000  # questions of a view
_POSTINGS = ("lengths", "starts", "readings", "words", "word_ends", "row_ends", "rows", "counts")
_LEAF_WORDS = ("leaf_words", "leaf_word_ends", "plain_words", "plain_word_ends")
_IN_PARTS = ("rows", "counts", "leaf_words")


class LexicalIndex:
    """BM25 over the leaves that a reader sees. Each search brings it up to date."""

    def __init__(self, mirror: Mirror | None, analyzer: Analysis | None, settings: BM25Settings) -> None:
        self.analyzer = analyzer
        self._settings = settings
        self.mirror = mirror  # the words of all leaves; None if the index was opened without its own analyzer
        self._cache: tuple[MirrorSnapshot | None, dict[str, Any]] = (None, {})

    def close(self) -> None:
        if self.mirror is not None:
            self.mirror.close()
        self._cache = (None, {})

    def search(self, reader: Reader, request: LexicalSearch) -> Flow[list[LexicalMatches]]:
        """The leaves that match the words of each query, best first. Ties are ordered by document, then position."""
        if not request.texts:
            return []
        if self.mirror is None:
            raise IndexMismatch(
                "the index was made with an analyzer of your own: open it with that (analyzer=...) to search its words"
            )
        visible = yield from reader.whole_catalogue(request.where)
        snapshot = yield from self.mirror.current(reader)
        matching = None if reader.scope is None and request.where is None else visible.select(request.where)
        counted = _counted(reader, visible)
        return (yield from self.mirror.computed(self._search, snapshot, visible, matching, counted, request))

    @property
    def keeps_leaf_words(self) -> bool:
        """Whether ``soft_matches`` can be called."""
        return self.mirror is not None and keeps_leaf_words(self.analyzer)

    def soft_matches(self, reader: Reader, request: SoftMatches) -> Flow[list[list[float]]]:
        """How well leaves match the words of each question. Only for an index that ``keeps_leaf_words``."""
        assert self.mirror is not None
        visible = yield from reader.catalogue()
        snapshot = yield from self.mirror.current(reader)
        return (yield from self.mirror.computed(self._compare, snapshot, visible, request))

    def _compare(self, snapshot: MirrorSnapshot, visible: Catalogue, request: SoftMatches) -> list[list[float]]:
        matcher = self._over(snapshot, _SOFT_MATCHER)
        pairs = zip(request.words, request.ids, strict=True)
        return [matcher.scores(words, snapshot.rows(visible, ids)) for words, ids in pairs]

    def rarities(self, reader: Reader, names: Sequence[tuple[str, int]]) -> Flow[list[float]]:
        """How rare names are, in [0, 1]: 1 for words that occur nowhere else, 0 for a word that all leaves have.

        The rarity of a name is the rarity of its rarest word: 1 - log(leaves with it + 1) / log(leaves). Leaves are indexed
        with their titles, so leaves of the documents with that name are not counted. The rarity is 0 for a name of stop
        words or words that the analyzer does not know, and for every name if the index was opened without its own analyzer.
        """
        if self.mirror is None:
            return [0.0] * len(names)
        visible = yield from reader.catalogue()
        snapshot = yield from self.mirror.current(reader)
        return (yield from self.mirror.computed(self._rarities, snapshot, _counted(reader, visible), names))

    def _rarities(
        self, snapshot: MirrorSnapshot, counted: Selection | None, names: Sequence[tuple[str, int]]
    ) -> list[float]:
        assert self.analyzer is not None
        corpus = self._over(snapshot, "postings")
        counting = None if counted is None else snapshot.mask(counted)
        readings, texts = corpus.readings(counting), [name for name, _ in names]
        rows = self._read(texts, readings, [None] * len(texts))
        terms = [term for row in rows for read in row.values() for term in read]
        frequencies, leaves = corpus.frequencies(terms, counting)
        rarities = []
        for (_, own), row in zip(names, rows, strict=True):
            # If the name is read in the language of other documents, its words occur in no leaf.
            others = max(min((max(frequencies[term] - own, 0) for term in read), default=leaves) for read in row.values())
            rarities.append(max(0.0, 1 - log(others + 1) / log(leaves)) if leaves > 1 else 0.0)
        return rarities

    def warm(self, reader: Reader) -> Flow[None]:
        """Load and update everything that a search needs, unless the index was opened without its own analyzer."""
        if self.mirror is not None:
            snapshot = yield from self.mirror.current(reader)
            yield from self.mirror.computed(self._over, snapshot, "postings")
            if isinstance(self.analyzer, Analyzer):
                yield Call(find_language, ("This loads the language detection.",))

    def _search(
        self,
        snapshot: MirrorSnapshot,
        visible: Catalogue,
        matching: Selection | None,
        counted: Selection | None,
        request: LexicalSearch,
    ) -> list[LexicalMatches]:
        corpus = self._over(snapshot, request.engine)
        counting = None if counted is None else snapshot.mask(counted)
        wanted = None if matching is None else snapshot.mask(matching)

        def shown(rows: Any) -> list[LeafId]:
            return visible.shown_leaves(snapshot.leaves_in(rows))

        order = partial(snapshot.document_ranks, visible)
        rows_of = partial(snapshot.rows_of, visible=visible)
        matches = []
        settings = request.bm25 or self._settings
        assert self.analyzer is not None
        readings = corpus.readings(counting)
        own = self._own(request.texts, readings)
        terms_of_all = self._read(request.texts, readings, own)
        if request.engine == "postings":
            terms_of_all = [
                self._with_other_writings(question, read, corpus, settings, counting)
                for question, read in zip(request.texts, terms_of_all, strict=True)
            ]
        if self.mirror is not None and self.mirror.is_shared:
            terms_to_read = {term for read in terms_of_all for bag in read.values() for term in bag}
            collect(partial(part.find, term) for part in corpus.postings for term in terms_to_read)
        for question, terms, reading in zip(request.texts, terms_of_all, own, strict=True):
            has_words = any(terms.values())
            if request.scales is None:
                scores = corpus.score(terms, settings=settings, counting=counting, own=reading)
            else:
                scores, larger, idf = corpus.score_with_nodes(terms, settings=settings, counting=counting, own=reading)
            if scores.misses and request.spelling and not request.summaries:
                # By question, since strategies and callers ask the same ones again.
                respelt_before = self._over(snapshot, _RESPELT).setdefault(visible, {})
                if len(respelt_before) > _MOST_RESPELT:
                    respelt_before.clear()
                if (words_read := respelt_before.get(question)) is None:
                    words_read = self._respelt(question, readings, corpus, snapshot, visible)
                    respelt_before[question] = words_read
                if words_read:
                    matches.append(LexicalMatches([], 0.0, respelt=words_read))
                    continue
            if wanted is not None:
                scores = replace(scores, marked=scores.present & wanted)
            rows = best(scores, request.count if request.scales is None else max(request.count, LEAVES), order)
            values, top = scores.scores[rows], rows[: request.count]
            hits = to_hits(shown(top), values[: request.count].tolist())
            if request.scales is None:
                matches.append(LexicalMatches(hits, scores.ideal, has_words=has_words, leaves=scores.leaves))
                continue
            nodes = MatchingNodes(rows_of, (best_leaves(rows, values), *best_nodes(larger, wanted)))
            most = leaves_with_most_evidence(nodes, request.scales, request.count, order)
            among = [hit.leaf for hit in hits] + shown(list(set(most.tolist()).difference(top.tolist())))
            words = words_of(question, self.analyzer if reading is None else read_as(self.analyzer, reading), idf)
            share = share_of_words(larger[0], wanted, scores)
            matches.append(LexicalMatches(hits, scores.ideal, nodes, among, words, has_words, scores.leaves, share))
        return matches

    def _own(self, texts: Sequence[str], readings: Sequence[int]) -> list[int | None]:
        """The reading of each question's own language, or None if the language is not certain."""
        assert self.analyzer is not None
        if len(readings) < 2:
            return [*readings] * len(texts) if readings else [None] * len(texts)
        codes = [find_language(text, expected=code_of(readings[0])) for text in texts]
        return [None if code is None else reading_number(self.analyzer, code) for code in codes]

    def _read(
        self, texts: Sequence[str], readings: Sequence[int], own: Sequence[int | None]
    ) -> list[dict[int | None, Mapping[str, float]]]:
        """The terms of questions with their counts, for each reading of leaves."""
        assert self.analyzer is not None
        readings = readings or (0,)
        return [
            {each: Counter(terms_of_question(self.analyzer, text, each, readings[0], of_text)) for each in readings}
            for text, of_text in zip(texts, own, strict=True)
        ]

    def _with_other_writings(
        self,
        question: str,
        terms: Mapping[int | None, Mapping[str, float]],
        corpus: Corpus,
        settings: BM25Settings,
        counting: Any,
    ) -> dict[int | None, Mapping[str, float]]:
        """Add the terms of ``other_writings`` that leaves have. Each counts less than the words it stands for."""
        with_others = dict(terms)
        if not isinstance(self.analyzer, Analyzer):
            return with_others
        others = other_writings(question)
        has_number = "quarter" in question.lower() or any(map(str.isdecimal, question))
        for reading, bag in terms.items():
            analyzer = read_as(self.analyzer, reading or 0)
            assert isinstance(analyzer, Analyzer)
            terms_of = terms_of_chunks(analyzer)
            others_in_leaves = [
                (term, [terms_of[word] for word in other.words], any(map(str.isdecimal, term)) or _ANOTHER_WRITING, 1.0)
                for other in others
                if not other.after_blank or terms_of[other.words[0]]
                for term in terms_of[other.chunk]
                if corpus.has(term) and term not in bag
            ]
            for chunk, own, weight in other_numbers(question, analyzer.language) if has_number else ():
                some = list(dict.fromkeys(terms_of[chunk]))
                if all(map(corpus.has, some)) and (new := sum(term not in bag for term in some)):
                    share = weight * new / len(some)
                    words = [terms_of[word] for word in own.split()]
                    others_in_leaves.append((AnotherTerm.ALL_OF.join(some), words, share, share))
            if not others_in_leaves:  # as for most questions
                continue
            every = {
                each for term, words, *_ in others_in_leaves for each in (AnotherTerm(term), *chain.from_iterable(words))
            }
            if self.mirror is not None and self.mirror.is_shared:
                collect(partial(part.find, term) for part in corpus.postings for term in every)
            idf = corpus.idf(every, reading, settings=settings, counting=counting)
            more = dict(bag)
            for term, words, share, most in others_in_leaves:
                replaced = sum(max(map(idf.__getitem__, word), default=0.0) for word in words)
                if replaced and idf[term]:
                    more[AnotherTerm(term)] = max(min(most, share * replaced / idf[term]), more.get(term, 0.0))
            with_others[reading] = more
        return with_others

    def _respelt(
        self, question: str, readings: Sequence[int], corpus: Corpus, snapshot: MirrorSnapshot, visible: Catalogue
    ) -> dict[str, str]:
        """Words of a question that no visible leaf has, each with the visible leaves' word that it is read as."""
        analyzer, seen = self.analyzer, snapshot.mask(visible.select(None))
        if not isinstance(analyzer, Analyzer) or not readings:
            return {}
        code = find_language(question, expected=code_of(readings[0]))
        analyzers = [read for each in readings if isinstance(read := read_as(analyzer, each), Analyzer)]
        own = [each for each in analyzers if code is None or each.language == Analyzer().reading(code).language]

        def leaves_with(terms: Iterable[str]) -> dict[str, int]:
            some = list(filter(corpus.has, dict.fromkeys(terms)))
            if self.mirror is not None and self.mirror.is_shared:
                collect(partial(part.find, term) for part in corpus.postings for term in some)
            return {term: count for term, count in corpus.frequencies(some, seen)[0].items() if count}

        def words_with(terms: Sequence[str]) -> set[str]:
            rows = np.unique([row for term in terms for row in corpus.rows_with(term, seen)]).astype(np.intp)
            documents = {leaf.document_id for leaf in visible.shown_leaves(snapshot.leaves_in(rows[:LEAVES]))}
            shown = map(visible.rows.__getitem__, documents)
            heads = " ".join(head for row in shown for head in (row.title or "", *(each.text for each in row.sections)))
            return {*find_plain_words(heads), *self._over(snapshot, _SOFT_MATCHER).words(rows)}

        if not own:  # another language, unless the index has most of the words
            terms = map(terms_of_chunks(analyzers[0]).__getitem__, find_plain_words(question))
            has = [not each or bool(leaves_with(each)) for each in terms]
            own = analyzers if 2 * sum(has) >= len(has) else []
        return respelt(question, own[0], analyzers, corpus, leaves_with, is_english, words_with) if own else {}

    def _over(self, snapshot: MirrorSnapshot, name: str) -> Any:
        """The engine of this name, the soft matcher, or what was respelt. They are cached until the snapshot changes."""
        cached_for, cache = self._cache
        if cached_for is not snapshot:
            cache = {}
            self._cache = (snapshot, cache)
        if name not in cache:
            if name == _RESPELT:
                cache[name] = WeakKeyDictionary()
            elif name == _SOFT_MATCHER:
                cache[name] = SoftMatcher(_read_in_parts(snapshot, _LEAF_WORDS))
            else:
                check_choice("engine", name, ENGINES)
                masks = (mask for _, mask in snapshot.parts)
                cache[name] = ENGINES[name](list(zip(_read_in_parts(snapshot, _POSTINGS), masks, strict=True)))
        return cache[name]


def _read_in_parts(snapshot: MirrorSnapshot, names: Sequence[str]) -> list[dict[str, Any]]:
    """Arrays of each segment. A query reads a few rows of the large ones, and only these rows are checked."""
    parts = [arrays for arrays, _ in snapshot.parts]
    whole = [name for name in names if name not in _IN_PARTS]
    collect(partial(arrays.__getitem__, name) for arrays in parts for name in whole if name in arrays)
    return [
        {name: in_parts(arrays, name) if name in _IN_PARTS else arrays[name] for name in names if name in arrays}
        for arrays in parts
    ]


def _counted(reader: Reader, visible: Catalogue) -> Selection | None:
    """The documents over which idf and the average length are computed, or None for all."""
    scope = reader.scope
    return None if scope is None or scope.shares_statistics else visible.select(None)


LEAVES = 300  # number of best leaves to use
_NODES = (100, 100, 50)  # number of best parents, sections and documents to use


def best_leaves(rows: NDArray[np.intp], scores: NDArray[np.float64]) -> NodeHits:
    """Leaves, given best first, as the smallest nodes: the share of a leaf is its score divided by the best leaf's."""
    order = np.argsort(rows)
    shares = np.maximum(scores, 0) / scores[0] if len(scores) and scores[0] > 0 else np.ones(len(scores))
    ranks = 1 + np.searchsorted(-scores, -scores)
    places = rows[order]
    return NodeHits(places, places, ranks[order], scores[order], shares[order])


def best_nodes(scales: Sequence[NodeScores], wanted: NDArray[np.bool_] | None) -> tuple[NodeHits, ...]:
    """The best parents, sections and documents, among the ``wanted`` ones."""
    return tuple(_best_of_scale(nodes, count, wanted) for nodes, count in zip(scales, _NODES, strict=True))


def _best_of_scale(nodes: NodeScores, count: int, wanted: NDArray[np.bool_] | None) -> NodeHits:
    """The best nodes of a scale that have a share, in the order of their rows. Equal nodes have the same rank.

    A node's share is how far its score exceeds the score of the last of the ``count`` best, divided by the best score,
    times the same quotient of the best node. So nodes whose scores are nearly equal have little, since they hardly say
    where the answer is. The last ones have 0, so that it does not matter which of several equal nodes are used.
    """
    marked = None if wanted is None else wanted[nodes.firsts]
    scores = nodes.scores if marked is None else np.where(marked, nodes.scores, 0.0)
    least = score_reached_by(count, scores)
    places = np.flatnonzero(scores >= least if least > 0 else scores > 0)
    if not len(places):
        return NodeHits(places, places, places, scores[places], scores[places])
    values = scores[places]
    best_first = np.sort(values)[::-1][:count]
    others = len(scores) if marked is None else np.count_nonzero(marked)
    best, last = best_first[0], best_first[-1] if len(best_first) == min(count, others) else 0.0
    shares = (values - last) / best * ((best - last) / best)
    kept = shares > 0
    places, values = places[kept], values[kept]
    ranks = 1 + np.searchsorted(-best_first, -values)
    return NodeHits(nodes.firsts[places], nodes.lasts[places], ranks, values, shares[kept])


def share_of_words(parents: NodeScores, wanted: NDArray[np.bool_] | None, scores: Scores) -> float:
    """How many of the question's words the best parent has: ``LexicalMatches.words_found``."""
    among = parents.scores if wanted is None else np.where(wanted[parents.firsts], parents.scores, 0.0)
    best, sizes = float(among.max(initial=0.0)), parents.lasts - parents.firsts + 1
    if best == 0 or scores.ideal <= 0:
        return 0.0
    of_best = int(sizes[among.argmax()])
    every = float((parents.scores * sizes).sum())  # not as a product, for which BLAS may wake threads
    mean = (every - best * of_best) / max(scores.leaves - of_best, 1)
    return max(0.0, best - mean) / scores.ideal


def leaves_with_most_evidence(
    nodes: MatchingNodes, weights: ScaleWeights, count: int, order: Callable[[NDArray[np.intp]], NDArray[np.intp]]
) -> NDArray[np.intp]:
    """The rows of the ``count`` leaves with most evidence above 0. Ties are ordered by ``order``, then by row.

    Runs of rows with the same evidence are compared, and leaves only where they are needed, which are few even in a large
    index.
    """
    edges, values = nodes.runs(weights)
    starts, lengths, values = edges[:-1], np.diff(edges), values[:-1]
    best_first = np.argsort(-values, kind="stable")
    enough = int(np.searchsorted(np.cumsum(lengths[best_first]), count))
    least = values[best_first[enough]] if enough < len(values) else 0.0
    better = values > max(least, 0.0)
    rows = _rows(starts[better], lengths[better])
    if least <= 0:
        return rows
    tied = _rows(starts[values == least], lengths[values == least])
    return np.concatenate([rows, tied[order(tied).argsort(kind="stable")[: count - len(rows)]]])


def _rows(starts: NDArray[np.intp], lengths: NDArray[np.intp]) -> NDArray[np.intp]:
    """All rows of these runs, given by their first rows and lengths."""
    ends = np.cumsum(lengths)
    return np.repeat(starts - ends + lengths, lengths) + np.arange(ends[-1] if len(ends) else 0)

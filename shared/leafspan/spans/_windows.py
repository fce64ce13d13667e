"""Windows: each hit with its neighbours. Windows that overlap or touch become one. Also a span that grows to a length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from leafspan.trace import Trace, United
from leafspan.values import Candidate, LeafId


def windows_around(
    hits: Sequence[Candidate],
    *,
    before: int,
    after: int,
    max_words: int | None = None,
    budget: int | None = None,
    words: Mapping[LeafId, int] | None = None,
) -> list[Candidate]:
    """The window around each hit: the leaf with its neighbours in its document.

    Hits get their windows best first, until the next hit does not fit into the budget. Windows of one document that overlap
    or touch become one, with the best score among their hits. If a window or a union of two would be too long, it ends
    before the leaf that does not fit, and windows that touch stay apart.
    """
    ordered = sorted((hit for hit in hits if hit.leaf is not None), key=lambda hit: hit.order)
    windows = _Windows(before, after, max_words or inf, inf if budget is None else budget, words or {})
    for number, hit in enumerate(ordered):
        if not windows.add(hit):
            return [*windows.candidates(), *(hit for hit in ordered[number:] if hit not in windows)]
    return windows.candidates()


@dataclass(eq=False, slots=True)
class _Window:
    """A run of leaves with the hits in it, best first."""

    first: int
    last: int
    words: int
    hits: list[Candidate] = field(default_factory=list)
    is_cut: bool = False


class _Windows:
    """The windows of all documents. Windows share no leaf."""

    def __init__(self, before: int, after: int, max_words: float, budget: float, words: Mapping[LeafId, int]) -> None:
        self._before = before
        self._after = after
        self._max_words = max_words
        self._left = budget
        self._words = words
        self._window_of: dict[LeafId, _Window] = {}

    def __contains__(self, hit: Candidate) -> bool:
        return _leaf_of(hit) in self._window_of

    def add(self, hit: Candidate) -> bool:
        """Add a hit's window, and return False if the hit does not fit into the budget any more."""
        leaf = _leaf_of(hit)
        window = self._window_of.get(leaf)
        if window is None:
            words = hit.words or 0
            if words > self._left and self._window_of:
                return False
            self._left -= words
            window = self._window_of[leaf] = _Window(leaf.ordinal, leaf.ordinal, words)
        window.hits.append(hit)
        assert hit.leaf is not None
        lowest = max(0, leaf.ordinal - self._before)
        highest = min(hit.leaf.ancestors[-1].last, leaf.ordinal + self._after)
        grows = True
        while grows:  # after and before the window in turns, so that a cut keeps the hit in the middle
            behind = self._grow(window, leaf._replace(ordinal=window.last + 1), window.last < highest)
            ahead = self._grow(window, leaf._replace(ordinal=window.first - 1), window.first > lowest)
            grows = behind or ahead
        return True

    def _grow(self, window: _Window, leaf: LeafId, wanted: bool) -> bool:
        """Add an adjacent leaf: with the whole window that holds it, or otherwise only if ``wanted``."""
        other = self._window_of.get(leaf)
        if other is None and not wanted:
            return False
        words = self._words.get(leaf, 0) if other is None else other.words
        if window.words + words > self._max_words or (other is None and words > self._left):
            window.is_cut = window.is_cut or wanted
            return False
        if other is None:
            self._left -= words
            other = _Window(leaf.ordinal, leaf.ordinal, words)
        window.first, window.last = min(window.first, other.first), max(window.last, other.last)
        window.words += other.words
        window.hits = sorted([*window.hits, *other.hits], key=lambda hit: hit.order)
        window.is_cut = window.is_cut or other.is_cut
        for ordinal in range(other.first, other.last + 1):
            self._window_of[leaf._replace(ordinal=ordinal)] = window
        return True

    def candidates(self) -> list[Candidate]:
        """The windows, sorted by score, then document, then position."""
        windows = [self._candidate(window) for window in dict.fromkeys(self._window_of.values())]
        return sorted(windows, key=lambda window: window.order)

    def _candidate(self, window: _Window) -> Candidate:
        best = window.hits[0]
        united = (United(window.first, window.last, len(window.hits)),) if len(window.hits) > 1 else ()
        trace = sum((hit.trace for hit in window.hits), Trace(window=(self._before, self._after), united=united))
        if window.is_cut:
            trace += Trace(notes=("the window is cut, since more neighbours do not fit",))
        is_measured = self._words or window.first == window.last
        span = replace(best.span, first=window.first, last=window.last)
        return replace(best, span=span, trace=trace, words=window.words if is_measured else None, leaf=None)


def _leaf_of(hit: Candidate) -> LeafId:
    return LeafId(hit.span.document_id, hit.span.version, hit.span.first)


def neighbours_of(hits: Sequence[Candidate], *, before: int, after: int) -> list[LeafId]:
    """The ids of the leaves that windows of this size may add to the hits, each once."""
    ids = {}
    for hit in hits:
        if hit.leaf is not None:
            first, last = max(0, hit.span.first - before), min(hit.leaf.ancestors[-1].last, hit.span.last + after)
            ids.update(dict.fromkeys(replace(hit.span, first=first, last=last).leaf_ids))
    own = {hit.id for hit in hits}
    return [id_ for id_ in ids if id_ not in own]


def grown_within(first: int, last: int, lowest: int, highest: int, words: Mapping[int, int], limit: int) -> tuple[int, int]:
    """The leaves from ``first`` to ``last``, grown on both sides for as long as they fit into a number of words.

    The side that has grown by fewer words grows next; if both are equal, the side before the span. A side ends at the first
    leaf that does not fit.
    """
    left = limit - sum(words[each] for each in range(first, last + 1))
    before = after = 0
    while True:
        fits_before = first > lowest and words[first - 1] <= left
        fits_after = last < highest and words[last + 1] <= left
        if fits_before and (before <= after or not fits_after):
            first -= 1
            before += words[first]
            left -= words[first]
        elif fits_after:
            last += 1
            after += words[last]
            left -= words[last]
        else:
            return first, last

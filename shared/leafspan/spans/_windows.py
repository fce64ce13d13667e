"""Windows around hits, spans that grow to a length, and runs that overlap: no text comes twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import inf

from leafspan.trace import EMPTY_TRACE, Trace, United, made_later
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


def unite(runs: Iterable[Candidate], *, touching: bool = False) -> list[Candidate]:
    """The runs, best first, with overlapping (or ``touching``) ones united: they get the best score and all traces."""
    groups = overlapping(runs, touching=touching)
    united = [one_of(sorted(group, key=lambda run: run.order)) for group in groups]
    return sorted(united, key=lambda run: run.order)


def overlapping(candidates: Iterable[Candidate], *, touching: bool = False) -> list[list[Candidate]]:
    """The runs in groups that become one run each, by document. The runs of a group come in the order of the text."""
    groups: list[list[Candidate]] = []
    document: tuple[str, str] | None = None
    last = 0
    for run in sorted(candidates, key=lambda run: (run.span.document_id, run.span.version, run.span.first)):
        span = run.span
        if document == (span.document_id, span.version) and span.first <= last + (1 if touching else 0):
            groups[-1].append(run)
            last = max(last, span.last)
        else:
            groups.append([run])
            document, last = (span.document_id, span.version), span.last
    return groups


def one_of(group: Sequence[Candidate]) -> Candidate:
    """One run, with the score of the first run, from runs that overlap or touch. A single run stays as it is."""
    if len(group) == 1:
        return group[0]
    span = replace(group[0].span, first=min(run.span.first for run in group), last=max(run.span.last for run in group))
    # If one run holds all others, its length in words is known.
    whole = next((run for run in group if run.span.size == span.size), None)

    def trace_of_all() -> Trace:
        united = Trace(united=(United(span.first, span.last, len(group)),))
        return sum((run.trace for run in group), EMPTY_TRACE) + united

    calibrated = dict.fromkeys(chain.from_iterable(run.trace.calibrated for run in group))
    trace = made_later(trace_of_all, tuple(calibrated))
    return replace(group[0], span=span, trace=trace, words=whole.words if whole else None, leaf=None)


def without_repeats(
    candidates: Sequence[Candidate], *, results: int | None = None, words: int | None = None
) -> list[Candidate]:
    """The results in their order, without the summaries whose leaves are all among them.

    A caller that will use only the first results passes ``results`` and ``words``. Then leaves after the first result that
    does not fit never remove a summary, so the used results do not depend on later ones.
    """
    kept: dict[str, Candidate] = {}
    leaves: set[LeafId] = set()
    missing_of: dict[str, set[LeafId]] = {}  # leaves of a kept summary that are not among the results yet
    summaries_with: dict[LeafId, list[str]] = {}  # the kept summaries that miss a leaf
    leaf_count = sum(each.span.size for each in candidates if each.summary is None)
    used = 0
    full = False
    for each in candidates:
        missing: set[LeafId] = set()
        # A summary with more leaves than the results have cannot repeat them, so its leaves are not listed.
        if each.summary is not None and each.summary.size <= leaf_count:
            missing = {leaf for run in each.summary.covers for leaf in run.leaves} - leaves
            if not missing:
                continue
        size = each.words or 0
        if kept and not full and (len(kept) == results or (words is not None and used + size > words)):
            full = True
        kept[each.span.id] = each
        used += size
        own = () if each.summary is not None else each.span.leaf_ids
        leaves.update(own)
        if full:
            continue
        missing_of[each.span.id] = missing
        for leaf in missing:
            summaries_with.setdefault(leaf, []).append(each.span.id)
        for leaf in own:
            for summary in summaries_with.pop(leaf, ()):
                missing_of[summary].discard(leaf)
                if not missing_of[summary]:
                    used -= kept.pop(summary).words or 0
    return list(kept.values())

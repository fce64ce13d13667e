"""As much relevance as fits into a number of words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from leafspan.spans._packing import longest_prefix
from leafspan.spans._relevant_runs import best_runs
from leafspan.spans._uniting import unite
from leafspan.values import Candidate


def runs_within_budget(
    hits: Sequence[Candidate], budget: int, *, max_words: int | None, run_cost: float
) -> tuple[list[Candidate], list[Candidate]]:
    """Runs of the hits, which are leaves, that have the highest scores in all and ``budget`` words at most; and the rest.

    The runs are those that ``best_runs`` chooses at the lowest price a word at which they fit; a run costs as much as
    ``run_cost`` words more. What is left of the budget is filled with the best other leaves, up to the first that does not
    fit; one that touches a run joins it, as long as they have ``max_words`` (None: any) together. Best first, by the best
    leaf in each run, whose score it has.
    """
    chains = list(_chains(hits))
    prices = sorted({max(hit.score, 0.0) / hit.words for hit in hits if hit.words}, reverse=True)
    chosen: list[list[Candidate]] = []
    low, high = 0, len(prices)
    while low < high:  # the first prices are too high to take much, the last too low to fit
        middle = (low + high) // 2
        runs = _runs(chains, prices[middle], max_words, run_cost)
        if _words(chain.from_iterable(runs)) <= budget:
            chosen, low = runs, middle + 1
        else:
            high = middle
    left = budget - _words(chain.from_iterable(chosen))
    taken = {hit.span.id for hit in chain.from_iterable(chosen)}
    others = sorted((hit for hit in hits if hit.span.id not in taken), key=lambda hit: hit.order)
    filling = longest_prefix(others, (hit.words or 0 for hit in others), left, least=0 if chosen else 1)
    united = []
    for run in _joined([*chosen, *([leaf] for leaf in filling)], max_words):
        (one,) = unite(run, touching=True)
        united.append(replace(one, words=_words(run)))
    return sorted(united, key=lambda run: run.order), others[len(filling) :]


def _words(hits: Iterable[Candidate]) -> int:
    return sum(hit.words or 0 for hit in hits)


def _joined(runs: Iterable[list[Candidate]], max_words: int | None) -> list[list[Candidate]]:
    """The runs, those that touch made one from the start of the text on, as long as they are no longer than that."""
    joined: list[list[Candidate]] = []
    for run in sorted(runs, key=lambda run: _place(run[0])):
        fits = max_words is None or not joined or _words(joined[-1]) + _words(run) <= max_words
        if joined and fits and _follows(joined[-1][-1], run[0]):
            joined[-1] += run
        else:
            joined.append(list(run))
    return joined


def _chains(hits: Sequence[Candidate]) -> Iterator[list[Candidate]]:
    """The hits in runs that have no gap, in the order of documents and texts.

    What lies between them is not known, and as it has no score, it is hardly ever worth its words.
    """
    gapless: list[Candidate] = []
    for hit in sorted(hits, key=_place):
        if gapless and not _follows(gapless[-1], hit):
            yield gapless
            gapless = []
        gapless.append(hit)
    if gapless:
        yield gapless


def _place(hit: Candidate) -> tuple[str, str, int]:
    return hit.span.document_id, hit.span.version, hit.span.first


def _follows(one: Candidate, other: Candidate) -> bool:
    before, after = one.span, other.span
    return (before.document_id, before.version, before.last + 1) == (after.document_id, after.version, after.first)


def _runs(
    chains: Sequence[Sequence[Candidate]], price: float, max_words: int | None, run_cost: float
) -> list[list[Candidate]]:
    """The runs that are worth this price a word."""
    taken: list[list[Candidate]] = []
    for hits in chains:
        values = [max(hit.score, 0.0) for hit in hits]
        words = [hit.words or 0 for hit in hits]
        for run in best_runs(values, words, cost=price, max_words=max_words, run_cost=run_cost * price):
            taken.append(list(hits[run.first : run.last + 1]))
    return taken

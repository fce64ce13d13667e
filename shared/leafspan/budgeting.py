"""As much relevance as fits into a number of words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from leafspan.packing import within
from leafspan.segments import best_segments
from leafspan.uniting import unite
from leafspan.values import Found


def best_runs(
    hits: Sequence[Found], budget: int, *, max_words: int | None, run_words: float
) -> tuple[list[Found], list[Found]]:
    """Runs of the hits, which are leaves, that have the highest scores in all and ``budget`` words at most; and the rest.

    The runs are those that ``best_segments`` chooses at the lowest price a word at which they fit; a run costs as much as
    ``run_words`` words more. What is left of the budget is filled with the best other leaves, up to the first that does not
    fit. Best first, by the best leaf in each run, whose score it has.
    """
    chains = list(_chains(hits))
    prices = sorted({max(hit.score, 0.0) / hit.words for hit in hits if hit.words}, reverse=True)
    chosen: list[Found] = []
    low, high = 0, len(prices)
    while low < high:  # the first prices are too high to take much, the last too low to fit
        middle = (low + high) // 2
        runs = _runs(chains, prices[middle], max_words, run_words)
        if sum(hit.words or 0 for hit in runs) <= budget:
            chosen, low = runs, middle + 1
        else:
            high = middle
    left = budget - sum(hit.words or 0 for hit in chosen)
    taken = {hit.span.id for hit in chosen}
    others = sorted((hit for hit in hits if hit.span.id not in taken), key=lambda hit: hit.order)
    filling = within(others, (hit.words or 0 for hit in others), left, least=0 if chosen else 1)
    chosen += filling
    words = {(hit.span.document_id, hit.span.first): hit.words or 0 for hit in chosen}
    runs = [
        replace(run, words=sum(words[run.span.document_id, n] for n in range(run.span.first, run.span.last + 1)))
        for run in unite(chosen, touching=True)
    ]
    return runs, others[len(filling) :]


def _chains(hits: Sequence[Found]) -> Iterator[list[Found]]:
    """The hits in runs that have no gap, in the order of documents and texts.

    What lies between them is not known, and as it has no score, it is hardly ever worth its words.
    """
    chain: list[Found] = []
    for hit in sorted(hits, key=lambda hit: (hit.span.document_id, hit.span.version, hit.span.first)):
        if chain and not _follows(chain[-1], hit):
            yield chain
            chain = []
        chain.append(hit)
    if chain:
        yield chain


def _follows(one: Found, other: Found) -> bool:
    before, after = one.span, other.span
    return (before.document_id, before.version, before.last + 1) == (after.document_id, after.version, after.first)


def _runs(chains: Sequence[Sequence[Found]], price: float, max_words: int | None, run_words: float) -> list[Found]:
    """The hits in the runs that are worth this price a word."""
    taken: list[Found] = []
    for chain in chains:
        values = [max(hit.score, 0.0) for hit in chain]
        words = [hit.words or 0 for hit in chain]
        for run in best_segments(values, words, cost=price, max_words=max_words, run_cost=run_words * price):
            taken += chain[run.first : run.last + 1]
    return taken

"""Draws an explanation: what keeps a piece of a document out, or what is returned, and the piece's ranks."""

from __future__ import annotations

from collections.abc import Sequence

from htpy import Element, Node, div, h3, header, li, ol, p, section, span, table, tbody, td, th, thead, tr

from leafspan.lab.explaining import Explanation, Standing, TimedRequest
from leafspan.lab.pictures._results import results_picture
from leafspan.lab.pictures._text import name

_MOST_PLACES = 20  # other places of the text in the document


def explanation_picture(explanation: Explanation) -> Element:
    """Draw why passages are returned, and why a piece of a document is not."""
    question, strategy = explanation.question, p(".ls-metadata")[name(explanation.strategy)]
    if explanation.document_id is None:
        return section(".ls-result")[
            strategy, results_picture(explanation.passages, question), _requests(explanation.requests)
        ]
    once_in = () if explanation.passage is None else (explanation.passage,)
    held = explanation.holding or once_in
    return section(".ls-result")[
        header(".ls-question")[question is not None and h3[name(question)], strategy],
        div(".ls-caption")[
            span(".ls-title")[name(explanation.document_id)],
            span(".ls-id")[_characters(explanation)],
            span(".ls-kind")["returned" if explanation.holding else "not returned"],
        ],
        _elsewhere(explanation.elsewhere),
        bool(explanation.obstacles) and ol[[li[name(each.sentence)] for each in explanation.obstacles]],
        bool(explanation.obstacles and once_in) and p(".ls-more")["Then it is in this passage:"],
        bool(held) and results_picture(held),
        _standings(explanation.standings),
    ]


def _characters(explanation: Explanation) -> str | None:
    if explanation.start is None or explanation.end is None:
        return None
    return f" characters {explanation.start} to {explanation.end}"


def _elsewhere(places: Sequence[tuple[int, int]]) -> Node:
    """The other places of the text."""
    if not places:
        return None
    named = ", ".join(f"{start} to {end}" for start, end in places[:_MOST_PLACES])
    more = f" and {len(places) - _MOST_PLACES} more" if len(places) > _MOST_PLACES else ""
    return p(".ls-more")[f"This is the first place of the text. It is also at characters {named}{more}."]


def _standings(standings: Sequence[Standing]) -> Node:
    """The piece's rank in each search, as deep as the search can look."""
    return _table(
        ("where it stands", "rank", "of", "score"),
        [(each.source if each.query is None else f"{each.source} for {each.query}", _standing(each)) for each in standings],
    )


def _standing(standing: Standing) -> list[str]:
    if standing.rank is None or standing.score is None:
        return ["–", str(standing.results), "–"]
    return [str(standing.rank), str(standing.results), f"{standing.score:.3f}"]


def _requests(requests: Sequence[TimedRequest]) -> Node:
    """The strategy's requests."""
    return _table(
        ("what the strategy asked for", "results", "time"),
        [
            (each.name, ["–" if each.results is None else str(each.results), f"{each.seconds * 1000:.1f} ms"])
            for each in requests
        ],
    )


def _table(heads: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> Node:
    """A table with names in its first column and numbers in the others. Without rows, no table."""
    if not rows:
        return None
    first, *others = heads
    return div(".ls-scroll")[
        table(".ls-table")[
            thead[tr[th[first], [th(".ls-right")[each] for each in others]]],
            tbody[[tr[td[name(what)], [td(".ls-right")[each] for each in numbers]] for what, numbers in rows]],
        ]
    ]

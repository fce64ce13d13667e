"""Measures how well a strategy ranks documents, with ir-measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from leafspan.errors import MissingExtra

MEASURES = ("nDCG@10", "R@10", "RR")
"""The names of the measures in ir-measures: nDCG, recall and the reciprocal rank."""


def check_can_measure() -> None:
    """Check that documents can be measured.

    Raises:
        MissingExtra: if ir-measures is not installed.
    """
    try:
        import ir_measures  # noqa: F401
    except ImportError as error:
        raise MissingExtra.of("the measures of documents need ir-measures", "eval") from error


def document_scores(
    ranked: Mapping[str, Sequence[str]], relevant: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, float]]:
    """Return each question's score by each measure.

    Raises:
        MissingExtra: if ir-measures is not installed.
    """
    check_can_measure()
    import ir_measures

    measures = {ir_measures.parse_measure(name): name for name in MEASURES}
    # Each rank gets a different score, since ir-measures would order equal scores by id.
    run = {id_: {each: float(-place) for place, each in enumerate(row)} for id_, row in ranked.items()}
    grades = {id_: {each: round(grade) or 1 for each, grade in row.items()} for id_, row in relevant.items()}
    scores = {name: dict.fromkeys(ranked, 0.0) for name in MEASURES}
    for metric in ir_measures.iter_calc(list(measures), grades, run):
        scores[measures[metric.measure]][metric.query_id] = metric.value
    return scores

"""How well the documents of a strategy's passages are ranked, by the measures of ir-measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from leafspan.errors import MissingExtra

MEASURES = ("nDCG@10", "R@10", "RR")
"""Names that ir-measures gives to the measures: nDCG, recall and the reciprocal rank."""


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
    """For each measure the score of each question.

    Raises:
        MissingExtra: if ir-measures is not installed.
    """
    check_can_measure()
    import ir_measures

    measures = {ir_measures.parse_measure(name): name for name in MEASURES}
    # Of equal scores, one would win by its id: each place has a score of its own.
    run = {id_: {each: float(-place) for place, each in enumerate(row)} for id_, row in ranked.items()}
    grades = {id_: {each: round(grade) or 1 for each, grade in row.items()} for id_, row in relevant.items()}
    scores = {name: dict.fromkeys(ranked, 0.0) for name in MEASURES}
    for metric in ir_measures.iter_calc(list(measures), grades, run):
        scores[measures[metric.measure]][metric.query_id] = metric.value
    return scores

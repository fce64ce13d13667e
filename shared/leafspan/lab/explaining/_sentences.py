"""Writes an explanation in sentences. Texts of users and documents are quoted, so that they cannot pass for leafspan's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from leafspan.checks import shown
from leafspan.filters import Where, failing_parts
from leafspan.lab.explaining._explanation import Obstacle, Standing
from leafspan.lab.explaining._letting_in import Held, Limit
from leafspan.lab.explaining._target import Target, inside
from leafspan.store import REMEDY, Row
from leafspan.strategies import MOST_CANDIDATES, Filtered, Strategy
from leafspan.values import Passage


def name_of_piece(target: Target) -> str:
    """The piece's name in sentences."""
    document = f"document {shown(target.row.document_id)}"
    if (target.first, target.last) == (0, target.row.leaves - 1):
        return document
    leaves = f"leaf {target.first}" if target.first == target.last else f"leaves {target.first} to {target.last}"
    return f"characters {target.start} to {target.end} of {document} ({leaves})"


def obstacle_of(limit: Limit, needed: object, row: Row, held: Held | None) -> Obstacle:
    """An obstacle for a limit that keeps the piece out. ``held`` is the piece once nothing keeps it out."""
    name, now = limit.name, shown(limit.now)
    change = f"{name}={shown(needed)} lets it in"
    match name:
        case "where" | "as_of":
            sentence = f"the filter leaves out its document: {mismatch(limit.now, row)}"
        case "candidates":
            sentence = f"it is not among the {now} candidates that are looked at: {change}"
        case "min_score":
            of_it = "" if held is None else f" of {held.passage.score:.6g}"
            sentence = f"its score{of_it} is below {name}={now}: {change}"
        case "per_document":
            sentence = f"only the {now} best passages of its document are returned: {change}"
        case "k" if held is not None and held.place != needed:
            why = "since k also decides how many leaves are looked at and joined into passages"
            sentence = f"only the {now} best passages are returned: {change}, at place {held.place}, {why}"
        case "k":
            sentence = f"only the {now} best passages are returned, and it comes at place {needed}: {change}"
        case _:
            sentence = f"the budget of {now} is used up before it: {change}"
    return Obstacle("filter" if needed is None else name, name, limit.value, needed, sentence)


def mismatch(where: Where, row: Row) -> str:
    """Why a document does not match a filter."""
    parts = []
    for part, values in failing_parts(where, row.metadata, row.document_id):
        has = " and ".join(
            f"its {key} is {shown(value)}" if value is not None else f"it has no {key}" for key, value in values.items()
        )
        parts.append(f"{has}, which does not match {shown(part)}")
    return "; ".join(parts)


def several_places(target: Target) -> Iterator[str]:
    """If the words have several places in the document, a sentence that says so and how to name the next place."""
    if target.elsewhere:
        start, end = target.elsewhere[0]
        times = f"{len(target.elsewhere) + 1} times in document {shown(target.row.document_id)}"
        yield f"The text is {times}, and this is about the first one: for the next one, give start={start} and end={end}"


def without_leaves(row: Row) -> Obstacle:
    """The obstacle of a document that has nothing to return: it is empty, or damaged and therefore left out."""
    if row.damage is None:
        return Obstacle("empty", "", None, None, "it has no text, and so no leaves to return")
    sentence = f"what is stored of it is damaged, and so it is left out of everything: {row.damage.problem}; {REMEDY}"
    return Obstacle("damage", "", None, None, sentence)


def no_option(strategy: Strategy, row: Row, standings: Sequence[Standing], *, searches: bool, results: int) -> Obstacle:
    """The obstacle of a piece that no option lets in, with its rank in the searches and the largest number of results."""
    ranked = [each for each in standings if each.rank is not None]
    filters = [
        f"its filter {shown(each.filter)} leaves out the document: {mismatch(each.filter, row)}"
        for _, each in inside(strategy)
        if isinstance(each, Filtered) and not each.filter.matches(row.metadata, row.document_id)
    ]
    if filters:
        why = filters[0]
    elif not searches:
        why = "it searches other sources, and no leaf of the index"
    elif not ranked:
        why = "none of its searches finds it"
    else:
        where = ", ".join(f"at rank {each.rank} of {each.source}" for each in ranked)
        beyond = f"it is not among the {results:,} best results, and no retrieval returns more"
        why = f"it is found ({where}), but {beyond if results >= MOST_CANDIDATES else 'left out of the results'}"
    return Obstacle(
        "strategy", "", None, None, f"{type(strategy).__name__} keeps it out, and no looser limit lets it in: {why}"
    )


def in_sentences(standing: Standing) -> str:
    """The piece's rank in a search, in a sentence."""
    for_query = "" if standing.query is None else f" for {shown(standing.query)}"
    if standing.rank is None or standing.score is None:
        if standing.source == "bm25":
            return f"bm25{for_query}: not among the {standing.results} leaves that have a word of the question"
        return f"{standing.source}{for_query}: not among {standing.results} results"
    return f"{standing.source}{for_query}: rank {standing.rank} of {standing.results}, score {standing.score:.3f}"


def explained(
    piece: str,
    holding: Sequence[Passage],
    places: Mapping[str, int],
    obstacles: Sequence[Obstacle],
    standings: Sequence[Standing],
    held: Held | None,
    covering: Sequence[str],
) -> list[str]:
    """The whole explanation."""
    lines = []
    for each in holding:
        lines.append(f"{piece} is returned, in passage {places[each.id]}, {shown(each.id)} (score {each.score:.3f})")
        lines += [f"- {line}" for line in each.trace.explain()]
    if obstacles:
        number = "for one reason" if len(obstacles) == 1 else f"for {len(obstacles)} reasons"
        lines.append(f"{piece} is not returned, {number}:")
        lines += [f"{place}. {each.sentence}" for place, each in enumerate(obstacles, start=1)]
    if held is not None:
        lines.append(f"Then it is in passage {held.place}, {shown(held.passage.id)} (score {held.passage.score:.3f})")
    lines += [f"The summary {shown(id_)}, which covers it, is returned" for id_ in covering]
    if standings:
        lines.append("Where it stands, as deep as each search can look:")
        lines += [f"- {in_sentences(each)}" for each in standings]
    return lines

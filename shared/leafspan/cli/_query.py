"""``leafspan query``: retrieve passages from an index."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from leafspan.cli._console import console, plain
from leafspan.cli._options import DEFAULT_FOLDER, KnowledgeBase
from leafspan.cli._strategies import STRATEGIES, strategy_named
from leafspan.errors import InvalidArgument
from leafspan.index import Index
from leafspan.values import Passage, Summary


def query(
    question: Annotated[str, typer.Argument(help="The question. The strategy filter needs none.", show_default=False)] = "",
    kb: KnowledgeBase = DEFAULT_FOLDER,
    strategy: Annotated[
        str, typer.Option("--strategy", "-s", help=f"One of {', '.join(STRATEGIES)}.")
    ] = "relevant-segments",
    k: Annotated[
        int | None,
        typer.Option("-k", help="Most passages, 5 by default, or any number if a budget is given, and for filter."),
    ] = None,
    budget: Annotated[int | None, typer.Option(help="Most words in all passages together.")] = None,
    candidates: Annotated[
        int | None, typer.Option(help="Leaves to look at before merging, by default as many as fill the budget, or 4 * k.")
    ] = None,
    where: Annotated[
        str | None, typer.Option(help="Filter on the metadata, in the dialect of Chroma or Haystack.", metavar="JSON")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print why each passage was returned.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array.")] = False,
) -> None:
    """Print the passages that a strategy finds, best first, each with its document and its place in the text."""
    chosen = strategy_named(strategy)
    condition = None if where is None else _parse_filter(where)
    with Index.open(kb, create=False) as opened:
        passages = opened.retrieve(question, chosen, k=k, candidates=candidates, budget=budget, where=condition)
    if as_json:
        _print_json(passages, explain=explain)
    else:
        _print(passages, explain=explain)


def _parse_filter(where: str) -> dict[str, Any]:
    """The filter from its JSON.

    Raises:
        InvalidArgument: if it is not a JSON object.
    """
    try:
        condition = json.loads(where)
    except ValueError as error:
        raise InvalidArgument(f"where must be JSON, got {where!r}: {error}") from None
    if not isinstance(condition, dict):
        raise InvalidArgument(f'where must be a JSON object such as {{"year": 2020}}, got {where!r}')
    return condition


def _print(passages: Sequence[Passage], *, explain: bool) -> None:
    out = console()
    if not passages:
        console(stderr=True).print(plain("nothing found", "yellow"))
    for number, passage in enumerate(passages, start=1):
        if number > 1:
            out.print()
        out.print(plain(f"{number}. {_place(passage)}  score {passage.score:.3f}", "bold cyan"))
        out.print(plain(passage.text.strip()))
        for line in passage.trace.explain() if explain else []:
            out.print(plain(f"  - {line}", "dim"))


def _place(passage: Passage) -> str:
    """Where a passage is: its document and characters, or what a summary covers."""
    if passage.summary is None:
        return f"{passage.document_id}  characters {passage.start} to {passage.end}"
    summary = f"summary in layer {passage.layer}"
    if not passage.document_id:
        return f"{summary}, of {len({run.document_id for run in passage.summary.covers})} documents"
    return f"{passage.document_id}  {summary}, of characters {passage.start} to {passage.end}"


def _print_json(passages: Sequence[Passage], *, explain: bool) -> None:
    rows = [
        {
            "id": passage.id,
            "document_id": passage.document_id,
            "start": passage.start,
            "end": passage.end,
            "score": passage.score,
            "text": passage.text,
            "metadata": dict(passage.metadata),
            **({"summary": _summary(passage.summary)} if passage.summary else {}),
            **({"trace": passage.trace.explain()} if explain else {}),
        }
        for passage in passages
    ]
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    typer.echo(json.dumps(rows, indent=2, ensure_ascii=not unicode))


def _summary(summary: Summary) -> dict[str, Any]:
    covers = [run._asdict() for run in summary.covers]
    return {"layer": summary.layer, "children": list(summary.children), "covers": covers}

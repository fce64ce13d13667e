"""``leafspan explain``: why passages were returned, and why a piece of a document was not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from leafspan.cli import (
    DEFAULT_FOLDER,
    STDIN,
    STRATEGIES,
    AsJson,
    ConfigFile,
    EmbedderName,
    KnowledgeBase,
    Where,
    console,
    k_of_query,
    lines,
    open_index,
    parse_filter,
    plain,
    print_json,
    strategy_named,
    with_answer_probability,
)
from leafspan.config import config_name
from leafspan.lab.explaining import Explanation
from leafspan.lab.explaining import explain as explain_retrieval
from leafspan.retrieval import LEAST_PROBABILITY, Passages, is_worth_showing
from leafspan.values import Passage


def explain(
    question: Annotated[
        str, typer.Argument(help="The question, or -. The strategy browse needs none.", show_default=False)
    ] = "",
    kb: KnowledgeBase = DEFAULT_FOLDER,
    embedder: EmbedderName = None,
    document: Annotated[
        str | None, typer.Option(help="Id of the document to explain: why it, or a piece of it, is not returned.")
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(help="Text of the piece. The first place in the document counts. White space does not matter."),
    ] = None,
    start: Annotated[int | None, typer.Option(help="Position of the piece's first character, from 0.")] = None,
    end: Annotated[int | None, typer.Option(help="Position after the piece's last character.")] = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            "--strategy",
            "-s",
            help=f"One of {', '.join(STRATEGIES)}. By default the configuration's strategy, or relevant-segments.",
            autocompletion=lambda: [*STRATEGIES],
        ),
    ] = None,
    config: ConfigFile = None,
    k: Annotated[int | None, typer.Option("-k", help="As for query.")] = None,
    budget: Annotated[int | None, typer.Option(help="As for query.")] = None,
    candidates: Annotated[int | None, typer.Option(help="As for query.")] = None,
    where: Where = None,
    as_of: Annotated[str | None, typer.Option(help="As for query.")] = None,
    min_score: Annotated[float | None, typer.Option(help="As for query.")] = None,
    per_document: Annotated[int | None, typer.Option(help="As for query.")] = None,
    min_answer_probability: Annotated[float | None, typer.Option(help="As for query.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Most seconds. By default no limit.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say why `query` returns its passages. With --document, say why a document, or a piece of it, is not returned.

    It suggests options with which the piece is returned, and has tried each of them.
    """
    named = None if strategy is None else strategy_named(strategy)
    condition = parse_filter(where)
    question = "".join(lines()).strip() if question == STDIN else question
    with open_index(kb, embedder, create=False, config=config) as opened:
        chosen = opened.default_strategy if named is None else named
        if min_answer_probability is not None:
            chosen = with_answer_probability(chosen, min_answer_probability, strategy or config_name(type(chosen)))

        def explained(least: float | None) -> Explanation:
            return explain_retrieval(
                opened,
                question,
                chosen,
                document_id=document,
                start=start,
                end=end,
                text=text,
                k=k_of_query(k, budget, least, chosen, opened),
                candidates=candidates,
                budget=budget,
                where=condition,
                min_score=least,
                per_document=per_document,
                as_of=as_of,
                timeout=timeout,
            )

        explanation = explained(min_score)
        printed = Passages(explanation.passages).worth_showing() if min_score is None else explanation.passages
        hidden = "min_score" not in explanation.changes and _are_left_out(explanation, printed)
        if hidden:  # then the lowest probability that query prints is one of the obstacles
            explanation = explained(LEAST_PROBABILITY)
    if as_json:
        print_json(explanation.to_dict())
        return
    out = console()
    for line in explanation.lines:
        out.print(plain(line))
    if hidden:
        says = f"`query` prints no probability below {LEAST_PROBABILITY} beside higher ones unless --min-score says so"
        out.print(plain(says, "yellow"))
    unprinted = len(explanation.passages) - len(printed)
    if document is None and unprinted:
        says = f"`query` does not print {unprinted} of them, whose scores round to 0.000: --min-score 0 does"
        out.print(plain(says, "yellow"))


def _are_left_out(explanation: Explanation, printed: Sequence[Passage]) -> bool:
    """Whether the passages that hold the piece are found, but none of them is printed."""
    held = explanation.holding or tuple(filter(None, [explanation.passage]))
    return bool(held) and len(printed) < len(explanation.passages) and not any(map(is_worth_showing, held))

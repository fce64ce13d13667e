"""Draws the page with the form, and the strategies' passages side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from htpy import Element, Node, a, button, div, form, h1, input, label, option, p, pre, section, select, span

from leafspan.configuration import Config
from leafspan.errors import DocumentNotFound, LeafspanError
from leafspan.lab.explaining import aexplain
from leafspan.lab.pictures import name, results_picture
from leafspan.lab.serving._pages import error_box, field_value
from leafspan.lab.serving._query import (
    MOST_CHARACTERS,
    MOST_PASSAGES,
    MOST_STRATEGIES,
    MOST_WORDS,
    USUAL_PASSAGES,
    Agreement,
    Answer,
    PageQuery,
    agreements,
    labels_of,
)
from leafspan.text import escaped_in_json, visible
from leafspan.values import Passage
from leafspan.view import View

_MOST_TEXT = 20_000  # characters of one strategy's reasons
_ALL = 0.999  # a larger share is shown as the whole passage


def ask_page(query: PageQuery, configs: Mapping[str, Config], answers: Sequence[Answer], error: str | None) -> Node:
    """Draw the form, and the found passages below it."""
    return [
        question_form(query, configs),
        error is not None and error_box(error),
        bool(answers) and _results(query, answers),
    ]


def question_form(query: PageQuery, configs: Mapping[str, Config]) -> Element:
    """Draw the form with the user's input."""
    chosen = [*query.strategies, *[""] * MOST_STRATEGIES][:MOST_STRATEGIES]
    number = {"type": "number", "min": "1", "inputmode": "numeric"}
    return form(".serve-form", action="./", method="get")[
        label(".serve-question")[
            span["Question"],
            input(
                name="q",
                type="search",
                value=field_value(query.question or ""),
                maxlength=str(MOST_CHARACTERS),
                placeholder="What do you want to know?",
                autocomplete="off",
                autofocus=query.question is None,
                dir="auto",
            ),
        ],
        div(".serve-options")[
            [
                label[span["Strategy" if place == 0 else "beside"], _strategies(value, configs, optional=place > 0)]
                for place, value in enumerate(chosen)
            ],
            label(".serve-number")[
                span["Passages"],
                input(
                    number, name="k", value=field_value(query.k), max=str(MOST_PASSAGES), placeholder=str(USUAL_PASSAGES)
                ),
            ],
            label(".serve-number")[
                span["Words"],
                input(number, name="budget", value=field_value(query.budget), max=str(MOST_WORDS), placeholder="any"),
            ],
            label(".serve-filter")[
                span["Filter"],
                input(
                    name="where",
                    value=escaped_in_json(query.where),  # in JSON strings, the escaped text means the same
                    maxlength=str(MOST_CHARACTERS),
                    placeholder='F("year") >= 2020',
                    autocomplete="off",
                    spellcheck="false",
                ),
            ],
            button(type="submit")["Ask"],
        ],
    ]


def _strategies(chosen: str, configs: Mapping[str, Config], *, optional: bool) -> Element:
    return select(name="s")[
        optional and option(value="")["none"],
        [option(value=each, selected=each == chosen)[visible(each)] for each in configs],
    ]


def _results(query: PageQuery, answers: Sequence[Answer]) -> Node:
    several = len(answers) > 1
    return section[
        h1[name(query.question)] if query.question else None,
        several and _together(answers),
        div(".ls-columns" if several else ".serve-one")[[_column(query, answers, each) for each in answers]],
    ]


def _together(answers: Sequence[Answer]) -> Node:
    """How many passages more than one strategy found."""
    total = sum(len(each.passages) for each in answers)
    shared = sum(bool(agreements(passage, _others(answers, each))) for each in answers for passage in each.passages)
    if not total:
        return None
    return p(".ls-count")[
        f"{shared} of these {total} passages were found, or a part of them, by more than one strategy"
        if shared
        else "the strategies found nothing in common"
    ]


def _column(query: PageQuery, answers: Sequence[Answer], answer: Answer) -> Node:
    if answer.error is not None:
        return section(".ls-result")[span(".ls-strategy")[name(answer.strategy)], error_box(answer.error)]
    labels = labels_of(answers)[answer.strategy]
    others = _others(answers, answer)

    def below(passage: Passage) -> Node:
        assert isinstance(passage, Passage)
        return [_agreement(agreements(passage, others)), _links(query, passage, labels)]

    return results_picture(
        answer.passages, None, answer.words, heading=answer.strategy, below=below, why_no_answer=answer.why_no_answer
    )


def _others(answers: Sequence[Answer], answer: Answer) -> dict[str, Sequence[Passage]]:
    return {each.strategy: each.passages for each in answers if each is not answer}


def _agreement(agreements: Sequence[Agreement]) -> Node:
    """The other strategies that found a passage, with its numbers in their lists."""
    if not agreements:
        return None
    return p(".serve-shared")[
        "also found by ",
        [
            [
                ", " if place else "",
                name(each.strategy),
                f" ({', '.join(map(str, each.numbers))}{'' if each.share >= _ALL else f': {each.share:.0%} of it'})",
            ]
            for place, each in enumerate(agreements)
        ],
    ]


def _links(query: PageQuery, passage: Passage, labels: Mapping[str, str]) -> Node:
    if not passage.document_id:
        return None
    start = passage.start or 0
    anchor = "" if passage.summary is not None else f"#{labels[passage.id]}"
    return p(".serve-links")[
        a(href=query.link("document", id=passage.document_id, at=start) + anchor)["in its document"],
        passage.summary is not None and a(href=query.link("trees", id=passage.document_id))["its tree"],
    ]


class Reason(NamedTuple):
    """A strategy's reasons to find a document or not."""

    strategy: str
    said: str  # why it finds the document, or what keeps it out, in lines
    failed: bool = False  # ``said`` is an error instead


async def find_reasons(
    view: View, query: PageQuery, configs: Mapping[str, Config], document_id: str, timeout: float
) -> list[Reason]:
    """Find each strategy's reasons for a document. Each strategy retrieves up to some hundred times for it."""
    return await asyncio.gather(
        *(_reason(view, query, name, configs[name], document_id, timeout) for name in query.strategies)
    )


async def _reason(view: View, query: PageQuery, name: str, config: Config, document_id: str, timeout: float) -> Reason:
    try:
        explanation = await aexplain(
            view,
            query.question,
            config.defaults().strategy,
            document_id=document_id,
            where=query.filter(),
            timeout=timeout,
            **query.limits(config),
        )
        return Reason(name, await asyncio.to_thread(str, explanation))
    except DocumentNotFound:
        raise
    except LeafspanError as error:
        return Reason(name, str(error), failed=True)


def why_page(reasons: Sequence[Reason], query: PageQuery, document_id: str) -> Node:
    """Draw each strategy's reasons, side by side."""
    return [
        h1["Why, and why not: ", name(document_id)],
        p(".serve-links")[
            a(href=query.link("document", id=document_id))["the document"], a(href=query.link(""))["back to the question"]
        ],
        div(".ls-columns")[
            [
                section(".ls-result")[
                    span(".ls-strategy")[name(each.strategy)],
                    error_box(each.said)
                    if each.failed
                    else pre(".serve-config.serve-said", dir="auto")[visible(each.said[:_MOST_TEXT], lines=True)],
                ]
                for each in reasons
            ]
        ],
    ]

"""Draws the page of the index: how much it holds, how it was made, and the available strategies."""

from __future__ import annotations

from collections.abc import Mapping

from htpy import Node, details, h1, h2, p, pre, summary, table, tbody, td, th, tr

from leafspan.config import config_text
from leafspan.configuration import Config
from leafspan.errors import InvalidArgument
from leafspan.indexing import Stats
from leafspan.lab.pictures import facts_of, name
from leafspan.text import visible


def index_page(title: str, stats: Stats, known: Mapping[str, Config]) -> Node:
    """Draw the page of the index."""
    numbers = {key: f"{getattr(stats, key):,}" for key in ("documents", "leaves", "words", "characters")}
    return [
        h1[name(title)],
        table(".ls-table.serve-facts")[
            tbody[[tr[th(scope="row")[key], td[name(value)]] for key, value in {**numbers, **facts_of(stats)}.items()]]
        ],
        h2["Strategies"],
        p(".ls-count")["What each name means, as a configuration file writes it."],
        [
            details(".serve-folded")[summary[name(each)], pre(".serve-config")[_written(config)]]
            for each, config in known.items()
        ],
    ]


def _written(config: Config) -> str:
    try:
        return visible(config_text(config.to_dict(full=True)), lines=True)
    except InvalidArgument:  # it has objects that no file can hold
        return visible(repr(config.strategy), lines=True)

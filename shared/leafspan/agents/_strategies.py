"""The strategies that an agent can choose by name; they need no model and no other source."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from leafspan.strategies import Strategy, to_strategy

OWN = "default"
"""The name of the strategy from an index's configuration."""

WHEN = {
    OWN: "as this index is usually searched",
    "relevant-segments": "runs of text that are worth their words",
    "auto-merging": "whole sections where much of one matches",
    "sentence-window": "single sentences with what surrounds them",
    "parent-document": "the paragraphs around what matches",
    "hybrid": "single sentences, by words and meaning",
    "vector": "by meaning alone",
    "bm25": "by words alone, for names, numbers and codes",
    "tree": "also summaries, for broad questions",
}
"""When to use each strategy, in a few words."""


@cache
def usual_strategies() -> Mapping[str, Strategy]:
    """The strategies by name; the first is the default."""
    return MappingProxyType({name: to_strategy("strategy", name) for name in WHEN if name != OWN})

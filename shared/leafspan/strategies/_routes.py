"""Reads the chosen retrievers from a function's or a model's answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from leafspan.checks import did_you_mean, refuse_coroutine, shown
from leafspan.errors import UnusableResult
from leafspan.language_model import read_names, without_reasoning
from leafspan.strategies._failures import went_on_without

_SHOWN = 80  # characters of an answer in a note
_COMPARED = 5  # similarities in a note


@dataclass(frozen=True, slots=True)
class Route:
    """The retrievers that were chosen for a question."""

    names: tuple[str, ...]  # their names, best first; empty if no retriever was chosen
    reason: str


def nearest_route(similarities: Sequence[float], names: Sequence[str], most: int, least: float | None) -> Route:
    """The retrievers whose descriptions are nearest to the question. Ties keep the order of the names."""
    ranked = sorted(zip(names, similarities, strict=True), key=lambda each: -each[1])
    listed = ", ".join(f"{name} {similarity:.3f}" for name, similarity in ranked[:_COMPARED])
    near = tuple(name for name, similarity in ranked[:most] if least is None or similarity >= least)
    if near:
        return Route(near, f"its description is nearest to the question ({listed})" if most == 1 else f"nearest: {listed}")
    return Route((), f"no description has a similarity of {least:g} with the question ({listed})")


def answered_route(answer: object, names: Sequence[str], most: int) -> Route:
    """The retrievers that a language model named."""
    if isinstance(answer, Exception):
        return Route((), went_on_without("the model", answer))
    refuse_coroutine("generate", answer)
    if not isinstance(answer, str):
        return Route((), f"the model's answer must be a text, got {shown(answer)}")
    said = without_reasoning(answer)
    chosen = read_names(said, names, most)
    beginning = repr((said or answer)[:_SHOWN])
    return Route(tuple(chosen), f"the model answered {beginning}" if chosen else f"the model named none in {beginning}")


def ruled_route(answer: Any, names: Sequence[str], most: int | None) -> Route:
    """The retrievers that a user's function named."""
    if isinstance(answer, Exception):
        return Route((), went_on_without("choose", answer))
    refuse_coroutine("choose", answer)
    given = [answer] if isinstance(answer, str) and answer else answer
    if given is None or (isinstance(given, str | list | tuple) and len(given) == 0):
        return Route((), f"choose returned {shown(answer)}")
    for name in given if isinstance(given, list | tuple) else [given]:
        if name not in names:
            rule = f"choose must return a name, a list of names or None, with names among {', '.join(map(repr, names))}"
            raise UnusableResult(f"{rule}; it returned {shown(answer)}{did_you_mean(name, names)}", rule)
    chosen = tuple(dict.fromkeys(given))
    reason = f"choose returned {shown(answer)}"
    if most is not None and len(chosen) > most:
        reason += f"; at most {most} {'is' if most == 1 else 'are'} asked"
    return Route(chosen[:most], reason)

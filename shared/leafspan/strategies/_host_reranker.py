"""What reorders results in a host framework, such as a document compressor of LangChain."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from leafspan.values import Passage


@dataclass(frozen=True, slots=True)
class Reranked:
    """A result that a reranker of a host has kept.

    Attributes:
        place: Its place in what was given, from 0.
        score: Its score, None if it has none.
        note: A remark for the trace, "" for none.
    """

    place: int
    score: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class HostReranker:
    """A document compressor of LangChain or a node postprocessor of LlamaIndex, for ``Rerank``. The adapters make these.

    What it leaves out is left out, and its order is kept. Scores are its own if each result has one and none rises above
    the one before it. Otherwise result number r, from 1, has the score 1 / r.

    Args:
        name: Name for traces and errors.
        rerank: Function from a question and passages to those that are kept, best first.
        arerank: Its coroutine function.
    """

    name: str
    rerank: Callable[[str, Sequence[Passage]], Sequence[Reranked]]
    arerank: Callable[[str, Sequence[Passage]], Awaitable[Sequence[Reranked]]]

"""Asks a language model for keywords of a question."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from leafspan.checks import shown
from leafspan.flows import acall_within, call_within, late
from leafspan.language_model import read_phrasings, without_reasoning

KEYWORD_PROMPT = """\
Name up to {count} keywords for the question below: the persons, places and things that it is about, and other words for
them, as they may be called in an encyclopedia. Write each on a line of its own, and nothing else.

Question: {question}
"""

_NAME = "the language model"


@dataclass(frozen=True, slots=True)
class Keywords:
    """The keywords that a language model wrote, or a note on why there are no keywords."""

    words: tuple[str, ...] = ()
    note: str = ""

    @classmethod
    def read(cls, answer: object, count: int) -> Keywords:
        """Read an answer: a text with one keyword on each line, or the Exception that was raised instead."""
        if isinstance(answer, Exception):
            reason = f"{type(answer).__name__}: {answer}"
        elif not isinstance(answer, str):
            reason = f"TypeError: the answer must be a text, got {shown(answer)}"
        elif words := read_phrasings(without_reasoning(answer), known=(), count=count):
            return cls(tuple(words))
        else:
            reason = f"there is no keyword in the answer {answer[:80]!r}"
        return cls(note=f"no keywords were generated: {reason}")


@dataclass(frozen=True, slots=True)
class BoundedModel:
    """A language model with a time limit. Equal models give equal answers."""

    generate: Callable[[str], str]
    agenerate: Callable[[str], Awaitable[str]] | None
    timeout: float

    def __call__(self, prompt: str) -> str:
        """Return the answer.

        Raises:
            SourceTimeout: if the answer takes too long.
        """
        return call_within(self.timeout, _NAME, self.generate, prompt)

    async def ask(self, prompt: str) -> str:
        """Like a call, without blocking the event loop."""
        if self.agenerate is None:
            return await acall_within(self.timeout, _NAME, self.generate, prompt)
        limit = asyncio.timeout(self.timeout)
        try:
            async with limit:
                return await self.agenerate(prompt)
        except TimeoutError:
            if limit.expired():
                raise late(_NAME, self.timeout) from None
            raise

    def outcome(self, prompt: str) -> Any:
        """Return the answer, or the Exception that was raised instead."""
        try:
            return self(prompt)
        except Exception as error:
            return error

    async def aoutcome(self, prompt: str) -> Any:
        """Like ``outcome``, without blocking the event loop."""
        try:
            return await self.ask(prompt)
        except Exception as error:
            return error

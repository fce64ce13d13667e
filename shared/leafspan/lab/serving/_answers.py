"""Asks several strategies the same question at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from leafspan.configuration import Config
from leafspan.errors import LeafspanError
from leafspan.lab.pictures import Places
from leafspan.lab.serving._asked import Asked
from leafspan.retrieval import Passages
from leafspan.values import Passage
from leafspan.view import View


@dataclass(frozen=True, slots=True)
class Answer:
    """The results of one strategy.

    Attributes:
        strategy: Name of the strategy.
        passages: Its passages, best first.
        error: The error, if the strategy failed. Default: None.
        words: Finds the places of the question's words in a text. Default: None, which highlights no words.
        why_no_answer: See ``Passages.why_no_answer``. Default: None.
    """

    strategy: str
    passages: Sequence[Passage]
    error: str | None = None
    words: Places | None = None
    why_no_answer: str | None = None

    def of_document(self, document_id: str) -> Answer:
        """The passages from one document."""
        kept = [each for each in self.passages if each.document_id == document_id]
        return Answer(self.strategy, kept, self.error, self.words)


async def find_answers(view: View, asked: Asked, known: Mapping[str, Config], timeout: float) -> list[Answer]:
    """Retrieve with each strategy. A strategy that fails does not keep the others from answering."""
    return await asyncio.gather(*(_find(view, asked, name, known[name], timeout) for name in asked.strategies))


async def _find(view: View, asked: Asked, name: str, config: Config, timeout: float) -> Answer:
    try:
        found = await view.aretrieve(
            asked.question,
            config.defaults().strategy,
            where=asked.filter(),
            timeout=timeout,
            **asked.limits(config),
        )
    except LeafspanError as error:
        return Answer(name, [], "; ".join([str(error), *getattr(error, "__notes__", [])]))
    if not isinstance(found, Passages):
        return Answer(name, found)
    return Answer(name, found.worth_showing(), None, found.words, found.why_no_answer)

"""What a summarizer is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from leafspan.embedding import Embed
from leafspan.engine import Flow

Keep = Callable[[int, str], Flow[None]]
"""Told of each finished summary at once: the place of its group, its text.

Several may run at the same time: they are called from worker threads where the flow is run blocking, from several tasks in
an event loop. What one raises ends the work.
"""


class Summarizer(Protocol):
    """Makes one text of several, about as many words long as it is told."""

    @property
    def identity(self) -> str:
        """All that a summary depends on besides the texts and the index's embedder, the same in every process.

        Summaries are kept under it: another identity makes them anew.
        """
        ...

    @property
    def max_words(self) -> int:
        """A summary has about so many words."""
        ...

    @property
    def max_input_words(self) -> int:
        """One summary is made of at most so many words of texts."""
        ...

    @property
    def asks(self) -> bool:
        """Whether each summary is a call to a language model, or to a function that may ask one."""
        ...

    def prompt_words(self, words: int) -> int:
        """How many words a call sends for texts of so many words; 0 where nothing is asked."""
        ...

    def summarizing(self, groups: Sequence[Sequence[str]], embed: Embed, keep: Keep) -> Flow[dict[int, Exception]]:
        """Summarise each group of texts, and ``keep`` each summary as soon as it is done.

        The result: the errors of the groups that failed, by place. ``embed`` and ``keep`` may fail too: that ends the work.
        """
        ...

"""The protocol of summarizers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from leafspan.embedding import Embed
from leafspan.flows import Flow

Keep = Callable[[int, str], Flow[None]]
"""A flow that a summarizer runs for each finished summary, with its group's place and its text.

Several may run at the same time: in worker threads, or in several tasks of an event loop. An error in one ends the work.
"""


class Summarizer(Protocol):
    """Makes a summary of several texts. docs/trees.md lists leafspan's summarizers."""

    @property
    def identity(self) -> str:
        """Text that changes whenever the summarizer would make other summaries of the same texts.

        It is the same in every process, and need not contain the embedder. leafspan caches summaries under this text. So a
        summarizer with another identity makes the summaries again.
        """
        ...

    @property
    def max_words(self) -> int:
        """The approximate length of a summary in words, >= 1."""
        ...

    @property
    def max_input_words(self) -> int:
        """Most words of the texts that one summary is made from, >= 1. A cluster of several texts has no more words."""
        ...

    @property
    def asks(self) -> bool:
        """Whether each summary needs a call of a language model, or of a function that may ask one."""
        ...

    def prompt_words(self, words: int) -> int:
        """The number of words that a call sends to a language model; 0 without a language model.

        Args:
            words: Number of words of the texts, >= 0.
        """
        ...

    def summarizing(self, groups: Sequence[Sequence[str]], embed: Embed, keep: Keep) -> Flow[dict[int, Exception]]:
        """Summarise each group of texts.

        Args:
            groups: Texts of each group, in the order of the document.
            embed: The embedding flow. An error in it ends the work.
            keep: Flow to run for each summary as soon as it is finished. An error in it ends the work.

        Returns:
            The errors of the failed groups, by the group's place, from 0, in ``groups``.
        """
        ...

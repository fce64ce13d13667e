"""Counting what a build would ask a language model for, without asking it."""

from __future__ import annotations

from collections.abc import Sequence

from leafspan.embedding import Embed
from leafspan.flows import Flow
from leafspan.text import count_words
from leafspan.trees._sentences import first_words
from leafspan.trees._summarizer import Keep, Summarizer


class DryRunSummarizer:
    """Stands in for a summarizer during a dry run. Instead of a summary it gives the first words of the texts, and counts.

    Attributes:
        words_sent: Number of words that would have been sent to a language model so far.
        words_received: About how many words would have come back so far.
    """

    def __init__(self, summarizer: Summarizer) -> None:
        self._summarizer = summarizer
        self.identity = summarizer.identity
        self.asks = summarizer.asks
        self.max_words = summarizer.max_words
        self.max_input_words = summarizer.max_input_words
        self.words_sent = 0
        self.words_received = 0

    def prompt_words(self, words: int) -> int:
        """See Summarizer."""
        return self._summarizer.prompt_words(words)

    def summarizing(self, groups: Sequence[Sequence[str]], embed: Embed, keep: Keep) -> Flow[dict[int, Exception]]:
        """See Summarizer. No group fails."""
        for place, texts in enumerate(groups):
            words = sum(map(count_words, texts))
            if self.asks:
                self.words_sent += self.prompt_words(words)
                self.words_received += self.max_words
            yield from keep(place, first_words("\n".join(texts), self.max_words))
        return {}

"""Counts the words that a build would send to a language model."""

from __future__ import annotations

from collections.abc import Sequence

from leafspan.embedding import Embed
from leafspan.flows import Flow
from leafspan.text import count_words
from leafspan.trees._sentences import first_words
from leafspan.trees._summarizer import Keep, Summarizer


class DryRunSummarizer:
    """Replaces a summarizer during a dry run: it counts words, and returns the first words of the texts as summary.

    Attributes:
        words_sent: Number of words that a build would have sent to a language model so far.
        words_received: Estimated number of words that the model would have returned so far.
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

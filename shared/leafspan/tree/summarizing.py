"""What a summarizer is, and how one is made of a language model or a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from leafspan.engine import Flow
from leafspan.errors import InvalidArgument
from leafspan.language_model import find_language_model
from leafspan.tree.abstractive import Abstractive
from leafspan.tree.extractive import Extractive

Keep = Callable[[int, str], Flow[None]]
"""Told of each finished summary at once: the place of its group, its text.

Several may run at the same time: they are called from worker threads where the flow is run blocking, from several tasks in
an event loop. What one raises ends the work.
"""

Embed = Callable[[Sequence[str]], Flow[Any]]
"""The vectors of texts, a row each."""


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


def to_summarizer(thing: object) -> Summarizer:
    """A summarizer: ``Extractive()`` for None, one as it is, and an ``Abstractive`` for a language model or a function.

    See ``Abstractive.of`` for those.

    Raises:
        InvalidArgument: if it is none of them.
    """
    if thing is None:
        return Extractive()
    if not isinstance(thing, type) and callable(getattr(thing, "summarizing", None)):
        return cast(Summarizer, thing)
    if find_language_model(thing) is not None or (callable(thing) and not isinstance(thing, type)):
        return Abstractive.of(thing)
    raise InvalidArgument(
        "a summarizer must be Extractive(), an Abstractive, a LangChain chat model or LLM, a LlamaIndex LLM, or a function "
        f"from a list of texts to their summary, got {thing!r}"
    )

"""Makes a Summarizer from a user's model, function or summarizer."""

from __future__ import annotations

from typing import cast

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.language_model import find_language_model
from leafspan.trees._abstractive import Abstractive
from leafspan.trees._extractive import Extractive
from leafspan.trees._summarizer import Summarizer


def to_summarizer(thing: object) -> Summarizer:
    """Make a summarizer from a summarizer, a language model or a function.

    Raises:
        InvalidArgument: if it is something else.
    """
    if thing is None:
        return Extractive()
    if not isinstance(thing, type) and callable(getattr(thing, "summarizing", None)):
        return cast(Summarizer, thing)
    if find_language_model(thing) is not None or (callable(thing) and not isinstance(thing, type)):
        return Abstractive.of(thing)
    raise InvalidArgument(
        "a summarizer must be Extractive(), an Abstractive, a LangChain chat model or LLM, a LlamaIndex LLM, or a function "
        f"from a list of texts to their summary, got {shown(thing)}"
    )

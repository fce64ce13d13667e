"""The settings that an index remembers, since its leaves depend on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leafspan.errors import IndexMismatch
from leafspan.splitting import HierarchicalSplitter, Splitter, describe_splitter
from leafspan.structure import FORMAT


def settings_of(splitter: Splitter, context_sentences: int) -> dict[str, Any]:
    """What is recorded when an index is made."""
    options = splitter.options() if isinstance(splitter, HierarchicalSplitter) else None
    return {
        "format": FORMAT,
        "splitter": describe_splitter(splitter),
        "splitter_options": options,
        "context_sentences": context_sentences,
    }


def recorded_splitter(settings: Mapping[str, Any], wanted: Splitter | None) -> Splitter | None:
    """The splitter to go on with: the recorded one; None where that is a function which was not given again.

    Raises:
        IndexMismatch: if another one is wanted.
    """
    recorded = settings["splitter"]
    if wanted is not None:
        if describe_splitter(wanted) != recorded:
            raise IndexMismatch(
                f"the index was made with the splitter {recorded}, it cannot go on with {describe_splitter(wanted)}"
            )
        return wanted
    options = settings["splitter_options"]
    return HierarchicalSplitter(**options) if options else None


def recorded_context(settings: Mapping[str, Any], wanted: int | None) -> int:
    """The number of neighbouring sentences indexed with each leaf.

    Raises:
        IndexMismatch: if another one is wanted.
    """
    recorded = int(settings["context_sentences"])
    if wanted is not None and wanted != recorded:
        raise IndexMismatch(f"the index was made with context_sentences={recorded}, it cannot go on with {wanted}")
    return recorded

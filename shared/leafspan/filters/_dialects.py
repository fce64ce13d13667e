"""Converts the filters of other libraries."""

from __future__ import annotations

from collections.abc import Mapping

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.filters._chroma import from_chroma
from leafspan.filters._expression import MOST_LEVELS, Where
from leafspan.filters._haystack import from_haystack, is_haystack
from leafspan.filters._llamaindex import from_llamaindex, is_llamaindex
from leafspan.filters._parsing import filter_from_text


def to_filter(thing: object) -> Where | None:
    """The ``Where`` for a filter in any dialect, or None if the filter allows every document.

    Each dialect keeps the meaning of its operators; see docs/filters.md.

    Raises:
        InvalidArgument: if it is not a filter, or breaks a rule of its dialect. The message shows the wrong part.
    """
    if thing is None or isinstance(thing, Where):
        return thing
    try:
        return _translated(thing)
    except RecursionError:
        raise InvalidArgument(
            f"where must have at most {MOST_LEVELS} levels of filters inside each other, got more: put filters joined by "
            "the same operator side by side"
        ) from None


def _translated(thing: object) -> Where | None:
    if isinstance(thing, str):
        return filter_from_text(thing)
    if isinstance(thing, Mapping):
        if not thing:
            return None
        return from_haystack(thing) if is_haystack(thing) else from_chroma(thing)
    if is_llamaindex(thing):
        return from_llamaindex(thing) if getattr(thing, "filters", True) else None
    raise InvalidArgument(
        "where must be a filter made with F, its text, a mapping in the dialect of Chroma or Haystack, or LlamaIndex's "
        f"MetadataFilters, got {shown(thing)}"
    )

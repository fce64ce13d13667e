"""How notebooks show values: a table from the name of a type to the function that draws its values."""

from __future__ import annotations

from importlib import import_module

_DISPLAYS = {
    "Document": "leafspan.lab.pictures:show_document",
    "Explanation": "leafspan.lab.pictures:show_explanation",
    "Passage": "leafspan.lab.pictures:show_passage",
    "Passages": "leafspan.lab.pictures:show_passages",
    "Summaries": "leafspan.lab.pictures:show_summaries",
    "View": "leafspan.lab.pictures:show_view",
}


def display(kind: str, value: object) -> str | None:
    """The value as HTML. None without the extra that draws it, so that the notebook shows its ``repr``."""
    module, _, function = _DISPLAYS[kind].partition(":")
    try:
        draw = getattr(import_module(module), function)
    except ImportError:  # MissingExtra
        return None
    html: str = draw(value)
    return html

"""Texts of others, so that what shows them obeys nothing in them."""

from leafspan.escaping._markdown import name_in_markdown
from leafspan.escaping._visible import escaped_in_json, visible

__all__ = ["escaped_in_json", "name_in_markdown", "visible"]

"""Reads docstrings that leafspan composes at import, for the pages of the reference."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

from griffe import Docstring, Extension, Object

ADAPTERS = ("langchain_ext", "llamaindex_ext")


class ComposedDocstrings(Extension):
    """Shows the adapters' classes and functions with their docstrings at run time."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        """Take the docstring of a public class or function from the imported module."""
        package, _, name = obj.path.rpartition(".")
        if package.partition(".")[0] not in ADAPTERS or not (obj.is_class or obj.is_function) or name.startswith("_"):
            return
        found = getattr(import_module(package), name, None) if package.count(".") == 1 else None
        if composed := inspect.getdoc(found) if found is not None else None:
            obj.docstring = Docstring(composed, parent=obj)

"""Reads what leafspan composes at import, for the pages of the reference: docstrings, and asynchronous twins."""

from __future__ import annotations

import inspect
from copy import copy
from importlib import import_module
from typing import Any

from griffe import Attribute, Class, Docstring, ExprCall, ExprSubscript, Extension, Function, Module, Object

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

    def on_class_members(self, *, cls: Class, **_: Any) -> None:
        """Show methods as they are called."""
        _show_twins(cls)

    def on_module_members(self, *, mod: Module, **_: Any) -> None:
        """Show functions as they are called."""
        _show_twins(mod)


def _show_twins(owner: Class | Module) -> None:
    """Show what a decorated function takes and returns instead of its flow, and ``awaiting(function)`` as a function."""
    for name, each in list(owner.members.items()):
        if isinstance(each, Function):
            for decorator in (each.value for each in each.decorators):
                if str(decorator) == "blocking" and isinstance(each.returns, ExprSubscript):
                    each.returns = each.returns.slice
                elif isinstance(decorator, ExprCall) and str(decorator.function) == "parameters_of":
                    each.parameters = owner.members[str(decorator.arguments[0])].parameters
        elif isinstance(each, Attribute) and isinstance(each.value, ExprCall) and str(each.value.function) == "awaiting":
            blocking = str(each.value.arguments[0])
            twin = copy(owner.members[blocking])
            twin.name, twin.docstring = name, Docstring(f"Like ``{blocking}``.", parent=twin)
            twin.labels = {*twin.labels, "async"}
            owner.members[name] = twin

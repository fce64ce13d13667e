"""The public strategies, wherever they are."""

from __future__ import annotations

import inspect

import leafspan
from leafspan import (
    Strategy,
    engines,
    errors,
    files,
    indexing,
    lab,
    private,
    sources,
    splitting,
    strategies,
    testing,
    trace,
    trees,
    values,
)
from leafspan.engines import postgres
from leafspan.indexing import adopting

WHOLE = (leafspan, strategies, lab, sources, private)
"""Public modules; each of their names is public."""

IN_PARTS = (errors, trace, trees, values, indexing, adopting, engines, postgres, files, splitting, testing)
"""Modules whose public names are the names that the reference shows."""

STRATEGIES: dict[str, type[Strategy]] = {
    name: thing
    for module in (leafspan, sources, private)
    for name in module.__all__
    if inspect.isclass(thing := getattr(module, name)) and issubclass(thing, Strategy)
}
"""The strategies by name, with ``Strategy`` itself and ``HostRetriever``."""

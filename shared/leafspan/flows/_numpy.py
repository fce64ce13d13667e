"""numpy, imported at its first use: what needs no arrays, such as ``leafspan --help``, starts without it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:

    class _Numpy:
        def __getattr__(self, name: str) -> Any:
            value = getattr(import_module("numpy"), name)
            setattr(self, name, value)  # the next use finds it without this function
            return value

    np = _Numpy()
    NDArray = None  # for annotations, which no program evaluates

__all__ = ["NDArray", "np"]

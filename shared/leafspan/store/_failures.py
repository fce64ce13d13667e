"""Telling whether an error comes from Chroma, also one that is no Exception, without loading Chroma."""

from __future__ import annotations

import sqlite3

_PANIC = ("pyo3_runtime", "PanicException")  # a failure in Chroma's Rust code, which derives from BaseException


def chroma_failure(error: BaseException) -> str | None:
    """What went wrong in Chroma, in one line; None if the error comes from elsewhere."""
    for kind in type(error).__mro__:
        is_chroma = kind.__module__.split(".")[0] == "chromadb" or (kind.__module__, kind.__name__) == _PANIC
        if is_chroma or kind is sqlite3.Error:
            return f"Chroma failed: {' '.join(str(error).split()) or type(error).__name__}"
    return None

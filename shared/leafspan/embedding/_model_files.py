"""Model files inside packages."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from leafspan.errors import MissingExtra


def model_file(package: str, path: Sequence[str], digest: str, extra: str) -> Path:
    """Return a file in a package, without importing the package."""
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise MissingExtra.of(f"the embedder {extra} needs {package}", extra)
    file = Path(found.submodule_search_locations[0]).joinpath(*path)
    if not file.is_file():
        raise MissingExtra.of(f"the embedder {extra} is not complete: {str(file)!r} is missing", extra)
    with file.open("rb") as content:
        got = hashlib.file_digest(content, "sha256").hexdigest()
    if got != digest:
        raise MissingExtra.of(
            f"the embedder {extra} is of another version: {str(file)!r} must have the SHA-256 {digest}, got {got}", extra
        )
    return file

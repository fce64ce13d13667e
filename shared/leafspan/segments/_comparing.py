"""The type of functions that compare a segment with stored documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from leafspan.store import DocumentToWrite

Compare: TypeAlias = Callable[[int, DocumentToWrite], Sequence[int]]
"""Takes the row of a document's first leaf in the segment and the stored document. Returns the ordinals of the leaves that
differ."""

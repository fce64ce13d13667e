"""What compares a segment of a mirror with documents as they are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from leafspan.store import DocumentToWrite

Compare: TypeAlias = Callable[[int, DocumentToWrite], Sequence[int]]
"""From the first row of a document in the segment, and the document as it is stored: the ordinals of the leaves of which
the segment has something else."""

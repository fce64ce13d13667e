"""Copies of what is in Chroma, laid out for what Chroma cannot do. They follow it by themselves, and can be lost."""

from leafspan.mirror._mirror import Mirror, Recipe
from leafspan.mirror._snapshot import MirrorSnapshot
from leafspan.mirror._vector_copy import VectorCopy
from leafspan.mirror._word_postings import WordPostings

__all__ = ["Mirror", "MirrorSnapshot", "Recipe", "VectorCopy", "WordPostings"]

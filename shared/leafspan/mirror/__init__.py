"""Mirrors: copies of what is in Chroma, in a form for searches that Chroma cannot do. They can always be made again."""

from leafspan.mirror._mirror import Mirror, Recipe
from leafspan.mirror._snapshot import MirrorSnapshot
from leafspan.mirror._vector_copy import Codes, VectorCopy, vector_arrays
from leafspan.mirror._word_postings import WordPostings

__all__ = ["Codes", "Mirror", "MirrorSnapshot", "Recipe", "VectorCopy", "WordPostings", "vector_arrays"]

"""Copies of what is in Chroma, laid out for what Chroma cannot do; they follow it by themselves, and can be lost."""

from leafspan.mirror.following import Mirror, Recipe
from leafspan.mirror.mirrored import Mirrored

__all__ = ["Mirror", "Mirrored", "Recipe"]

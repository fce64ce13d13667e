"""The strategy that is used where none is named."""

from leafspan.strategies._relevant_segments import RelevantSegments
from leafspan.strategies._strategy import Strategy

DEFAULT: Strategy = RelevantSegments()
"""The strategy that is used where none is named."""

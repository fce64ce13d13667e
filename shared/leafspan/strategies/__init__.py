"""The strategies, as values: they hold no index, and can be compared, printed and composed."""

from leafspan.strategies.auto_merging import AutoMerging
from leafspan.strategies.bm25 import BM25
from leafspan.strategies.ensemble import Ensemble
from leafspan.strategies.filter import Filter
from leafspan.strategies.hybrid import Hybrid
from leafspan.strategies.multi_query import MultiQuery
from leafspan.strategies.outside import Outside
from leafspan.strategies.parent_document import ParentDocument
from leafspan.strategies.relevant_segments import RelevantSegments
from leafspan.strategies.sentence_window import SentenceWindow
from leafspan.strategies.strategy import Reach, Strategy
from leafspan.strategies.tree import Tree
from leafspan.strategies.vector import Vector

__all__ = [
    "BM25",
    "DEFAULT",
    "AutoMerging",
    "Ensemble",
    "Filter",
    "Hybrid",
    "MultiQuery",
    "Outside",
    "ParentDocument",
    "Reach",
    "RelevantSegments",
    "SentenceWindow",
    "Strategy",
    "Tree",
    "Vector",
]

DEFAULT: Strategy = RelevantSegments()
"""What is used where none is named."""

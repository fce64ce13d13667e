"""The strategies, as values: they hold no index, and can be compared, printed and composed."""

from leafspan.strategies.auto_merging import AutoMerging
from leafspan.strategies.outside import Outside
from leafspan.strategies.parent_document import ParentDocument
from leafspan.strategies.sentence_window import SentenceWindow
from leafspan.strategies.strategy import Reach, Strategy
from leafspan.strategies.vector import Vector

__all__ = ["AutoMerging", "Outside", "ParentDocument", "Reach", "SentenceWindow", "Strategy", "Vector"]

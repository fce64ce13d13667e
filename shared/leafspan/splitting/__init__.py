"""From text to leaves: where a text is cut, and which levels end at each cut."""

from leafspan.splitting.chunks import ChunkSplitter, cuts_at
from leafspan.splitting.cuts import Cut, Splitter, check_cuts, describe_splitter
from leafspan.splitting.headings import Heading, find_headings
from leafspan.splitting.hierarchical import HierarchicalSplitter

__all__ = [
    "ChunkSplitter",
    "Cut",
    "Heading",
    "HierarchicalSplitter",
    "Splitter",
    "check_cuts",
    "cuts_at",
    "describe_splitter",
    "find_headings",
]

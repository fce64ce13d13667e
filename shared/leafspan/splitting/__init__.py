"""Splitting texts into leaves: where a text is cut, and which levels of the hierarchy end at each cut."""

from leafspan.splitting._chunks import ChunkSplitter, cuts_at
from leafspan.splitting._cuts import Cut, Splitter, check_cuts, describe_splitter, to_cuts
from leafspan.splitting._headings import LINE_END, Heading, Table, find_headings, find_tables, front_matter
from leafspan.splitting._hierarchical import HierarchicalSplitter

__all__ = [
    "LINE_END",
    "ChunkSplitter",
    "Cut",
    "Heading",
    "HierarchicalSplitter",
    "Splitter",
    "Table",
    "check_cuts",
    "cuts_at",
    "describe_splitter",
    "find_headings",
    "find_tables",
    "front_matter",
    "to_cuts",
]

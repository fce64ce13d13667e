"""Splits texts into leaves: where a text is cut, and which levels of the hierarchy end at each cut."""

from leafspan.splitting._code import parser_of
from leafspan.splitting._cuts import ChunkSplitter, Cut, Splitter, check_cuts, cuts_at, describe_splitter, to_cuts
from leafspan.splitting._headings import LINE_END, Heading, Table, find_headings, front_matter
from leafspan.splitting._hierarchical import HierarchicalSplitter
from leafspan.splitting._layout import ASCIIDOC, MARKDOWN, ORG, PLAIN, RST, Layout, layout_of
from leafspan.splitting._sentences import breaks_between

__all__ = [
    "ASCIIDOC",
    "LINE_END",
    "ORG",
    "MARKDOWN",
    "PLAIN",
    "RST",
    "ChunkSplitter",
    "Cut",
    "Heading",
    "HierarchicalSplitter",
    "Layout",
    "Splitter",
    "Table",
    "breaks_between",
    "check_cuts",
    "cuts_at",
    "describe_splitter",
    "find_headings",
    "front_matter",
    "layout_of",
    "parser_of",
    "to_cuts",
]

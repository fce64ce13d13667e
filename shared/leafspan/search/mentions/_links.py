"""Links and file paths in a text."""

from __future__ import annotations

import re
from typing import NamedTuple

# Every repetition ends at a character that begins another match, or after a fixed number of characters: texts come from
# anybody, and no text must take longer than in proportion to its length.
_LINK_TITLE = r"(?:\s{1,9}(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|\([^()\n]{0,200}\)))?"
_MARKDOWN = re.compile(
    rf"(?<!!)\[[^\[\]]*\]\(\s{{0,9}}(?:<([^<>\n]{{1,1000}})>|([^\s<>()]+(?:\([^\s()]*\)[^\s<>()]*)?)){_LINK_TITLE}\s{{0,9}}\)"
)
_DEFINITION = re.compile(r"^ {0,3}\[[^\[\]]+\]:[ \t]{0,9}<?([^\s<>]+)", re.MULTILINE)
_WIKI = re.compile(r"\[\[([^\[\]|#\n]+)(?:#[^\[\]|\n]*)?(?:\|[^\[\]\n]*)?\]\]")
_HREF = re.compile(r"\bhref\s*=\s*(?:\"([^\"]+)\"|'([^']+)')", re.IGNORECASE)
_ADDRESS = re.compile(r"\bhttps?://[^\s<>\"'()\[\]]+")
# A name with an extension, perhaps below folders. It must not be part of an address or of a longer name.
_PATH = re.compile(r"(?<![\w/.:@-])(?:\.{0,2}/)?(?:[\w.-]+/)*\w[\w-]*(?:\.[\w-]+)*\.[A-Za-z]\w{0,7}(?![\w/])")


_LONGEST = 1_000  # most characters of a word that may be a path


class Link(NamedTuple):
    """A link or a path as written in a text."""

    target: str  # its target: a path, an address, or the name of a wiki page
    is_wiki: bool = False  # whether it is a wiki link, whose target can be a title


def find_links(text: str) -> list[Link]:
    """The links of Markdown, of wikis and of HTML in a text, addresses and file paths, each once."""
    found: dict[Link, None] = {}
    if "[[" in text:
        found.update((Link(match[1].strip(), is_wiki=True), None) for match in _WIKI.finditer(text))
    if "](" in text:
        found.update((Link(match[1] or match[2]), None) for match in _MARKDOWN.finditer(text))
    if "]:" in text:
        found.update((Link(match[1]), None) for match in _DEFINITION.finditer(text))
    if "=" in text:
        found.update((Link(match[1] or match[2]), None) for match in _HREF.finditer(text))
    if "://" in text:
        found.update((Link(match[0].rstrip(".,;:!?*_`")), None) for match in _ADDRESS.finditer(text))
    if "." in text:
        # Most words have no dot inside, and testing for that is faster than the pattern.
        words = (word for word in text.split() if word.find(".", 0, -1) >= 0 and len(word) <= _LONGEST)
        found.update((Link(match[0]), None) for word in words for match in _PATH.finditer(word))
    return list(found)

"""How texts name documents: by titles and aliases, by links, and by paths and addresses."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from leafspan.lexical import find_plain_words
from leafspan.text import fold

MOST_WORDS = 32  # most words of a name; nobody mentions a longer text by its words
_LONGEST_NAME = 1_000  # most characters of a name
_PARENTHESES = re.compile(r"\([^()]*\)")
_CAPITALISED = re.compile(r"[^\W\d_]\w*")


def title_key(text: str) -> str:
    """The words of a title, joined. Two titles with the same key are the same name.

    In Chinese, Japanese and Korean, each pair of neighbouring characters is a word, so that a name is found without spaces
    around it.
    """
    return " ".join(find_plain_words(text))


def names_in(title: str | None, metadata: Mapping[str, object], aliases: str | None) -> list[str]:
    """A document's names: its title, the title without parentheses, and its aliases.

    A text of more than 1,000 characters is not a name.
    """
    names = []
    if title:
        names.append(title)
        if "(" in title and len(title) <= _LONGEST_NAME and (bare := " ".join(_PARENTHESES.sub(" ", title).split())):
            names.append(bare)
    if aliases is not None:
        more = metadata.get(aliases)
        names += [each for each in (more if isinstance(more, list) else [more]) if isinstance(each, str)]
    return [each for each in names if len(each) <= _LONGEST_NAME]


def is_name(key: str) -> bool:
    """Whether a title's words can name it in a text. A single letter, a number or a whole sentence cannot."""
    return len(key) > 1 and not key.isdecimal() and key.count(" ") < MOST_WORDS


def stands_in(word: str, text: str) -> bool:
    """Whether a text has exactly this word."""
    start = text.find(word)
    while start >= 0:
        behind = start + len(word)
        if not (text[start - 1 : start].isalnum() or text[behind : behind + 1].isalnum()):
            return True
        start = text.find(word, behind)
    return False


def capitalised_words(text: str) -> set[str]:
    """The plain words of a text that begin with a capital letter somewhere, or have no case."""
    return set(find_plain_words(" ".join(word for word in _CAPITALISED.findall(text) if not word[0].islower())))


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


_LONGEST_LINK = 1_000  # most characters of a word that may be a path


class Link(NamedTuple):
    """A link or a path as written in a text."""

    target: str  # its target: a path, an address, or the name of a wiki page
    is_wiki: bool = False  # whether it is a wiki link, whose target can be a title


def find_links(text: str) -> list[Link]:
    """The links of Markdown, of wikis and of HTML in a text, addresses and file paths, each once."""
    links: dict[Link, None] = {}
    if "[[" in text:
        links.update((Link(match[1].strip(), is_wiki=True), None) for match in _WIKI.finditer(text))
    if "](" in text:
        links.update((Link(match[1] or match[2]), None) for match in _MARKDOWN.finditer(text))
    if "]:" in text:
        links.update((Link(match[1]), None) for match in _DEFINITION.finditer(text))
    if "=" in text:
        links.update((Link(match[1] or match[2]), None) for match in _HREF.finditer(text))
    if "://" in text:
        links.update((Link(match[0].rstrip(".,;:!?*_`")), None) for match in _ADDRESS.finditer(text))
    if "." in text:
        # Most words have no dot inside, and testing for that is faster than the pattern.
        words = (word for word in text.split() if word.find(".", 0, -1) >= 0 and len(word) <= _LONGEST_LINK)
        links.update((Link(match[0]), None) for word in words for match in _PATH.finditer(word))
    return list(links)


LOCATION_KEYS = ("source", "file_path", "url")  # metadata keys under which loaders store a document's origin
_LONGEST_PATH = 1_000  # most characters of a path
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_OTHER_SCHEME = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+:(?!//|\\)")
_EXTENSION = re.compile(r"\.[A-Za-z]\w{0,7}\Z")


class Location(NamedTuple):
    """A path or an address as folders and a name with ``/`` between them, in lower case."""

    path: str  # the whole path without the extension
    extension: str  # the extension with its dot, or an empty text

    @property
    def name(self) -> str:
        """The file name without folders and extension."""
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """The folders, or an empty text."""
        return self.path.rpartition("/")[0]

    def fits(self, other: Location) -> bool:
        """Whether a link to this location may lead to the other one: extensions must be equal, if the link has one."""
        return not self.extension or self.extension == other.extension


def locations_of(document_id: str, metadata: Mapping[str, object]) -> list[Location]:
    """The locations of a document: its id, and the loaders' metadata, if they have an extension or are an address."""
    locations: dict[Location, None] = {}
    noted = [metadata[key] for key in LOCATION_KEYS if key in metadata] if metadata else []
    for value in (document_id, *noted):
        if isinstance(value, str) and ("." in value or "://" in value) and len(value) <= _LONGEST_PATH:
            plain = _without_fragment(value)
            if _SCHEME.match(plain) or _EXTENSION.search(plain):
                locations[_to_location(plain)] = None
    return [place for place in locations if place.name]


def locations_to_try(target: str, own: Sequence[Location]) -> tuple[list[Location], Location | None]:
    """The possible meanings of a link's target: whole locations, and one that other locations may end with."""
    target = _without_fragment(target)
    if not target or len(target) > _LONGEST_PATH or _OTHER_SCHEME.match(target):
        return [], None
    if _SCHEME.match(target):
        return [_to_location(target)], None
    path = target.replace("\\", "/")
    whole = []
    if not path.startswith("/"):
        whole += [_to_location(posixpath.join(place.folder, path)) for place in own]
    whole.append(_to_location(path))
    ending = whole[-1]
    while ending.path.startswith("../"):
        ending = ending._replace(path=ending.path[3:])
    return [place for place in dict.fromkeys(whole) if place.name], ending if ending.name.strip(".") else None


def leads_to(target: Location, place: Location) -> bool:
    """Whether a location ends with the target, folder by folder."""
    return target.fits(place) and (place.path == target.path or place.path.endswith(f"/{target.path}"))


def _without_fragment(target: str) -> str:
    plain = target.partition("#")[0].partition("?")[0].strip()
    return unquote(plain) if "%" in plain else plain


def _to_location(target: str) -> Location:
    path = fold(_SCHEME.sub("", target) if "://" in target else target, accents=True).replace("\\", "/")
    if "//" in path or "./" in path or path.endswith(("/", ".")):  # otherwise it is normalised already
        path = posixpath.normpath(path) if path.strip("/") else ""
    path = path.lstrip("/")
    match = _EXTENSION.search(path)
    return Location(path[: match.start()], match[0]) if match else Location(path, "")

"""The title that the properties of an Office file say."""

from __future__ import annotations

import re
from contextlib import suppress
from xml.etree import ElementTree
from zipfile import ZipFile

# Titles that a program has made, which say nothing of the text.
_MADE = re.compile(
    r"(?:microsoft (?:word|excel|powerpoint) - .*|(?:untitled|document|presentation|slide)[\s\d]*|powerpoint presentation"
    r"|[^\n]*\.(?:docx?|pptx?|xlsx?|odt|rtf|tex|dvi|pdf|indd|qxd|html?))",
    re.IGNORECASE,
)
_TITLE = "{http://purl.org/dc/elements/1.1/}title"


def title_in_properties(archive: ZipFile, name: str = "docProps/core.xml") -> str | None:
    """The title; None if there is none, or a program has made it."""
    with suppress(KeyError, ElementTree.ParseError, ValueError):
        found = next(ElementTree.fromstring(archive.read(name)).iter(_TITLE), None)
        return said_title(found.text) if found is not None else None
    return None


def said_title(text: str | None) -> str | None:
    """The title that a file says it has; None if that is none, or a program has made it."""
    title = " ".join((text or "").split())
    return None if not title or _MADE.fullmatch(title) else title

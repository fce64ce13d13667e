"""The title in an Office file's properties."""

from __future__ import annotations

import re
from contextlib import suppress
from xml.etree import ElementTree
from zipfile import ZipFile

# Titles that programs make up, and that do not describe the text.
_MADE = re.compile(
    r"(?:\(?(?:anonymous|unknown|unspecified|none|null|no title)\)?|microsoft (?:word|excel|powerpoint) [-\u2013\u2014] .*"
    r"|(?:untitled|document|presentation|slide)[-\s\d]*|powerpoint presentation|(?:doc|book|workbook)\d+"
    r"|[^\n]*\.(?:docx?|pptx?|xlsx?|odt|rtf|tex|dvi|pdf|indd|qxd|html?))",
    re.IGNORECASE,
)
_TITLE = "{http://purl.org/dc/elements/1.1/}title"


def title_in_properties(archive: ZipFile, name: str = "docProps/core.xml") -> str | None:
    """Return the title, or None if there is no title, or a program has made it up."""
    with suppress(Exception):  # the text can be read all the same
        found = next(ElementTree.fromstring(archive.read(name)).iter(_TITLE), None)
        return said_title(found.text) if found is not None else None
    return None


def said_title(text: str | None) -> str | None:
    """Return a file's declared title, or None if it is empty, or a program has made it up."""
    title = " ".join((text or "").split())
    return None if not title or _MADE.fullmatch(title) else title

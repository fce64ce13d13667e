"""The paths and addresses of documents, and which documents a link leads to."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from leafspan.text import fold

LOCATION_KEYS = ("source", "file_path", "url")
"""Metadata keys under which loaders store a document's origin."""

_LONGEST = 1_000  # most characters of a path
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_OTHER_SCHEME = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+:(?!//|\\)")
_EXTENSION = re.compile(r"\.[A-Za-z]\w{0,7}\Z")


class Place(NamedTuple):
    """A place as folders and a name with ``/`` between them, in lower case."""

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

    def fits(self, other: Place) -> bool:
        """Whether a link to this place may lead to the other one: extensions must be equal, if the link has one."""
        return not self.extension or self.extension == other.extension


def places_of(document_id: str, metadata: Mapping[str, object]) -> list[Place]:
    """A document's places: its id, and the loaders' metadata, if they have an extension or are an address."""
    found: dict[Place, None] = {}
    noted = [metadata[key] for key in LOCATION_KEYS if key in metadata] if metadata else []
    for value in (document_id, *noted):
        if isinstance(value, str) and ("." in value or "://" in value) and len(value) <= _LONGEST:
            plain = _without_fragment(value)
            if _SCHEME.match(plain) or _EXTENSION.search(plain):
                found[_to_place(plain)] = None
    return [place for place in found if place.name]


def places_to_try(target: str, own: Sequence[Place]) -> tuple[list[Place], Place | None]:
    """The possible meanings of a link's target: whole places, and one place that other places may end with."""
    target = _without_fragment(target)
    if not target or len(target) > _LONGEST or _OTHER_SCHEME.match(target):
        return [], None
    if _SCHEME.match(target):
        return [_to_place(target)], None
    path = target.replace("\\", "/")
    whole = []
    if not path.startswith("/"):
        whole += [_to_place(posixpath.join(place.folder, path)) for place in own]
    whole.append(_to_place(path))
    ending = whole[-1]
    while ending.path.startswith("../"):
        ending = ending._replace(path=ending.path[3:])
    return [place for place in dict.fromkeys(whole) if place.name], ending if ending.name.strip(".") else None


def leads_to(target: Place, place: Place) -> bool:
    """Whether a place ends with the target, folder by folder."""
    return target.fits(place) and (place.path == target.path or place.path.endswith(f"/{target.path}"))


def _without_fragment(target: str) -> str:
    plain = target.partition("#")[0].partition("?")[0].strip()
    return unquote(plain) if "%" in plain else plain


def _to_place(target: str) -> Place:
    path = fold(_SCHEME.sub("", target) if "://" in target else target, accents=True).replace("\\", "/")
    if "//" in path or "./" in path or path.endswith(("/", ".")):  # otherwise it is normalised already
        path = posixpath.normpath(path) if path.strip("/") else ""
    path = path.lstrip("/")
    match = _EXTENSION.search(path)
    return Place(path[: match.start()], match[0]) if match else Place(path, "")

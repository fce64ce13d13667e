"""Where documents lie: their paths and addresses, and which of them a link leads to."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from leafspan.text import fold

LOCATION_KEYS = ("source", "file_path", "url")
"""Metadata keys under which loaders say where a document is from."""

_LONGEST = 1_000  # characters of a path
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_OTHER_SCHEME = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+:(?!//|\\)")
_EXTENSION = re.compile(r"\.[A-Za-z]\w{0,7}\Z")


class Place(NamedTuple):
    """Where something lies, as folders and a name with ``/`` between them, without case.

    Attributes:
        path: All of it, without the extension.
        extension: The extension, with its dot. Empty if there is none.
    """

    path: str
    extension: str

    @property
    def name(self) -> str:
        """The name of the file, without folders and extension."""
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """The folders, empty if there are none."""
        return self.path.rpartition("/")[0]

    def fits(self, other: Place) -> bool:
        """Whether a link to this leads to the other one: extensions must be the same, unless the link has none."""
        return not self.extension or self.extension == other.extension


def places_of(document_id: str, metadata: Mapping[str, object]) -> list[Place]:
    """Where a document lies: its id, and what loaders note, if these have an extension or are an address."""
    found: dict[Place, None] = {}
    noted = [metadata[key] for key in LOCATION_KEYS if key in metadata] if metadata else []
    for value in (document_id, *noted):
        if isinstance(value, str) and ("." in value or "://" in value) and len(value) <= _LONGEST:
            plain = _without_fragment(value)
            if _SCHEME.match(plain) or _EXTENSION.search(plain):
                found[_to_place(plain)] = None
    return [place for place in found if place.name]


def places_to_try(target: str, own: Sequence[Place]) -> tuple[list[Place], Place | None]:
    """What the target of a link can be: places that it names wholly, and one that others may end with."""
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
    if "//" in path or "./" in path or path.endswith(("/", ".")):  # otherwise it is as short as it can be
        path = posixpath.normpath(path) if path.strip("/") else ""
    path = path.lstrip("/")
    match = _EXTENSION.search(path)
    return Place(path[: match.start()], match[0]) if match else Place(path, "")

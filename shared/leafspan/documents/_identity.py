"""Ids for documents without an id of their own, as most loaders and splitters make them."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Collection, Mapping

from leafspan.checks import shown
from leafspan.errors import InvalidArgument

SOURCE_KEYS = ("source", "file_path", "url", "path", "file_name", "filename")
"""The metadata keys in which loaders store a text's source. The first existing one wins."""

POSITION_KEYS = ("page", "page_number", "row", "seq_num", "split_id", "start_index", "split_idx_start", "start_char_idx")
"""The metadata keys in which loaders and splitters store a text's part of the source."""

# Dates of files and of loading change without the text, and the document stays the same. Keys in lower case, without what
# joins their words.
_VOLATILE = frozenset(
    re.findall(
        r"\w+",
        "accessed accessedat accessdate accesstime atime birthtime crawledat crawldate created creationdate creationtime "
        "ctime downloadedat fetchedat filecreated filemodified indexedat ingestedat lastaccess lastaccessdate lastaccessed "
        "lastaccessedat lastaccesseddate lastaccessedtime lastaccesstime lastmodified lastmodifiedat lastmodifieddate "
        "lastmodifiedtime lastopened lastseen lastupdate lastupdated loadedat moddate modificationdate modificationtime "
        "modified modifiedat modifieddate modifiedtime mtime retrievedat scrapedat updated updatedat",
    )
)
_JOINTS = re.compile(r"[\W_]")

_LONGEST_SOURCE = 64  # characters; Chroma Cloud takes ids of up to 128 bytes


def source_of(metadata: Mapping[str, object]) -> str | None:
    """Return a document's source from its metadata, or None if unknown."""
    sources = (metadata.get(key) for key in SOURCE_KEYS)
    return next((source for source in sources if isinstance(source, str) and source), None)


def made_id(
    text: str,
    metadata: Mapping[str, object],
    *,
    source: str | None = None,
    position: Mapping[str, object] | None = None,
    volatile_keys: Collection[str] = (),
) -> str:
    """Return an id made of the document's source, its place there, and a hash of the whole document.

    The same document always gets the same id, so it can be added again without harm. A document with another text or other
    metadata gets another id. Volatile keys, such as dates of files, do not matter.
    """
    told = {**metadata, **(position or {})}
    origin = source_of(metadata) or source or ""
    content = [text, origin, sorted((key, value) for key, value in told.items() if not _is_volatile(key, volatile_keys))]
    digest = hashlib.sha256(json.dumps(content, ensure_ascii=True).encode()).hexdigest()[:16]
    name = described(metadata, origin, position)
    return f"{name}:{digest}" if name else digest


def checked_keys(keys: object) -> frozenset[str]:
    """Return the option ``volatile_keys``, checked."""
    if not isinstance(keys, list | tuple | set | frozenset) or not all(isinstance(key, str) and key for key in keys):
        raise InvalidArgument(f"volatile_keys must be a list of metadata keys, got {shown(keys)}")
    return frozenset(keys)


def _is_volatile(key: str, further: Collection[str]) -> bool:
    return key in further or _JOINTS.sub("", key.rpartition(".")[2]).lower() in _VOLATILE


def described(metadata: Mapping[str, object], source: str = "", position: Mapping[str, object] | None = None) -> str:
    """Return a document's source and place, such as ``faq.csv:row=3``, or "" if its metadata do not have them."""
    told = {**metadata, **(position or {})}
    name = (source_of(metadata) or source)[-_LONGEST_SOURCE:]
    place = [f"{key}={told[key]}" for key in POSITION_KEYS if isinstance(told.get(key), int | str) and told[key] != ""]
    return ":".join([*([name] if name else []), *place])


def is_random(id_: str) -> bool:
    """Whether an id is a random UUID, which frameworks give to everything without an id."""
    try:
        return uuid.UUID(id_).version == 4
    except ValueError:
        return False

"""Ids for documents that have none of their own, such as those of most loaders and splitters."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Collection, Mapping

from leafspan.checks import shown
from leafspan.errors import InvalidArgument

SOURCE_KEYS = ("source", "file_path", "url", "path", "file_name", "filename")
"""The metadata keys under which loaders say where a text is from. The first one that is there counts."""

POSITION_KEYS = ("page", "page_number", "row", "seq_num", "split_id", "start_index", "split_idx_start", "start_char_idx")
"""The metadata keys under which loaders and splitters say which part of a source a text is."""

# Dates of files and of loading: they change without a change of the text, so the document stays the same one. All in lower
# case, and without what joins their words.
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
    """Where a document is from, as its metadata say; None if they do not."""
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
    """An id that tells the document apart from every other one: its source, its place there, and a hash of all of it.

    The same document always gets the same id, so that it can be added again without harm. A document with another text
    or other metadata gets another id, except that volatile keys do not matter, such as dates of files.
    """
    told = {**metadata, **(position or {})}
    origin = source_of(metadata) or source or ""
    content = [text, origin, sorted((key, value) for key, value in told.items() if not _is_volatile(key, volatile_keys))]
    digest = hashlib.sha256(json.dumps(content, ensure_ascii=True).encode()).hexdigest()[:16]
    name = described(metadata, origin, position)
    return f"{name}:{digest}" if name else digest


def checked_keys(keys: object) -> frozenset[str]:
    """The option ``volatile_keys``.

    Raises:
        InvalidArgument: if it is no list of metadata keys.
    """
    if not isinstance(keys, list | tuple | set | frozenset) or not all(isinstance(key, str) and key for key in keys):
        raise InvalidArgument(f"volatile_keys must be a list of metadata keys, got {shown(keys)}")
    return frozenset(keys)


def _is_volatile(key: str, further: Collection[str]) -> bool:
    return key in further or _JOINTS.sub("", key.rpartition(".")[2]).lower() in _VOLATILE


def described(metadata: Mapping[str, object], source: str = "", position: Mapping[str, object] | None = None) -> str:
    """The source of a document and its place there, such as ``faq.csv:row=3``; empty if its metadata do not say them."""
    told = {**metadata, **(position or {})}
    name = (source_of(metadata) or source)[-_LONGEST_SOURCE:]
    place = [f"{key}={told[key]}" for key in POSITION_KEYS if isinstance(told.get(key), int | str) and told[key] != ""]
    return ":".join([*([name] if name else []), *place])


def is_random(id_: str) -> bool:
    """Whether an id is a random UUID, which frameworks give to everything that has no id of its own."""
    try:
        return uuid.UUID(id_).version == 4
    except ValueError:
        return False

"""Other frameworks' documents, recognised by their attributes, so that no framework must be installed.

Most loaders and splitters make documents without an id. These get one that tells them apart.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from leafspan.checks import shown
from leafspan.documents._metadata import title_in
from leafspan.errors import InvalidArgument, InvalidDocument
from leafspan.values import Chunk, Document


@dataclass(frozen=True, slots=True)
class ForeignDocument:
    id: str | None  # its id. None without an id of its own
    text: str
    title: str | None  # the ``title`` in its metadata
    metadata: Mapping[str, Any]
    source: str | None = None  # id of the document that it was split from, if any
    position: Mapping[str, object] = field(default_factory=dict)  # its place in its source, if its metadata do not have it
    chunks: tuple[Chunk, ...] = ()  # always empty; a leafspan document may have chunks
    hidden: tuple[str, ...] = ()  # keys of its metadata that no model may see


def recognise(thing: object) -> Document | ForeignDocument:
    """Return a leafspan document unchanged, and the parts of a framework's document or a mapping."""
    if isinstance(thing, Document):
        return thing
    if isinstance(thing, Mapping):
        return _from_mapping(thing)
    document: Any = thing
    if hasattr(thing, "page_content"):
        metadata = document.metadata or {}
        return ForeignDocument(getattr(thing, "id", None) or None, document.page_content, title_in(metadata), metadata)
    if hasattr(thing, "node_id") and hasattr(thing, "get_content"):
        return _from_llamaindex(document)
    if hasattr(thing, "content") and hasattr(thing, "meta") and hasattr(thing, "id"):
        return _from_haystack(document)
    if isinstance(thing, str):
        raise InvalidDocument(
            f"a document must not be a text alone, got {shown(thing)}: for a file or folder, pass pathlib.Path(...); for a "
            "text, a Document, which has an id beside it"
        )
    hint = next((hint for is_one, hint in _HINTS if is_one(thing)), "")
    raise InvalidDocument(
        "a document must be a leafspan, LangChain, LlamaIndex or Haystack Document, a mapping, a Path or Files, "
        f"got {type(thing).__name__}{hint}"
    )


_HINTS: Sequence[tuple[Callable[[object], bool], str]] = (
    (lambda thing: hasattr(thing, "lazy_load"), "; for a loader, pass loader.lazy_load()"),
    (lambda thing: hasattr(thing, "load_data"), "; for a reader, pass reader.load_data()"),
    (lambda thing: hasattr(thing, "__aiter__"), "; collect it first: [each async for each in it]"),
)


def _from_mapping(thing: Mapping[str, Any]) -> Document:
    unknown = set(thing) - {"id", "text", "title", "metadata", "chunks", "outline", "hidden"}
    if unknown or not {"id", "text"} <= set(thing):
        keys = sorted(key if isinstance(key, str) else shown(key) for key in thing)
        raise InvalidDocument(
            f"a mapping must have id and text, may have title, metadata and chunks, got keys {shown(keys)}"
        )
    # dataclasses.asdict of an index's document has its outline, too, which is computed again.
    return Document(**{key: value for key, value in thing.items() if key != "outline"})


def _from_llamaindex(node: Any) -> ForeignDocument:
    """Read a LlamaIndex Document or node. LlamaIndex gives random ids to documents without an id, and to pieces."""
    metadata = dict(node.metadata or {})
    if (referred := getattr(node, "index_id", None)) is not None:  # an IndexNode, which refers to something else
        metadata.setdefault(_REFERENCE, referred)
    start, whole = getattr(node, "start_char_idx", None), getattr(node, "ref_doc_id", None)
    has_own_id = "id_" in getattr(node, "model_fields_set", ("id_",)) and not (whole and is_random(node.node_id))
    position = {} if start is None else {"start_char_idx": start}
    text = node.get_content()
    position = position if text else position | _in_place(node)
    id_ = node.node_id if has_own_id else None
    hidden = tuple(getattr(node, "excluded_llm_metadata_keys", None) or ())
    return ForeignDocument(id_, text, title_in(metadata), metadata, whole, position, hidden=hidden)


_REFERENCE = "reference"  # the key by which references are followed by default

# What a LlamaIndex node may have instead of a text: a picture, a sound, a film, another thing's name.
_NO_TEXTS = ("image", "image_path", "image_url", "image_resource", "audio_resource", "video_resource", "index_id")


def _in_place(node: Any) -> dict[str, str]:
    """Return a hash of what a node has instead of a text, which tells it apart from others."""
    contents = {name: value for name in _NO_TEXTS if (value := getattr(node, name, None))}
    return {"in_place": hashlib.sha256(repr(contents).encode()).hexdigest()} if contents else {}


def _from_haystack(document: Any) -> ForeignDocument:
    """Read a Haystack Document. Its id is a hash of its content unless the user set one."""
    if document.content is None:
        raise InvalidDocument(f"a Haystack Document must have a text as its content, got none in {document.id!r}")
    metadata = {key: value for key, value in (document.meta or {}).items() if key != _OVERLAPS}
    whole = metadata.get("source_id")
    source = whole if isinstance(whole, str) else None
    return ForeignDocument(document.id, document.content, title_in(metadata), metadata, source)


_OVERLAPS = "_split_overlap"  # the neighbours of a chunk, as a list of mappings


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
    fields = {**metadata, **(position or {})}
    origin = source_of(metadata) or source or ""
    content = [text, origin, sorted((key, value) for key, value in fields.items() if not _is_volatile(key, volatile_keys))]
    digest = hashlib.sha256(json.dumps(content, ensure_ascii=True).encode()).hexdigest()[:16]
    name = described(metadata, origin, position)
    return f"{name}:{digest}" if name else digest


def checked_keys(keys: object) -> frozenset[str]:
    if not isinstance(keys, list | tuple | set | frozenset) or not all(isinstance(key, str) and key for key in keys):
        raise InvalidArgument(f"volatile_keys must be a list of metadata keys, got {shown(keys)}")
    return frozenset(keys)


def _is_volatile(key: str, further: Collection[str]) -> bool:
    return key in further or _JOINTS.sub("", key.rpartition(".")[2]).lower() in _VOLATILE


def described(metadata: Mapping[str, object], source: str = "", position: Mapping[str, object] | None = None) -> str:
    """Return a document's source and place, such as ``faq.csv:row=3``, or "" if its metadata do not have them."""
    fields = {**metadata, **(position or {})}
    name = (source_of(metadata) or source)[-_LONGEST_SOURCE:]
    place = [
        f"{key}={fields[key]}" for key in POSITION_KEYS if isinstance(fields.get(key), int | str) and fields[key] != ""
    ]
    return ":".join([*([name] if name else []), *place])


def is_random(id_: str) -> bool:
    """Whether an id is a random UUID, which frameworks give to everything without an id."""
    try:
        return uuid.UUID(id_).version == 4
    except ValueError:
        return False

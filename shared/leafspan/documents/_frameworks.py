"""Other frameworks' documents, recognised by their attributes, so that no framework must be installed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from leafspan.checks import shown
from leafspan.documents._identity import is_random
from leafspan.documents._metadata import title_in
from leafspan.errors import InvalidDocument
from leafspan.values import Chunk, Document


@dataclass(frozen=True, slots=True)
class GivenDocument:
    """A framework's document."""

    id: str | None  # its id. None without an id of its own
    text: str
    title: str | None  # the ``title`` in its metadata
    metadata: Mapping[str, Any]
    source: str | None = None  # id of the document that it was split from, if any
    position: Mapping[str, object] = field(default_factory=dict)  # its place in its source, if its metadata do not have it
    chunks: tuple[Chunk, ...] = ()  # always empty; a leafspan document may have chunks
    hidden: tuple[str, ...] = ()  # keys of its metadata that no model may see


def recognise(thing: object) -> Document | GivenDocument:
    """Return a leafspan document unchanged, and the parts of a framework's document or a mapping."""
    if isinstance(thing, Document):
        return thing
    if isinstance(thing, Mapping):
        return _from_mapping(thing)
    document: Any = thing
    if hasattr(thing, "page_content"):
        return _given(getattr(thing, "id", None) or None, document.page_content, document.metadata or {})
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


def _from_llamaindex(node: Any) -> GivenDocument:
    """Read a LlamaIndex Document or node. LlamaIndex gives random ids to documents without an id, and to pieces."""
    metadata = dict(node.metadata or {})
    if (referred := getattr(node, "index_id", None)) is not None:  # an IndexNode, which refers to something else
        metadata.setdefault(_REFERENCE, referred)
    start, whole = getattr(node, "start_char_idx", None), getattr(node, "ref_doc_id", None)
    given = "id_" in getattr(node, "model_fields_set", ("id_",)) and not (whole and is_random(node.node_id))
    position = {} if start is None else {"start_char_idx": start}
    text = node.get_content()
    position = position if text else position | _in_place(node)
    made = _given(node.node_id if given else None, text, metadata, whole, position)
    return replace(made, hidden=tuple(getattr(node, "excluded_llm_metadata_keys", None) or ()))


_REFERENCE = "reference"  # the key by which references are followed by default

# What a LlamaIndex node may have instead of a text: a picture, a sound, a film, another thing's name.
_NO_TEXTS = ("image", "image_path", "image_url", "image_resource", "audio_resource", "video_resource", "index_id")


def _in_place(node: Any) -> dict[str, str]:
    """Return a hash of what a node has instead of a text, which tells it apart from others."""
    there = {name: value for name in _NO_TEXTS if (value := getattr(node, name, None))}
    return {"in_place": hashlib.sha256(repr(there).encode()).hexdigest()} if there else {}


def _from_haystack(document: Any) -> GivenDocument:
    """Read a Haystack Document. Its id is a hash of its content unless the user set one."""
    if document.content is None:
        raise InvalidDocument(f"a Haystack Document must have a text as its content, got none in {document.id!r}")
    metadata = {key: value for key, value in (document.meta or {}).items() if key != _OVERLAPS}
    whole = metadata.get("source_id")
    return _given(document.id, document.content, metadata, whole if isinstance(whole, str) else None)


_OVERLAPS = "_split_overlap"  # the neighbours of a chunk, as a list of mappings


def _given(
    id_: str | None,
    text: str,
    metadata: Mapping[str, Any],
    source: str | None = None,
    position: Mapping[str, object] | None = None,
) -> GivenDocument:
    return GivenDocument(id_, text, title_in(metadata), metadata, source, position or {})

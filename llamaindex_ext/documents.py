"""Passages as LlamaIndex nodes, and nodes as documents of an index."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from llama_index.core.constants import DATA_KEY, TYPE_KEY
from llama_index.core.schema import (
    BaseNode,
    IndexNode,
    NodeRelationship,
    NodeWithScore,
    ObjectType,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.storage.docstore.utils import json_to_doc

from leafspan import Document, InvalidArgument, Passage, View
from leafspan.hosting import SHOWN_TO_MODELS, citation, numbered_sources, shown, shown_text

_NODE, TYPE, SOURCE = "_node", "_node_type", "ref_doc_id"
"""Keys of a node's document: the rest of the node as JSON, its class, and the id of its source."""
_KEPT = (_NODE, TYPE, SOURCE)
_NOT_KEPT: Any = {"id_": True, "text": True, "text_resource": {"text"}, "embedding": True}
_ESCAPED = re.compile(r"\\(?:u[0-9a-f]{4}|.)")


def to_node(passage: Passage) -> TextNode:
    """The passage as a node: the user's own metadata, plus ``doc_id``, ``start`` and ``end``.

    Where they are known, and the user has no such keys, there are also ``title``, ``headings`` (one text such as
    ``"Tea > Brewing"``), ``start_line`` and ``end_line``. A summary has a ``layer`` and ``covers``, too. A summary of one
    document also has the document's keys, but no character indexes, since its text is not in the document.

    These keys are for citing. Only title and headings are shown to language models and embedders: they say what the text is
    about, and leafspan's own vectors contain them, too. Keys that the document hides are hidden as well
    (``excluded_llm_metadata_keys``). A passage of another source has a ``kind`` instead. The score is not in the metadata:
    LlamaIndex identifies nodes by a hash of text and metadata, and the same passage must be the same node.
    """
    ours = citation(passage)
    hidden = [*_own(passage.hidden), *(key for key in ours if key not in SHOWN_TO_MODELS)]
    of = passage.document_id
    return TextNode(
        id_=passage.id,
        text=shown_text(passage),
        metadata={**{key: passage.metadata[key] for key in _own(passage.metadata)}, **ours},
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=hidden,
        start_char_idx=None if passage.summary else passage.start,
        end_char_idx=None if passage.summary else passage.end,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=of)} if of else {},
    )


def _own(keys: Iterable[str]) -> list[str]:
    """The user's own keys."""
    return [key for key in keys if key not in _KEPT]


def with_node(document: Document, node: BaseNode) -> Document:
    """The document of a node, with all that ``to_stored_node`` needs."""
    media = [getattr(node, f"{kind}_resource", None) for kind in ("image", "audio", "video")]
    if any(each is not None and each.data for each in media):
        raise InvalidArgument(
            f"node {shown(node.node_id)} must name its picture, sound or film by a path or url, got bytes"
        )
    if not document.text and any([*media, *(getattr(node, name, None) for name in ("image", "image_path", "image_url"))]):
        raise InvalidArgument(f"node {shown(node.node_id)} must have a text, which the index embeds, got none")
    kept = {_NODE: _dumped(node), TYPE: ObjectType(node.get_type()).value}
    kept |= {SOURCE: node.ref_doc_id} if node.ref_doc_id else {}
    return replace(document, metadata={**document.metadata, **kept}, hidden=(*document.hidden, *kept))


def _dumped(node: BaseNode) -> str:
    """The rest of a node as JSON without escaped control characters, which would hide names from a private view."""
    data = node.model_dump(mode="json", exclude_defaults=True, exclude=_NOT_KEPT)
    for related in _related(data):
        if related.get("metadata", {}) == data.get("metadata", {}):  # as the source's and the neighbours' often are
            related.pop("metadata", None)
        else:
            related.setdefault("metadata", {})

    def unescaped(escape: re.Match[str]) -> str:
        return escape[0] if escape[0][1] in '"\\' else str(json.loads(f'"{escape[0]}"'))

    return _ESCAPED.sub(unescaped, json.dumps(data, ensure_ascii=False))


def _related(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for related in data.get("relationships", {}).values():
        yield from related if isinstance(related, list) else [related]


def to_stored_node(stored: Passage | Document) -> BaseNode:
    """A vector store's document as the node that was added, or else as a TextNode. A part of it is as for ``to_node``."""
    if (isinstance(stored, Document) or stored.whole) and _NODE in stored.metadata:
        with suppress(ValueError):  # a private view has replaced a number in it
            data = json.loads(str(stored.metadata[_NODE]), strict=False)
            for related in _related(data):
                related.setdefault("metadata", data.get("metadata", {}))
            data["id_"] = stored.id if isinstance(stored, Document) else stored.document_id
            if stored.text:
                data["text_resource"] = {**data.get("text_resource", {}), "text": stored.text}
            return json_to_doc({TYPE_KEY: stored.metadata[TYPE], DATA_KEY: data})
    if isinstance(stored, Passage):
        return to_node(stored)
    metadata = {key: stored.metadata[key] for key in _own(stored.metadata)}
    return TextNode(
        id_=stored.id,
        text=stored.text,
        metadata={"title": stored.title, **metadata} if stored.title else metadata,
        excluded_llm_metadata_keys=_own(stored.hidden),
        excluded_embed_metadata_keys=_own(stored.hidden),
    )


class NodeWithTrace(NodeWithScore):
    """Like a ``NodeWithScore``, and with a ``trace``: sentences that say how the passage came about.

    They belong to one retrieval, as the score does, and so are kept here and not in the node.
    """

    trace: list[str]


def to_scored_node(passage: Passage, *, explain: bool = False, objects: Container[str] = ()) -> NodeWithScore:
    """The passage as a node with its score, and with ``explain`` its trace.

    It is an ``IndexNode`` if its ``reference`` is a name in ``objects``, so that LlamaIndex follows it to the object.
    """
    if explain:
        return NodeWithTrace(node=_node(passage, objects), score=passage.score, trace=passage.trace.explain())
    return NodeWithScore(node=_node(passage, objects), score=passage.score)


def _node(passage: Passage, objects: Container[str]) -> BaseNode:
    """The node; another retriever's node stays unchanged."""
    if isinstance(passage.origin, BaseNode):
        return passage.origin
    node, referred = to_node(passage), passage.metadata.get("reference")
    return IndexNode.from_text_node(node, referred) if isinstance(referred, str) and referred in objects else node


def prompt_sources(nodes: Iterable[NodeWithScore | BaseNode]) -> str:
    """Nodes as numbered sources of a prompt, so that a model can cite them as [1].

    Each is a line of JSON with its number, place, title, headings and text: no text can end its line or its value.
    """
    own = (each.node if isinstance(each, NodeWithScore) else each for each in nodes)
    hidden = {*SHOWN_TO_MODELS}.intersection  # the other keys are excluded from each node's text, and not hidden
    return numbered_sources((each.get_content(), each.metadata, hidden(each.excluded_llm_metadata_keys)) for each in own)


def leaf_nodes(index: View) -> list[TextNode]:
    """The leaves of the index, to build a LlamaIndex retriever that can be the base of a leafspan retriever."""
    return [to_node(leaf) for leaf in index.leaves()]

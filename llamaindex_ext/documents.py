"""Passages as LlamaIndex nodes."""

from __future__ import annotations

from collections.abc import Container, Iterable

from llama_index.core.schema import BaseNode, IndexNode, NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from leafspan import Passage, View
from leafspan.hosting import SHOWN_TO_MODELS, citation, numbered_sources, shown_text


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
    hidden = [*passage.hidden, *(key for key in ours if key not in SHOWN_TO_MODELS)]
    of = passage.document_id
    return TextNode(
        id_=passage.id,
        text=shown_text(passage),
        metadata={**passage.metadata, **ours},
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=hidden,
        start_char_idx=None if passage.summary else passage.start,
        end_char_idx=None if passage.summary else passage.end,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=of)} if of else {},
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

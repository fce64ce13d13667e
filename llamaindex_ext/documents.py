"""Passages as LlamaIndex nodes."""

from __future__ import annotations

from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from leafspan import Index, Passage

PLACE = ["doc_id", "start", "end"]


def to_node(passage: Passage) -> TextNode:
    """The passage as a node: the user's own metadata, plus ``doc_id``, ``start`` and ``end``.

    These three are for citing, and kept out of what a language model or an embedder is shown. The score is not among
    them: LlamaIndex tells nodes apart by a hash of text and metadata, and the same passage must be the same node.
    """
    return TextNode(
        id_=passage.id,
        text=passage.text,
        metadata={
            **passage.metadata,
            "doc_id": passage.document_id,
            "start": passage.start,
            "end": passage.end,
        },
        excluded_llm_metadata_keys=PLACE,
        excluded_embed_metadata_keys=PLACE,
        start_char_idx=passage.start,
        end_char_idx=passage.end,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=passage.document_id)},
    )


def to_scored_node(passage: Passage) -> NodeWithScore:
    """The passage as a node with its score."""
    return NodeWithScore(node=to_node(passage), score=passage.score)


def leaf_nodes(index: Index) -> list[TextNode]:
    """The leaves of the index, to build a retriever of LlamaIndex's own from that can serve as a base of ours."""
    return [to_node(leaf) for leaf in index.leaves()]

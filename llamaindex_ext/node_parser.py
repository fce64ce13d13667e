"""The core's splitter as a LlamaIndex node parser."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from llama_index.core.node_parser import NodeParser
from llama_index.core.schema import BaseNode, Document, NodeRelationship, TextNode
from llama_index.core.utils import get_tqdm_iterable

from leafspan import HierarchicalSplitter
from leafspan.hosting import check_option_names, split_into_leaves, with_any_metadata


class SpanNodeParser(NodeParser):
    """Like the core's ``HierarchicalSplitter``, but a node parser, for an ``IngestionPipeline`` of LlamaIndex's own.

    The nodes are the very leaves that an index makes of the same documents: same texts, same places, same ids. They
    have the documents' metadata as they are, also such as an index does not store or only stores flattened.
    """

    leaf_words: int = 45
    parent_words: tuple[int, ...] = (150, 600)
    unit: str | Callable[[str], int] = "words"

    def __init__(self, **options: Any) -> None:
        """Checks the names of options: LlamaIndex itself would silently drop an unknown option."""
        check_option_names(type(self).__name__, options, (*type(self).model_fields, "class_name"))  # a dump has class_name
        # LlamaIndex writes this function's name, and cannot read it. This class never calls it: nodes have the leaves' ids.
        if isinstance(options.get("id_func"), Mapping):
            del options["id_func"]
        super().__init__(**options)

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex stores it."""
        return "SpanNodeParser"

    def _parse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any) -> list[BaseNode]:
        splitter = HierarchicalSplitter(self.leaf_words, self.parent_words, self.unit)
        parsed: list[BaseNode] = []
        for node in get_tqdm_iterable(nodes, show_progress, "Parsing nodes"):
            document = with_any_metadata(node)
            leaves: list[BaseNode] = [
                TextNode(
                    id_=str(leaf.id),
                    text=document.text[leaf.start : leaf.end],
                    metadata=dict(node.metadata) if self.include_metadata else {},
                    excluded_embed_metadata_keys=node.excluded_embed_metadata_keys,
                    excluded_llm_metadata_keys=node.excluded_llm_metadata_keys,
                    start_char_idx=leaf.start,
                    end_char_idx=leaf.end,
                    relationships={NodeRelationship.SOURCE: node.source_node or node.as_related_node_info()},
                )
                for leaf in split_into_leaves(document, splitter)
            ]
            if self.include_prev_next_rel:
                for before, after in pairwise(leaves):
                    before.relationships[NodeRelationship.NEXT] = after.as_related_node_info()
                    after.relationships[NodeRelationship.PREVIOUS] = before.as_related_node_info()
            parsed += leaves
        return parsed

    def _postprocess_parsed_nodes(self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]) -> list[BaseNode]:
        # The base class would search each text in the document, and find the wrong place for a repeated text.
        return nodes

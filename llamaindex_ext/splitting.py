"""A LlamaIndex node parser as the splitter of an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llama_index.core.node_parser import NodeParser
from llama_index.core.schema import BaseNode, Document, NodeRelationship, TextNode

from leafspan import InvalidArgument, Splitter
from leafspan.errors import InvalidDocument
from leafspan.hosting import cuts_at, shown
from leafspan.splitting import Cut


def splitter_from(node_parser: NodeParser) -> Splitter:
    """Leaves where a LlamaIndex node parser starts its smallest nodes; use it as ``Index.open(splitter=...)``.

    The levels of a ``HierarchicalNodeParser`` become levels of the index. Overlaps are dropped, since leaves partition
    the text.

    Raises:
        InvalidArgument: if ``node_parser`` is not a node parser.
    """
    if not isinstance(node_parser, NodeParser):
        raise InvalidArgument(f"a LlamaIndex node parser must be a NodeParser, got {shown(node_parser)}")
    return _NodeParserSplitter(node_parser)


@dataclass(frozen=True, slots=True)
class _NodeParserSplitter:
    node_parser: NodeParser

    def __call__(self, text: str) -> list[Cut]:
        nodes = self.node_parser.get_nodes_from_documents([Document(text=text)])
        by_id = {node.node_id: node for node in nodes}
        return cuts_at([[self._start(node, by_id) for node in level] for level in _levels(nodes)], text)

    def describe(self) -> str:
        """The text that an index made with this splitter records."""
        options = self.node_parser.model_dump(include={"chunk_size", "chunk_sizes", "chunk_overlap", "window_size"})
        return f"{type(self.node_parser).__name__}({', '.join(f'{k}={v}' for k, v in sorted(options.items()))})"

    def _start(self, node: BaseNode, by_id: Mapping[str, BaseNode]) -> int:
        """The node's first character in the text; LlamaIndex knows its place in the node above."""
        if not isinstance(node, TextNode) or node.start_char_idx is None:
            name = type(self.node_parser).__name__
            raise InvalidDocument(f"{name} changed the text: its node {node.get_content()[:40]!r} has no place in it")
        above = by_id.get(node.parent_node.node_id) if node.parent_node else None
        return node.start_char_idx + (self._start(above, by_id) if above else 0)


def _levels(nodes: Sequence[BaseNode]) -> list[list[BaseNode]]:
    """The nodes level by level, the smallest first: a node's level is one above its highest child's."""
    by_id = {node.node_id: node for node in nodes}
    heights: dict[str, int] = {}

    def height(node: BaseNode) -> int:
        if node.node_id not in heights:
            children = node.relationships.get(NodeRelationship.CHILD) or []
            related = children if isinstance(children, list) else [children]
            below = [height(by_id[child.node_id]) for child in related if child.node_id in by_id]
            heights[node.node_id] = 1 + max(below, default=-1)
        return heights[node.node_id]

    levels: list[list[BaseNode]] = [[] for _ in range(1 + max(map(height, nodes), default=0))]
    for node in nodes:
        levels[height(node)].append(node)
    return levels

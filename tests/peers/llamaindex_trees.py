"""LlamaIndex's AutoMergingRetriever over leafspan's trees, and leafspan over the trees of its parser."""

import itertools
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from llama_index.core import Document, StorageContext
from llama_index.core.node_parser import HierarchicalNodeParser, SentenceSplitter, get_leaf_nodes
from llama_index.core.retrievers import AutoMergingRetriever, BaseRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore

from leafspan.values import Candidate, Leaf
from tests.peers.trees import Result, ancestry, families, tree


class Canned(BaseRetriever):
    """A vector retriever that finds what it was given."""

    def __init__(self, nodes: Iterable[NodeWithScore]):
        self.nodes = list(nodes)
        super().__init__()

    def _retrieve(self, query_bundle):
        return list(self.nodes)


def retriever_over(
    leaves: Sequence[Leaf],
    hits: Sequence[Candidate] = (),
    threshold: float = 0.5,
    *,
    kind: type[AutoMergingRetriever] = AutoMergingRetriever,
    neighbours: bool = False,
    **shape,
) -> AutoMergingRetriever:
    """LlamaIndex's retriever over the leaves and their ancestors (``shape``: see ``ancestry``), which finds the hits.

    With ``neighbours``, the leaves of a parent know which comes next. A node has the id of ours.
    """
    parents, children = families(ancestry(leaf, **shape) for leaf in leaves)
    nodes = {node: TextNode(id_=node.id, text=node.id) for node in parents}
    known = {node: RelatedNodeInfo(node_id=node.id) for node in parents}
    for node, siblings in children.items():
        if parents[node] is not None:
            nodes[node].relationships[NodeRelationship.PARENT] = known[parents[node]]
        if siblings:
            nodes[node].relationships[NodeRelationship.CHILD] = [known[child] for child in siblings]
        for before, after in itertools.pairwise(siblings):
            if neighbours and before.level == after.level == 0:
                nodes[before].relationships[NodeRelationship.NEXT] = known[after]
                nodes[after].relationships[NodeRelationship.PREVIOUS] = known[before]
    store = SimpleDocumentStore()
    store.add_documents(list(nodes.values()))
    return over(store, [NodeWithScore(node=nodes[ancestry(hit.leaf)[0]], score=hit.score) for hit in hits], threshold, kind)


def over(store, found: Iterable[NodeWithScore], threshold: float = 0.5, kind=AutoMergingRetriever):
    return kind(Canned(found), StorageContext.from_defaults(docstore=store), simple_ratio_thresh=threshold)


def theirs(nodes: Iterable[NodeWithScore]) -> list[Result]:
    """What the retriever over our tree returned."""
    found = [(re.fullmatch(r"(\w+):\d+:(\d+)-(\d+)", item.node.node_id).groups(), item.score) for item in nodes]
    return [Result(document_id, int(first), int(last), score) for (document_id, first, last), score in found]


class Parsed(NamedTuple):
    """Its parser's nodes, and leaves of ours of the same structure."""

    store: SimpleDocumentStore
    levels: list[list[TextNode]]  # its leaves, their parents, the topmost nodes
    leaves: list[Leaf]
    spans: dict[str, tuple[int, int]]  # of each of its nodes, the first and the last leaf


@cache
def parsed(**metadata) -> Parsed:
    """A text cut by HierarchicalNodeParser into nodes of 240, 120 and 60 words."""
    sizes = {"240": 240, "120": 120, "60": 60}
    parser = HierarchicalNodeParser.from_defaults(
        node_parser_ids=list(sizes),
        node_parser_map={
            name: SentenceSplitter(
                chunk_size=size,
                chunk_overlap=0,
                tokenizer=str.split,
                chunking_tokenizer_fn=lambda text: re.findall(r".+?(?:\. |$)", text),
            )
            for name, size in sizes.items()
        },
    )
    lengths = [7, 12, 30, 5, 22, 9, 41, 3, 16, 28] * 6
    text = "".join(f"{'word ' * (length - 1)}{number}. " for number, length in enumerate(lengths))
    nodes = parser.get_nodes_from_documents([Document(text=text, metadata=metadata)])
    store = SimpleDocumentStore()
    store.add_documents(nodes)
    lines = []
    for node in get_leaf_nodes(nodes):
        lines.append([node])
        while lines[-1][-1].parent_node is not None:
            lines[-1].append(store.get_document(lines[-1][-1].parent_node.node_id))
    ids = [[node.node_id for node in line] for line in lines]
    # A leaf ends together with every ancestor that the next leaf does not have.
    following = [*ids[1:], [None, None, None]]
    ends = [
        sum(a != b for a, b in zip(line[1:], after[1:], strict=True)) for line, after in zip(ids, following, strict=True)
    ]
    spans = {}
    for ordinal, line in enumerate(ids):
        for id_ in line:
            spans[id_] = (spans.get(id_, (ordinal,))[0], ordinal)
    levels = [list({node.node_id: node for node in level}.values()) for level in zip(*lines, strict=True)]
    return Parsed(store, levels, tree(*ends), spans)

"""A LlamaIndex property graph over the demo's articles, asked through LangChain.

    python examples/property_graph.py

It needs no network and no key: instead of a language model, a rule relates names that are in one sentence. The graph is in
memory.
"""

from __future__ import annotations

import itertools
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llama_index.core import MockEmbedding, PropertyGraphIndex
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import KG_NODES_KEY, KG_RELATIONS_KEY, EntityNode, Relation
from llama_index.core.schema import BaseNode, TransformComponent

from langchain_ext import PropertyGraphRetriever
from leafspan import Index
from leafspan.examples import example_documents
from llamaindex_ext import leaf_nodes

NAME = re.compile(r"(?:[A-Z][a-zé]+ )+(?:von |van |de )?[A-Z][a-zé]+")


class NamesTogether(TransformComponent):
    """Finds names in each leaf, and relates all names in one leaf."""

    def __call__(self, nodes: Sequence[BaseNode], **_: Any) -> Sequence[BaseNode]:
        """Return the nodes, with names and relations in their metadata, where LlamaIndex expects them."""
        for node in nodes:
            names = list(dict.fromkeys(NAME.findall(node.get_content())))
            node.metadata[KG_NODES_KEY] = [EntityNode(name=name, label="name") for name in names]
            node.metadata[KG_RELATIONS_KEY] = [
                Relation(label="named with", source_id=first, target_id=second)
                for first, second in itertools.pairwise(names)
            ]
        return nodes


def main() -> None:
    """Index the articles, connect their names, and ask about one of the names."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, Index.open(Path(folder, "kb")) as index:
        index.add(example_documents())
        graph = PropertyGraphIndex(
            leaf_nodes(index),
            property_graph_store=SimplePropertyGraphStore(),
            kg_extractors=[NamesTogether()],
            embed_model=MockEmbedding(1),  # leafspan compares questions with entities itself
            use_async=False,
        )
        retriever = PropertyGraphRetriever(index=index, graph=graph, depth=2, k=8)
        question = "Who was Joseph Priestley?"
        print(question)
        for document in retriever.invoke(question):
            print(f"\n{document.metadata['score']:.2f}  {document.id}\n{document.page_content}")


if __name__ == "__main__":
    main()

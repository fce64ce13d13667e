"""A scripted language model that knows some names, and graphs that it has filled."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import lightrag
from lightrag.utils import EmbeddingFunc, Tokenizer
from llama_index.core import MockEmbedding, PropertyGraphIndex
from llama_index.core.graph_stores.types import KG_NODES_KEY, KG_RELATIONS_KEY, EntityNode, Relation
from llama_index.core.schema import TransformComponent

from leafspan import Document, HierarchicalSplitter, Index
from leafspan.embedding import default_embedder
from leafspan.sources import LightRAGThread, lightrag_inputs
from llamaindex_ext import leaf_nodes

NAMES = ("Karl von Frisch", "Vienna", "Nobel Prize", "bees", "dance", "tea", "China")
SENTENCES = (
    "Karl von Frisch decoded the dance of the bees. ",
    "Karl von Frisch was born in Vienna and got the Nobel Prize. ",
    "Beekeepers wear gloves and veils when they open the hives. ",
)
BEES = Document("bees", "".join(SENTENCES))
TEA = Document("tea", "Green tea comes from China, where it is steamed or roasted.", metadata={"topic": "food"})
QUESTION = "Who was Karl von Frisch?"
ANSWER = "He decoded a dance."


def names_in(text: str) -> list[str]:
    """The known names in a text, in the order of ``NAMES``."""
    return [name for name in NAMES if name in text]


def language_model(prompt: str) -> str:
    """What LightRAG asks for: keywords of a question, entities and relations of a text, or an answer."""
    if "high_level_keywords" in prompt:
        question = re.findall(r"User Query: (.*)", prompt)[-1]
        return json.dumps({"high_level_keywords": ["work of a scientist"], "low_level_keywords": names_in(question)})
    if "<|#|>" in prompt:
        found = names_in(re.findall(r"```\n(.*?)\n```", prompt, re.DOTALL)[-1])
        lines = [f"entity<|#|>{name}<|#|>thing<|#|>{name} is mentioned." for name in found]
        pairs = itertools.pairwise(found)
        lines += [f"relation<|#|>{a}<|#|>{b}<|#|>goes with<|#|>{a} goes with {b}." for a, b in pairs]
        return "\n".join([*lines, "<|COMPLETE|>"])
    return ANSWER


class Bytes:
    """A tokenizer that downloads nothing: a token is a byte."""

    def encode(self, content: str) -> list[int]:
        """The tokens of a text."""
        return list(content.encode())

    def decode(self, tokens: list[int]) -> str:
        """The text of tokens."""
        return bytes(tokens).decode(errors="ignore")


def parts(generate: Callable[[str], str]) -> dict[str, Any]:
    """Options with which a LightRAG needs no network."""

    async def embed(texts: list[str], **_: Any) -> Any:
        return default_embedder().documents(texts)

    async def ask(prompt: str, system_prompt: str | None = None, **_: Any) -> str:
        return generate("\n\n".join(part for part in (system_prompt, prompt) if part))

    embedding = EmbeddingFunc(embedding_dim=256, func=embed, max_token_size=8192, model_name="WordLlama")
    return {"embedding_func": embedding, "tokenizer": Tokenizer("bytes", Bytes()), "llm_model_func": ask}


def maker(folder: Path, generate: Callable[[str], str] = language_model, **options: Any) -> Callable[[], Any]:
    """A function that makes an empty LightRAG. Each has a workspace of its own, as LightRAG demands within a process."""

    def make() -> Any:
        given = {"entity_extract_max_gleaning": 0, **parts(generate), **options}
        return lightrag.LightRAG(working_dir=str(folder), workspace=uuid4().hex, **given)

    return make


def filled_thread(make: Callable[[], Any], index: Index) -> LightRAGThread:
    """A LightRAG in a thread of its own, filled from an index."""
    thread = LightRAGThread(make)
    thread.run(lambda rag: rag.ainsert(**lightrag_inputs(index)))
    return thread


def small_index(folder: Path) -> Index:
    """An index of two documents, whose leaves are sentences."""
    index = Index.open(folder, splitter=HierarchicalSplitter(leaf_words=12, parent_words=(24,)))
    index.add([BEES, TEA])
    return index


class NamesOfTexts(TransformComponent):
    """Writes the known names of a node, and relations between neighbours, into it, as LlamaIndex's extractors do."""

    def __call__(self, nodes: Any, **_: Any) -> Any:
        for node in nodes:
            found = names_in(node.text)
            node.metadata[KG_NODES_KEY] = [EntityNode(name=name, label="THING") for name in found]
            node.metadata[KG_RELATIONS_KEY] = [
                Relation(label="goes with", source_id=a, target_id=b) for a, b in itertools.pairwise(found)
            ]
        return nodes


def property_graph(index: Index, store: Any) -> PropertyGraphIndex:
    """LlamaIndex's index of the leaves, in a store."""
    return PropertyGraphIndex(
        leaf_nodes(index),
        property_graph_store=store,
        kg_extractors=[NamesOfTexts()],
        embed_model=MockEmbedding(8),
        use_async=False,
    )

"""A LightRAG over the demo's articles: entities, relations, and the sentences that they come from.

    python examples/light_rag.py

It needs no network and no key: a function replaces the language model. It finds a few names as entities, and relates two
names if they are in one sentence. To use a real model, replace ``language_model``.
"""

from __future__ import annotations

import itertools
import json
import logging
import re
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightrag
import numpy as np
from lightrag.utils import EmbeddingFunc, Tokenizer

from leafspan import Index
from leafspan.examples import example_documents
from leafspan.sources import LightRAG, LightRAGThread, lightrag_inputs

logging.getLogger("lightrag").setLevel(logging.WARNING)
NAME = re.compile(r"(?:[A-Z][a-zé]+ )+(?:von |van |de )?[A-Z][a-zé]+")


def language_model(prompt: str) -> str:
    """Answer LightRAG's prompts like a language model."""
    if "high_level_keywords" in prompt:
        question = re.findall(r"User Query: (.*)", prompt)[-1]
        return json.dumps({"high_level_keywords": [question], "low_level_keywords": NAME.findall(question)})
    if "<|#|>" in prompt:
        text = re.findall(r"```\n(.*?)\n```", prompt, re.DOTALL)[-1]
        lines = []
        for sentence in text.split(". "):
            names = list(dict.fromkeys(NAME.findall(sentence)))
            lines += [f"entity<|#|>{name}<|#|>name<|#|>{sentence.strip()}." for name in names]
            lines += [
                f"relation<|#|>{first}<|#|>{second}<|#|>named together<|#|>{sentence.strip()}."
                for first, second in itertools.pairwise(names)
            ]
        return "\n".join([*lines, "<|COMPLETE|>"])
    return "A language model would answer here."


class Bytes:
    """A tokenizer without a download, which LightRAG's own tokenizer needs. Each byte is a token."""

    def encode(self, content: str) -> list[int]:
        """The tokens of a text."""
        return list(content.encode())

    def decode(self, tokens: list[int]) -> str:
        """The text of tokens."""
        return bytes(tokens).decode(errors="ignore")


async def embed(texts: list[str], **_: Any) -> Any:
    """Return vectors made of the words in the texts. Use a real embedder instead."""
    vectors = np.zeros((len(texts), 256))
    for vector, text in zip(vectors, texts, strict=True):
        for word in re.findall(r"\w+", text.lower()):
            vector[zlib.crc32(word.encode()) % 256] += 1
    return vectors


def options(generate: Callable[[str], str]) -> dict[str, Any]:
    """Options of a LightRAG that needs no network."""

    async def ask(prompt: str, system_prompt: str | None = None, **_: Any) -> str:
        return generate(f"{system_prompt or ''}\n\n{prompt}")

    embedding = EmbeddingFunc(embedding_dim=256, func=embed, max_token_size=8192)
    return {"embedding_func": embedding, "tokenizer": Tokenizer("bytes", Bytes()), "llm_model_func": ask}


def main() -> None:
    """Index the articles, fill the graph with their text, and ask both."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, Index.open(Path(folder, "kb")) as index:
        index.add(example_documents())

        def make() -> lightrag.LightRAG:
            made = options(language_model)
            return lightrag.LightRAG(working_dir=str(Path(folder, "graph")), entity_extract_max_gleaning=0, **made)

        with LightRAGThread(make) as graph:
            graph.run(lambda rag: rag.ainsert(**lightrag_inputs(index, whole=True)))
            question = "What did Antoine Lavoisier have to do with Joseph Priestley?"
            print(question)
            for passage in index.retrieve(question, LightRAG(graph, mode="local"), k=6):
                place = f"{passage.document_id}[{passage.start}:{passage.end}]" if passage.document_id else passage.kind
                print(f"\n{passage.score:.2f}  {place}\n{passage.text[:300]}")
            print("\nThe answer:", LightRAG(graph).retrieve_data(question, "answer"))


if __name__ == "__main__":
    main()

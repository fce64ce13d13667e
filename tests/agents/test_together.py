"""Calls of one loop run beside each other."""

from __future__ import annotations

import asyncio
import threading

from leafspan import Index
from leafspan.agents import agent_tools
from tests.corpus import DOCUMENTS, SPLITTER


async def test_a_call_that_waits_holds_up_no_other(tmp_path):
    let_go = threading.Event()

    def embed(texts: list[str]) -> list[list[float]]:
        if "slow" in texts:
            assert let_go.wait(20)
        return [[1.0, float(len(text) % 7)] for text in texts]

    with Index.open(tmp_path / "kb", splitter=SPLITTER, embedder=embed, embedding_cache=False) as index:
        index.add(DOCUMENTS)
        search, read, outline, _ = agent_tools(index)
        slow = asyncio.create_task(search.acall({"question": "slow", "strategy": "vector"}))
        await asyncio.sleep(0.1)
        assert (await read.acall({"document_id": "tea"})).content["text"]
        assert (await outline.acall({})).content["total"] == 3
        assert (await search.acall({"question": "bees", "strategy": "bm25"})).content["passages"]
        assert not slow.done()
        let_go.set()
        assert (await slow).content["passages"]

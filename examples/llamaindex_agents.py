"""An agent and a workflow of LlamaIndex that retrieve and cite, with scripted models: python examples/llamaindex_agents.py

    pip install ".[llamaindex]"

In an AgentWorkflow the model calls a retriever as a tool, which gives it blocks to cite. In your own Workflow, retrieval is
a step. LlamaIndex's Memory keeps what was said in an index, and finds it again by the last message.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import LLM, ChatMessage, MockLLM
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import Memory, VectorMemoryBlock
from llama_index.core.schema import NodeWithScore
from llama_index.core.workflow import Event, StartEvent, StopEvent, Workflow, step

from leafspan import Index
from leafspan.examples import EXAMPLE_QUESTIONS, example_documents
from llamaindex_ext import RelevantSegmentsRetriever, SpanVectorStore, as_tool, prompt_sources

QUESTION = EXAMPLE_QUESTIONS[1]


def scripted() -> MockFunctionCallingLLM:
    """A model that searches and then answers. Use OpenAI(...), Anthropic(...), Ollama(...) or another model instead."""
    script = iter(
        [
            ChatMessage(blocks=[ToolCallBlock(tool_name="articles", tool_kwargs={"question": QUESTION})], role="assistant"),
            ChatMessage("As the article says.", role="assistant"),
        ]
    )
    return MockFunctionCallingLLM(response_generator=lambda messages, **options: next(script))


async def with_a_tool(index: Index) -> None:
    """The output of the tool has CitableBlocks for the model, and nodes for your code."""
    retriever = RelevantSegmentsRetriever(index, budget=200)
    tool = as_tool(retriever, name="articles", about="articles of an encyclopedia", citation_blocks=True)
    agent = FunctionAgent(name="reader", tools=[tool], llm=scripted(), streaming=False)
    answer = await AgentWorkflow(agents=[agent]).run(QUESTION)
    print(QUESTION)
    print(answer)
    for found in answer.tool_calls[0].tool_output.raw_output:
        node = found.node
        print(f"{found.score:.2f} {node.metadata['doc_id']}, characters {node.start_char_idx} to {node.end_char_idx}")


class Found(Event):
    """The results of the retrieval step."""

    question: str
    nodes: list[NodeWithScore]


class Answering(Workflow):
    """Retrieve, then answer from numbered sources."""

    def __init__(self, retriever: RelevantSegmentsRetriever, llm: LLM, **options: Any) -> None:
        super().__init__(**options)
        self.retriever = retriever
        self.llm = llm

    @step
    async def retrieve(self, event: StartEvent) -> Found:
        """Retrieve. A retriever does not block the event loop, so that other runs continue."""
        return Found(question=event.question, nodes=await self.retriever.aretrieve(event.question))

    @step
    async def answer(self, event: Found) -> StopEvent:
        """Answer from the texts and their numbers."""
        sources = prompt_sources(event.nodes)
        prompt = f"Answer from these sources, and cite them like [1].\n\n{sources}\n\nQuestion: {event.question}"
        return StopEvent(result={"answer": (await self.llm.acomplete(prompt)).text, "sources": event.nodes})


async def as_a_step(index: Index) -> None:
    """Run the workflow. MockLLM repeats the first words of its prompt."""
    workflow = Answering(RelevantSegmentsRetriever(index, budget=200), MockLLM(max_tokens=8), timeout=30)
    result = await workflow.run(question=QUESTION)
    print(f"\n{result['answer']}")
    for number, each in enumerate(result["sources"], 1):
        print(f"[{number}] {each.metadata['doc_id']}, lines {each.metadata['start_line']} to {each.metadata['end_line']}")


async def with_memory(memories: Index) -> None:
    """What no longer fits into the chat goes into the index."""
    store = SpanVectorStore(memories)
    block = VectorMemoryBlock(vector_store=store, embed_model=store.embed_model, similarity_top_k=1)
    limits: dict[str, Any] = {
        "token_limit": 40,
        "chat_history_token_ratio": 0.5,
        "token_flush_size": 10,
    }  # small ones, for four messages
    memory = Memory.from_defaults(session_id="ann", memory_blocks=[block], **limits)
    for said in (
        "I like green tea in the morning.",
        "I repair steam engines.",
        "My dog is called Rex.",
        "What do I drink?",
    ):
        await memory.aput_messages([ChatMessage(said, role="user"), ChatMessage("I see.", role="assistant")])
    print()
    print((await memory.aget(input="What do I drink in the morning?"))[0].content)


def main() -> None:
    """Index some articles, and ask the agents."""
    with tempfile.TemporaryDirectory() as folder, Index.open(Path(folder) / "kb") as index:
        index.add(example_documents())
        asyncio.run(with_a_tool(index))
        asyncio.run(as_a_step(index))
        with Index.open(Path(folder) / "memories") as memories:
            asyncio.run(with_memory(memories))


if __name__ == "__main__":
    main()

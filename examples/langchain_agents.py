"""Agents of LangChain that retrieve and cite, with scripted models: python examples/langchain_agents.py

    pip install ".[langchain,agents,deepagents]"

An agent with RetrievalMiddleware gets the sources with the question. A deep agent finds a passage with a tool, and then
reads more of its file.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage

from langchain_ext import IndexBackend, RelevantSegmentsRetriever, RetrievalMiddleware
from leafspan import Index
from leafspan.examples import EXAMPLE_QUESTIONS, example_documents

QUESTION = EXAMPLE_QUESTIONS[1]


class Scripted(GenericFakeChatModel):
    """A model that follows a script. Use ChatOpenAI(...), ChatAnthropic(...), ChatOllama(...) or another model instead."""

    def bind_tools(self, tools: Any, **options: Any) -> Scripted:
        """Take any tools."""
        return self


def cited_answer(index: Index) -> None:
    """The middleware retrieves once for the question. The result has the passages that the answer cites."""
    retriever = RelevantSegmentsRetriever(index=index, budget=200)
    model = Scripted(messages=iter([AIMessage("As the first source says [1].")]))
    agent = create_agent(model, middleware=[RetrievalMiddleware(retriever)])
    result = agent.invoke({"messages": [("user", QUESTION)]})
    print(QUESTION)
    print(result["messages"][-1].text)
    for each in result["citations"]:
        place = each.metadata
        print(f"[{place['number']}] {place['doc_id']}, lines {place['start_line']} to {place['end_line']}")


def deep_agent(index: Index) -> None:
    """Documents are files in /articles/. The tool finds a passage and its lines; the agent reads more of the file."""
    best = index.retrieve(QUESTION, k=1)[0]  # the script needs to know the tool's result in advance; a real model reads it
    assert best.lines is not None
    lines = {"file_path": f"/articles/{best.document_id}", "offset": best.lines[0] - 1, "limit": 3}
    script = [
        AIMessage("", tool_calls=[{"name": "search", "args": {"question": QUESTION, "k": 1}, "id": "1"}]),
        AIMessage("", tool_calls=[{"name": "read_file", "args": lines, "id": "2"}]),
        AIMessage(f"I have read {best.document_id}."),
    ]
    files = IndexBackend(index)
    backend = CompositeBackend(default=StateBackend(), routes={"/articles/": files})
    agent = create_deep_agent(Scripted(messages=iter(script)), [files.as_tool(folder="/articles/")], backend=backend)
    result = agent.invoke({"messages": [("user", QUESTION)]})
    for message in result["messages"]:
        if isinstance(message, ToolMessage):
            print(f"\n{message.name}: {message.text[:300]}")


def main() -> None:
    """Index some articles, and let two agents answer from them."""
    with tempfile.TemporaryDirectory() as folder, Index.open(Path(folder) / "kb") as index:
        index.add(example_documents())
        cited_answer(index)
        deep_agent(index)


if __name__ == "__main__":
    main()

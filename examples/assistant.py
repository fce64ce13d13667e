"""An assistant of LangChain with an index as its files, its memory and its citations: python examples/assistant.py

    pip install ".[langchain,agents,deepagents]"

It answers from articles, quotes them by blocks that its model cites, reads on in their files, and remembers what a user
says for the next conversation. The model is scripted.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend, StoreBackend
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage

from langchain_ext import IndexBackend, LeafspanStore, RelevantSegmentsRetriever, RetrievalMiddleware
from leafspan import Index
from leafspan.examples import EXAMPLE_QUESTIONS, example_documents

QUESTION = EXAMPLE_QUESTIONS[1]


def make_assistant(model: Any, articles: Index, memory: Index) -> Any:
    """An agent that gets sources with each question, and has /articles/ to read and /memories/ to keep."""
    files = IndexBackend(articles)
    routes = {"/articles/": files, "/memories/": StoreBackend(namespace=lambda runtime: ("ann",))}
    retriever = RelevantSegmentsRetriever(index=articles, budget=200)
    return create_deep_agent(
        model,  # yours: ChatAnthropic(model=...)
        [files.as_tool(folder="/articles/")],
        middleware=[RetrievalMiddleware(retriever, citation_blocks=True)],
        backend=CompositeBackend(default=StateBackend(), routes=routes),
        store=LeafspanStore(memory),
    )


def ask(assistant: Any, question: str) -> None:
    """Print the question, what the tools said, the answer, and what it quotes."""
    result = assistant.invoke({"messages": [("user", question)]})
    print(f"\nuser: {question}")
    for message in result["messages"]:
        if isinstance(message, ToolMessage):
            print(f"{message.name}: {message.text[:200]}")
    print(f"assistant: {result['messages'][-1].text}")
    for each in result["citations"]:
        print(f"  quotes {each.metadata['doc_id']}, line {each.metadata['start_line']}: {each.metadata['cited_text']}")


class Scripted(GenericFakeChatModel):
    """A model that follows a script."""

    def bind_tools(self, tools: Any, **options: Any) -> Scripted:
        """Take any tools."""
        return self


def call(tool: str, **arguments: Any) -> AIMessage:
    """A call of a tool."""
    return AIMessage("", tool_calls=[{"name": tool, "args": arguments, "id": tool}])


def quoting(articles: Index) -> AIMessage:
    """An answer as Claude gives it: a text with the citation of a block."""
    best = articles.retrieve(QUESTION, budget=200)[0]
    text = max(best.text.splitlines(), key=len)[:90]
    source = f"{best.document_id}:{best.start}-{best.end}"
    citation = {"type": "citation", "cited_text": text, "extras": {"source": source}}
    return AIMessage([{"type": "text", "text": "As the article says.", "annotations": [citation]}])


def main() -> None:
    """Two conversations. The second one knows what was said in the first."""
    with tempfile.TemporaryDirectory() as folder, Index.open(Path(folder) / "kb") as articles:
        articles.add(example_documents())
        best = articles.retrieve(QUESTION, k=1)[0]
        assert best.lines is not None
        script = [
            call("search", question=QUESTION, k=1),
            call("read_file", file_path=f"/articles/{best.document_id}", offset=best.lines[0] - 1, limit=2),
            quoting(articles),
            call("write_file", file_path="/memories/ann.md", content="Ann wants short answers."),
            AIMessage("I will keep answers short."),
            call("read_file", file_path="/memories/ann.md"),
            AIMessage("Short."),
        ]
        with Index.open(Path(folder) / "memory") as memory:
            assistant = make_assistant(Scripted(messages=iter(script)), articles, memory)
            ask(assistant, QUESTION)
            ask(assistant, "Please keep answers short.")
            ask(assistant, "How should you answer me?")


if __name__ == "__main__":
    main()

"""An agent that searches an index through the Model Context Protocol: python examples/agent.py"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from mcp import Client, StdioServerParameters, stdio_client

from leafspan import Index
from leafspan.examples import EXAMPLE_QUESTIONS, example_documents


async def ask(kb: Path) -> None:
    """Find, read and cite, with the calls that a language model would write."""
    command = ["-m", "leafspan", "mcp", "--kb", str(kb), "--about", "articles of an encyclopedia"]
    server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
    async with Client(stdio_client(server)) as client:
        print("tools:", *[tool.name for tool in (await client.list_tools()).tools])

        listed = (await client.call_tool("outline", {})).structured_content
        for document in listed["documents"]:
            print(f"  {document['document_id']}: {document['title']}, {document['words']} words")

        question = {"question": EXAMPLE_QUESTIONS[1], "budget": 60}
        found = (await client.call_tool("search", question)).structured_content
        passage = found["passages"][0]
        print(f"\n{EXAMPLE_QUESTIONS[1]}\nfound in {passage['citation']}:\n{passage['text'].strip()}")

        around = {"citation": passage["citation"], "budget": 150}
        read = (await client.call_tool("read", around)).structured_content
        print(f"\nread around it in {read['citation']}:\n{read['text'].strip()}")

        refused = await client.call_tool("read", {"document_id": "cats"})
        print("\nrefused:", refused.content[0].text)


def main() -> None:
    """Index some articles, and serve them to a client."""
    with tempfile.TemporaryDirectory() as folder:
        kb = Path(folder) / "kb"
        with Index.open(kb) as index:
            index.add(example_documents())
        asyncio.run(ask(kb))


if __name__ == "__main__":
    main()

"""The tools ``add`` and ``delete``, which a toolkit has only with ``writable``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leafspan.agents._limits import LONGEST_ID
from leafspan.agents._parameter import Parameter
from leafspan.agents._tool import AgentTool, ToolResult
from leafspan.flows import Call, Flow
from leafspan.values import Document
from leafspan.view import View


def add_tool(view: View, name: str, *, about: str, timeout: float | None) -> AgentTool:
    """The tool that adds a document to a view, or replaces one."""
    parameters = (
        Parameter(
            "document_id",
            str,
            "Id of the document, such as notes/bees.md. One of the same id is replaced.",
            required=True,
            most=LONGEST_ID,
        ),
        Parameter("text", str, "The whole text; Markdown headings become its outline.", required=True),
        Parameter("title", str, "Its title."),
        Parameter("metadata", dict, "Values by name, to filter by: texts, numbers, booleans, or lists of one of these."),
    )

    def add(arguments: Mapping[str, Any]) -> Flow[ToolResult]:
        document_id, text, title, metadata = (arguments[key] for key in ("document_id", "text", "title", "metadata"))
        document = Document(document_id, text, title, metadata or {})
        added = yield Call(view.add, (document,), {"progress": False}, native=view.aadd, what=name)
        done = "added" if added.added else "replaced" if added.replaced else "unchanged"
        return ToolResult({"document_id": document_id, "done": done})

    description = (
        f"Add a document to {about}, or replace the one of the same id as a whole. Read what is there first if you only "
        "want to change a part."
    )
    return AgentTool(name, description, parameters, add, timeout, writes=True, deletes=True)


def delete_tool(view: View, name: str, *, about: str, timeout: float | None) -> AgentTool:
    """The tool that deletes a document of a view."""
    parameters = (Parameter("document_id", str, "Id of the document.", required=True, most=LONGEST_ID),)

    def delete(arguments: Mapping[str, Any]) -> Flow[ToolResult]:
        deleted = yield Call(view.delete, ([arguments["document_id"]],), native=view.adelete, what=name)
        return ToolResult({"deleted": deleted})

    description = (
        f"Delete a document from {about} permanently. Returns its id in a list, or an empty list if it does not exist."
    )
    return AgentTool(name, description, parameters, delete, timeout, writes=True, deletes=True)

"""The tools ``search`` and ``fetch``, in the shape that ChatGPT's connectors and deep research ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leafspan.agents import AgentTool, Parameter, ToolResult, title_with
from leafspan.cli.mcp_server._resources import uri_of
from leafspan.flows import Flow
from leafspan.values import Passage

_RESULT: dict[str, Any] = {"id": str, "title": str, "url": str}


def connector_tools(search: AgentTool, read: AgentTool) -> tuple[AgentTool, AgentTool]:
    """Return tools that search, and fetch the text around a result, by an agent's tools."""

    def find(arguments: Mapping[str, Any]) -> Flow[ToolResult]:
        result = yield from search.flow({"question": arguments["query"]})
        passages = zip(result.content["passages"], result.passages, strict=True)
        results = [_result(fields["citation"], fields, [of]) for fields, of in passages if "citation" in fields]
        return ToolResult({"results": results})

    def fetch(arguments: Mapping[str, Any]) -> Flow[ToolResult]:
        result = yield from read.flow({"citation": arguments["id"], "budget": read.most("budget")})
        fields = dict(result.content)
        page = _result(arguments["id"], fields, result.passages) | {"text": fields.pop("text")}
        return ToolResult(page | {"metadata": fields})

    query = Parameter(
        "query", str, "What to find: a full question, or key words.", required=True, most=search.most("question")
    )
    id_ = Parameter("id", str, "The id of a result of search.", required=True, most=read.most("citation"))
    about = "Fetch the text of a result of search and what surrounds it, by the result's id."
    return (
        AgentTool("search", search.description, (query,), find, search.timeout, returns={"results": [_RESULT]}),
        AgentTool("fetch", about, (id_,), fetch, read.timeout, returns=_RESULT | {"text": str, "metadata": dict}),
    )


def _result(id_: str, fields: Mapping[str, Any], passages: Sequence[Passage]) -> dict[str, Any]:
    """The id, title and address of a text: the address in its metadata, or else of its resource."""
    title = title_with((fields.get("title"), *fields.get("headings", ()))) or fields["document_id"]
    return {"id": id_, "title": title, "url": _address(passages) or uri_of(fields["document_id"])}


def _address(passages: Sequence[Passage]) -> str | None:
    for key in ("url", "source"):
        for each in passages[:1]:
            value = each.metadata.get(key)
            if key not in each.hidden and isinstance(value, str) and value.startswith(("http://", "https://")):
                return value
    return None

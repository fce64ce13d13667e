"""A tool of an agent, whatever the framework that offers it to a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from leafspan.agents._limits import shortened
from leafspan.agents._parameter import Parameter, read_arguments, schema_of
from leafspan.errors import RetrievalTimeout
from leafspan.flows import Flow, arun_within, run_within
from leafspan.text import escaped_in_json, visible
from leafspan.values import Passage

_LONGEST_ERROR = 2_000  # characters


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool has found or done.

    Attributes:
        content: Plain values, as JSON has them.
        passages: The passages that it is about, in the order of ``content``, for code that cites or shows them.
    """

    content: dict[str, Any]
    passages: tuple[Passage, ...] = ()

    @property
    def text(self) -> str:
        """The content as JSON, for a model: no text of a document can end a value, command a terminal, or turn writing."""
        return escaped_in_json(json.dumps(self.content, ensure_ascii=False))


def error_text(error: Exception) -> str:
    """What a model reads of an error: message and notes, on one line of at most 2,000 characters that no terminal obeys."""
    said = "; ".join([str(error), *getattr(error, "__notes__", [])])
    return shortened(visible(" ".join(said[: 2 * _LONGEST_ERROR].split())), _LONGEST_ERROR)


Action = Callable[[Mapping[str, Any]], Flow[ToolResult]]
"""What a tool does with its checked arguments."""


@dataclass(frozen=True, slots=True)
class AgentTool:
    """Something that a model can do with a view: it gives arguments, and gets plain values with citations.

    Attributes:
        name: Its name.
        description: What it does and when to use it, for the model. At most 1,024 characters, as some models demand.
        parameters: What it can be given.
        action: What it does with that.
        timeout: Seconds, > 0, after which a call ends with an error. None: never.
        writes: Whether it changes documents.
        deletes: Whether what was there before may be lost.
    """

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    action: Action
    timeout: float | None = None
    writes: bool = False
    deletes: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        return schema_of(self.parameters)

    def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """What the tool does with these arguments.

        Raises:
            InvalidArgument: if one is not known, missing, or out of its range.
            DocumentNotFound: if a document is not there, or not visible.
            RetrievalTimeout: if it takes longer than the timeout.
        """
        try:
            return run_within(self._flow(arguments), self.timeout)
        except RetrievalTimeout as error:
            if not self.writes:
                raise
            raise self._late() from error

    async def acall(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Like ``call``, without blocking the event loop."""
        try:
            return await arun_within(self._flow(arguments), self.timeout)
        except RetrievalTimeout as error:
            if not self.writes:
                raise
            raise self._late() from error

    def _late(self) -> RetrievalTimeout:
        """The error for a change that is late: nobody knows whether it will be made."""
        return RetrievalTimeout(
            f"{self.name} must be done within its timeout, and may still be done later: look whether it was, and try again"
        )

    def _flow(self, arguments: Mapping[str, Any]) -> Flow[ToolResult]:
        return (yield from self.action(read_arguments(self.name, self.parameters, arguments)))

"""A tool of an agent, for any framework that offers it to a model."""

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
    """The result of a tool.

    Attributes:
        content: Plain values, as JSON has them.
        passages: The passages in ``content``, in its order, for code that cites or shows them.
    """

    content: dict[str, Any]
    passages: tuple[Passage, ...] = ()

    @property
    def text(self) -> str:
        """The content as JSON, for a model: no document text can end a value, control a terminal, or turn writing."""
        return escaped_in_json(json.dumps(self.content, ensure_ascii=False))


def error_text(error: Exception) -> str:
    """An error for a model: message and notes on one line, at most 2,000 characters, without control characters."""
    said = "; ".join([str(error), *getattr(error, "__notes__", [])])
    return shortened(visible(" ".join(said[: 2 * _LONGEST_ERROR].split())), _LONGEST_ERROR)


Action = Callable[[Mapping[str, Any]], Flow[ToolResult]]
"""A tool's function of its checked arguments."""


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A function over a view that a model can call: it passes arguments, and gets plain values with citations.

    Attributes:
        name: Its name.
        description: What it does and when to use it, for the model. At most 1,024 characters, as some models demand.
        parameters: Its parameters.
        action: Its function.
        timeout: Seconds, > 0, after which a call ends with an error. None: never.
        writes: Whether it changes documents.
        deletes: Whether earlier documents may be lost.
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
        """The tool's result for these arguments.

        Raises:
            InvalidArgument: if an argument is unknown, missing, or out of its range.
            DocumentNotFound: if a document does not exist, or is not visible.
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
        """The error for a late change, which may or may not still be made."""
        return RetrievalTimeout(
            f"{self.name} must be done within its timeout, and may still be done later: check whether it was, and try again"
        )

    def _flow(self, arguments: Mapping[str, Any]) -> Flow[ToolResult]:
        return (yield from self.action(read_arguments(self.name, self.parameters, arguments)))

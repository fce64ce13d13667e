"""The base of the adapters for host frameworks. The two adapters import only this room and ``leafspan``.

A retriever of a host inherits the options of its strategy. It makes the strategy when it is made, and again when an option
has changed. What differs between hosts is abstract in ``StrategyRetriever``.
"""

from leafspan.agents import (
    AgentTool,
    ToolOptions,
    ToolResult,
    ToolsOptions,
    agent_tool,
    agent_tools,
    cited_numbers,
    error_text,
    find_lines,
    line_expression,
    search_result,
)
from leafspan.checks import changed_options, check_choice, check_flag, check_number, check_option_names, check_whole, shown
from leafspan.documents import with_any_metadata
from leafspan.flows import Call, Flow, arun, run
from leafspan.hosting import _strategy_options as options
from leafspan.hosting._docs import HostWords, described, described_as
from leafspan.hosting._options import LastStrategy, check_base_retriever, check_index, is_plain, read_options, write_options
from leafspan.hosting._retriever import NamedStrategyRetriever, StrategyRetriever, retriever_tool
from leafspan.hosting._stored import (
    HostObject,
    delete,
    recognise,
    relevant_segments,
    split_into_leaves,
    to_documents,
    with_ids,
)
from leafspan.language_model import GenerateOptions, from_langchain, from_llamaindex, without_reasoning
from leafspan.retrieval import CallOptions, check_timeout
from leafspan.spans import SHOWN_TO_MODELS, citation, numbered_sources, shown_text
from leafspan.splitting import cuts_at
from leafspan.strategies import HostReranker, HostResult, Reranked, Watched, Watcher

__all__ = [
    "SHOWN_TO_MODELS",
    "AgentTool",
    "Call",
    "CallOptions",
    "Flow",
    "GenerateOptions",
    "HostObject",
    "HostReranker",
    "HostResult",
    "HostWords",
    "LastStrategy",
    "NamedStrategyRetriever",
    "Reranked",
    "StrategyRetriever",
    "ToolOptions",
    "ToolResult",
    "ToolsOptions",
    "Watched",
    "Watcher",
    "agent_tool",
    "agent_tools",
    "arun",
    "changed_options",
    "check_base_retriever",
    "check_choice",
    "check_flag",
    "check_index",
    "check_number",
    "check_option_names",
    "check_timeout",
    "check_whole",
    "citation",
    "cited_numbers",
    "cuts_at",
    "delete",
    "described",
    "described_as",
    "error_text",
    "find_lines",
    "from_langchain",
    "from_llamaindex",
    "is_plain",
    "line_expression",
    "options",
    "read_options",
    "search_result",
    "recognise",
    "relevant_segments",
    "retriever_tool",
    "run",
    "shown",
    "numbered_sources",
    "shown_text",
    "split_into_leaves",
    "to_documents",
    "with_any_metadata",
    "with_ids",
    "without_reasoning",
    "write_options",
]

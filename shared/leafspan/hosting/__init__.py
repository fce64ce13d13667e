"""The base of the adapters for host frameworks. The two adapters import only this room and ``leafspan``.

A retriever of a host wraps a strategy: it declares the strategy's options, and makes
the strategy at its own making, and again when an option has changed. CONTRIBUTING.md has the recipe for a third host.
"""

from leafspan.agents import (
    AgentTool,
    ToolOptions,
    ToolsOptions,
    agent_tool,
    agent_tools,
    cited_numbers,
    error_text,
)
from leafspan.checks import changed_options, check_choice, check_flag, check_number, check_option_names, check_whole, shown
from leafspan.documents import with_any_metadata
from leafspan.filters import FilterPolicy, apply_policy, to_filter
from leafspan.flows import Call, Flow, arun, run
from leafspan.hosting._docs import HostWords, described, described_as
from leafspan.hosting._options import (
    CALL_OPTIONS,
    LastStrategy,
    check_base_retriever,
    check_index,
    is_plain,
    read_options,
    to_named_strategies,
    to_strategies,
    write_options,
)
from leafspan.hosting._retriever import (
    NamedStrategyRetriever,
    StrategyRetriever,
    as_base,
    asearch,
    asearch_many,
    is_elsewhere,
    search,
    search_many,
    searched_index,
    searches_the_same,
    strategy_of,
)
from leafspan.hosting._stored import (
    HostObject,
    adelete,
    awith_ids,
    delete,
    recognise,
    split_into_leaves,
    to_documents,
    with_ids,
)
from leafspan.language_model import (
    CHOOSING_PROMPT,
    DEFAULT_PROMPT,
    GenerateOptions,
    from_langchain,
    from_llamaindex,
    without_reasoning,
)
from leafspan.retrieval import CallOptions, Limits, check_timeout
from leafspan.spans import SHOWN_TO_MODELS, citation, shown_text
from leafspan.splitting import cuts_at
from leafspan.strategies import Fusion, HostReranker, HostResult, Mode, Reranked, StrategyLike, Watched, Watcher
from leafspan.strategies.scoring import Shape
from leafspan.text import escaped_in_json

__all__ = [
    "CHOOSING_PROMPT",
    "DEFAULT_PROMPT",
    "SHOWN_TO_MODELS",
    "AgentTool",
    "CALL_OPTIONS",
    "Call",
    "CallOptions",
    "FilterPolicy",
    "Flow",
    "Fusion",
    "GenerateOptions",
    "HostObject",
    "HostReranker",
    "HostResult",
    "HostWords",
    "LastStrategy",
    "Limits",
    "Mode",
    "NamedStrategyRetriever",
    "Reranked",
    "Shape",
    "StrategyLike",
    "StrategyRetriever",
    "ToolOptions",
    "ToolsOptions",
    "Watched",
    "Watcher",
    "adelete",
    "agent_tool",
    "agent_tools",
    "apply_policy",
    "arun",
    "as_base",
    "asearch",
    "asearch_many",
    "awith_ids",
    "check_base_retriever",
    "changed_options",
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
    "escaped_in_json",
    "from_langchain",
    "from_llamaindex",
    "is_elsewhere",
    "is_plain",
    "read_options",
    "recognise",
    "run",
    "search",
    "search_many",
    "searched_index",
    "searches_the_same",
    "shown",
    "shown_text",
    "split_into_leaves",
    "strategy_of",
    "to_documents",
    "to_filter",
    "to_named_strategies",
    "to_strategies",
    "with_any_metadata",
    "with_ids",
    "write_options",
    "without_reasoning",
]

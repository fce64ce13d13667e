"""Tools with which agents use an index, for MCP and both frameworks: search, read, outline, grep, add, delete."""

from leafspan.agents._citations import cited_numbers, shortened, title_of
from leafspan.agents._grepping import find_lines, line_expression
from leafspan.agents._searching import usual_strategies
from leafspan.agents._tool import AgentTool, Parameter, ToolResult, error_text, search_result, title_with
from leafspan.agents._toolkit import ToolOptions, ToolsOptions, agent_tool, agent_tools

__all__ = [
    "AgentTool",
    "Parameter",
    "ToolResult",
    "ToolOptions",
    "ToolsOptions",
    "agent_tool",
    "agent_tools",
    "cited_numbers",
    "error_text",
    "find_lines",
    "line_expression",
    "search_result",
    "shortened",
    "title_of",
    "title_with",
    "usual_strategies",
]

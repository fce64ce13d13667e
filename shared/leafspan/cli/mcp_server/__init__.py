"""An agent's tools as a server of the Model Context Protocol, for clients on this machine."""

from leafspan.errors import MissingExtra

try:
    import mcp_types as _types  # noqa: F401 (mcp has it from version 2 on)
except ModuleNotFoundError as error:  # pragma: no cover
    raise MissingExtra.of("leafspan mcp needs mcp", "mcp") from error

from leafspan.cli.mcp_server._connector import connector_tools
from leafspan.cli.mcp_server._server import make_server
from leafspan.cli.mcp_server._transports import HTTPPlace, serve_http, serve_stdio

__all__ = ["HTTPPlace", "connector_tools", "make_server", "serve_http", "serve_stdio"]

"""Pages to ask an index in a browser, compare strategies, and read documents and trees. They never change the index."""

from leafspan.errors import MissingExtra

try:
    import starlette as _starlette  # noqa: F401
    import uvicorn as _uvicorn  # noqa: F401
except ModuleNotFoundError as error:  # pragma: no cover
    raise MissingExtra.of("leafspan serve needs starlette and uvicorn", "serve") from error

from leafspan.lab.serving._app import make_app
from leafspan.lab.serving._server import serve

__all__ = ["make_app", "serve"]

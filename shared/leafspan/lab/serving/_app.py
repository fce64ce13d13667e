"""The pages as a Starlette application. The server makes every page, and no page has a script."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from htpy import Node
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from leafspan.checks import check_number, shown
from leafspan.configuration import Config
from leafspan.errors import DocumentNotFound, InvalidArgument, LeafspanError
from leafspan.lab.serving._answers import Answer, find_answers
from leafspan.lab.serving._ask_page import ask_page
from leafspan.lab.serving._asked import Asked
from leafspan.lab.serving._document_page import document_page
from leafspan.lab.serving._documents_page import documents_page
from leafspan.lab.serving._frame import STYLE, error_box, framed
from leafspan.lab.serving._guard import Guard, safe_headers
from leafspan.lab.serving._index_page import index_page
from leafspan.lab.serving._reasons import find_reasons
from leafspan.lab.serving._trees_page import trees_page
from leafspan.lab.serving._why_page import why_page
from leafspan.text import visible
from leafspan.view import View

_logger = logging.getLogger(__name__)

T = TypeVar("T")
Drawing = Callable[[], Node]
"""A function that draws a page from values that were read. It runs in a thread, since large pages take time."""


def make_app(view: View, strategies: Mapping[str, Config], *, token: str, port: int, timeout: float = 30.0) -> Guard:
    """Make the application, which shows a view and never changes it.

    Raises:
        InvalidArgument: if there is no strategy, or the timeout is out of its range.
    """
    if not strategies:
        raise InvalidArgument("there must be at least one strategy, got an empty list")
    check_number("timeout", timeout, above=0)
    pages = _Pages(view, {visible(name): config for name, config in strategies.items()}, timeout)
    routes = {
        "/": ("Ask", pages.ask),
        "/why": ("Why", pages.why),
        "/documents": ("Documents", pages.documents),
        "/document": ("Document", pages.document),
        "/trees": ("Trees", pages.trees),
        "/index": ("Index", pages.index),
        "/{rest:path}": ("Not found", pages.nothing),
    }
    app = Starlette(
        routes=[Route(path, pages.showing(title, page), methods=["GET"]) for path, (title, page) in routes.items()]
    )
    return Guard(app, token, port, safe_headers(STYLE))


class _Pages:
    """Reads the values of each page. The page shows leafspan's errors; the log has the details of other errors."""

    def __init__(self, view: View, strategies: Mapping[str, Config], timeout: float) -> None:
        self._view = view
        self._strategies = strategies
        self._timeout = timeout
        self._default = next(iter(strategies))

    def showing(
        self, title: str, read: Callable[[Request, Asked], Awaitable[Drawing]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """A handler that reads values, draws them, and puts the frame around the drawing."""

        async def handle(request: Request) -> Response:
            asked = Asked.of(request.query_params.multi_items(), self._default)
            page_name = request.url.path.rpartition("/")[2]
            current = "documents" if page_name == "document" else page_name

            def drawn(content: Node) -> str:
                return str(framed(title, repr(self._view), asked, current, content))

            try:
                draw = await read(request, asked)
                page, status = await asyncio.to_thread(lambda: drawn(draw())), 200
            except LeafspanError as error:
                said = "; ".join([str(error), *getattr(error, "__notes__", [])])
                page, status = drawn(error_box(said)), _status(error)
            except Exception as error:
                _logger.error("%s failed:\n%s", title, visible("".join(traceback.format_exception(error)), lines=True))
                page, status = drawn(error_box("This failed for a reason that the terminal shows: try again.")), 500
            return HTMLResponse(page, status)

        return handle

    async def ask(self, _: Request, asked: Asked) -> Drawing:
        """The form, and the passages that were found. Errors in the form appear below it."""
        try:
            answers, problem = await self._answers(asked), None
        except InvalidArgument as error:
            answers, problem = [], str(error)
        return lambda: ask_page(asked, self._strategies, answers, problem)

    async def document(self, request: Request, asked: Asked) -> Drawing:
        """A document, with its found passages if the address has a question."""
        at = _whole("at", request.query_params.get("at", "0"), 0)
        document = await self._in_time(self._view.aget(request.query_params.get("id", "")))
        answers = await self._answers(asked)
        return lambda: document_page(document, asked, answers, at)

    async def why(self, request: Request, asked: Asked) -> Drawing:
        """Why strategies found a document, or what kept it out."""
        if asked.question is None:
            raise InvalidArgument("a question is needed to say why a document was found, got no question")
        id_ = request.query_params.get("id", "")
        asked.check(self._strategies)
        reasons = await find_reasons(self._view, asked, self._strategies, id_, self._timeout)
        return lambda: why_page(reasons, asked, id_)

    async def documents(self, request: Request, asked: Asked) -> Drawing:
        """The list of documents."""
        find = request.query_params.get("find", "").strip()
        page = _whole("page", request.query_params.get("page", "1"), 1)
        listed = await self._in_time(self._view.adocuments())
        return lambda: documents_page(listed, asked, find, page)

    async def trees(self, request: Request, asked: Asked) -> Drawing:
        """The tree of a document, or all trees."""
        id_ = request.query_params.get("id", "")
        nodes = await self._in_time(self._view.asummaries(id_ or None, leaves=bool(id_)))
        return lambda: trees_page(nodes, asked, id_)

    async def index(self, _: Request, __: Asked) -> Drawing:
        """The index in numbers."""
        stats = await self._in_time(self._view.astats())
        return lambda: index_page(repr(self._view), stats, self._strategies)

    async def nothing(self, _: Request, __: Asked) -> Drawing:
        """The answer for a page that does not exist."""
        raise _NoPage("there is no such page")

    async def _answers(self, asked: Asked) -> list[Answer]:
        if asked.question is None:
            return []
        asked.check(self._strategies)
        return await find_answers(self._view, asked, self._strategies, self._timeout)

    async def _in_time(self, reading: Awaitable[T]) -> T:
        try:
            return await asyncio.wait_for(reading, self._timeout)
        except LeafspanError:
            raise
        except TimeoutError:
            raise _Late(
                f"this took longer than {self._timeout:g} seconds: try again, or serve with more --timeout"
            ) from None


class _Late(LeafspanError):
    """Reading a page took too long."""


class _NoPage(LeafspanError):
    """A page does not exist."""


def _status(error: LeafspanError) -> int:
    if isinstance(error, InvalidArgument):
        return 400
    return 404 if isinstance(error, DocumentNotFound | _NoPage) else 503


def _whole(name: str, typed: str, least: int) -> int:
    if not (typed.isascii() and typed.isdecimal() and len(typed) <= 12 and int(typed) >= least):
        raise InvalidArgument(f"{name} must be a whole number >= {least}, got {shown(typed)}")
    return int(typed)

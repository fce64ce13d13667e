"""The pages as a Starlette application. The server makes every page, and no page has a script."""

from __future__ import annotations

import asyncio
import logging
import secrets
import traceback
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from typing import TypeVar

from htpy import Node
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leafspan.checks import check_number, shown
from leafspan.configuration import Config
from leafspan.errors import DocumentNotFound, InvalidArgument, LeafspanError
from leafspan.lab.serving._ask_page import ask_page, find_reasons, why_page
from leafspan.lab.serving._document_page import document_page
from leafspan.lab.serving._pages import STYLE, documents_page, error_box, framed, index_page, trees_page
from leafspan.lab.serving._query import Answer, PageQuery, find_answers
from leafspan.text import visible
from leafspan.view import View

_logger = logging.getLogger(__name__)

T = TypeVar("T")
Drawing = Callable[[], Node]
"""A function that draws a page from values that were read. It runs in a thread, since large pages take time."""


def make_app(view: View, strategies: Mapping[str, Config], *, token: str, port: int, timeout: float = 30.0) -> Guard:
    """Make the application, which shows a view and never changes it."""
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
        self, title: str, read: Callable[[Request, PageQuery], Awaitable[Drawing]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """A handler that reads values, draws them, and puts the frame around the drawing."""

        async def handle(request: Request) -> Response:
            query = PageQuery.of(request.query_params.multi_items(), self._default)
            page_name = request.url.path.rpartition("/")[2]
            current = "documents" if page_name == "document" else page_name

            def drawn(content: Node) -> str:
                return str(framed(title, repr(self._view), query, current, content))

            try:
                draw = await read(request, query)
                page, status = await asyncio.to_thread(lambda: drawn(draw())), 200
            except LeafspanError as error:
                said = "; ".join([str(error), *getattr(error, "__notes__", [])])
                page, status = drawn(error_box(said)), _status(error)
            except Exception as error:
                _logger.error("%s failed:\n%s", title, visible("".join(traceback.format_exception(error)), lines=True))
                page, status = drawn(error_box("This failed for a reason that the terminal shows: try again.")), 500
            return HTMLResponse(page, status)

        return handle

    async def ask(self, _: Request, query: PageQuery) -> Drawing:
        """The form, and the passages that were found. Errors in the form appear below it."""
        try:
            answers, problem = await self._answers(query), None
        except InvalidArgument as error:
            answers, problem = [], str(error)
        return lambda: ask_page(query, self._strategies, answers, problem)

    async def document(self, request: Request, query: PageQuery) -> Drawing:
        """A document, with its found passages if the address has a question."""
        at = _whole("at", request.query_params.get("at", "0"), 0)
        document = await self._in_time(self._view.aget(request.query_params.get("id", "")))
        answers = await self._answers(query)
        return lambda: document_page(document, query, answers, at)

    async def why(self, request: Request, query: PageQuery) -> Drawing:
        """Why strategies found a document, or what kept it out."""
        if query.question is None:
            raise InvalidArgument("a question is needed to say why a document was found, got no question")
        id_ = request.query_params.get("id", "")
        query.check(self._strategies)
        reasons = await find_reasons(self._view, query, self._strategies, id_, self._timeout)
        return lambda: why_page(reasons, query, id_)

    async def documents(self, request: Request, query: PageQuery) -> Drawing:
        """The list of documents."""
        find = request.query_params.get("find", "").strip()
        page = _whole("page", request.query_params.get("page", "1"), 1)
        listed = await self._in_time(self._view.adocuments())
        return lambda: documents_page(listed, query, find, page)

    async def trees(self, request: Request, query: PageQuery) -> Drawing:
        """The tree of a document, or all trees."""
        id_ = request.query_params.get("id", "")
        nodes = await self._in_time(self._view.asummaries(id_ or None, leaves=bool(id_)))
        return lambda: trees_page(nodes, query, id_)

    async def index(self, _: Request, query: PageQuery) -> Drawing:
        """The index in numbers."""
        stats, documents = await self._in_time(asyncio.gather(self._view.astats(), self._view.adocuments()))
        return lambda: index_page(repr(self._view), stats, documents, self._strategies, query)

    async def nothing(self, _: Request, __: PageQuery) -> Drawing:
        """The answer for a page that does not exist."""
        raise _NoPage("there is no such page")

    async def _answers(self, query: PageQuery) -> list[Answer]:
        if query.question is None:
            return []
        query.check(self._strategies)
        return await find_answers(self._view, query, self._strategies, self._timeout)

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


HOST = "127.0.0.1"
"""The server's address."""


def safe_headers(stylesheet: str) -> dict[str, str]:
    """Headers that forbid browsers to run, load, embed, pass on or keep anything."""
    digest = b64encode(sha256(stylesheet.encode()).digest()).decode()
    policy = {
        "default-src": "'none'",
        "style-src": "'unsafe-inline'",  # single elements have styles, such as the widths of bars
        "style-src-elem": f"'sha256-{digest}'",
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{key} {value}" for key, value in policy.items()),
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }


class Guard:
    """Passes only requests with the token that use this machine's own name to the application.

    Pages of others cannot know the token. If such a page gives this machine's address its own host name (DNS
    rebinding), the guard refuses that name. ``cut_off`` says whether an answer was cut off because the server ended.
    """

    def __init__(self, app: ASGIApp, token: str, port: int, headers: dict[str, str]) -> None:
        self.cut_off = False
        self._app = app
        self._token = token
        self._hosts = {f"{host}{suffix}" for host in (HOST, "localhost") for suffix in _suffixes(port)}
        self._headers = [(key.lower().encode(), value.encode()) for key, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":  # the application answers only HTTP
            await self._app(scope, receive, send)
            return

        begun = False

        async def send_safely(message: Message) -> None:
            nonlocal begun
            begun = True
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *self._headers]}
            await send(message)

        refusal = self._refusal(scope)
        try:
            if refusal is not None:
                await refusal(scope, receive, send_safely)
            else:
                await self._app({**scope, "root_path": f"/{self._token}"}, receive, send_safely)
        except asyncio.CancelledError:  # not raised again: nobody waits for it, and uvicorn would log it
            self.cut_off = True
            if not begun:
                await PlainTextResponse("The server has ended.", 503)(scope, receive, send_safely)
        except Exception as error:  # Starlette has told the browser about the failure
            _logger.error("a page failed:\n%s", visible("".join(traceback.format_exception(error)), lines=True))

    def _refusal(self, scope: Scope) -> Response | None:
        hosts = [value.decode("latin-1").lower() for key, value in scope["headers"] if key == b"host"]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return PlainTextResponse("This server answers only to 127.0.0.1 and localhost.", 421)
        _, _, path = str(scope["path"]).partition("/")
        token, slash, _ = path.partition("/")
        if not secrets.compare_digest(token.encode(errors="surrogatepass"), self._token.encode()):
            return PlainTextResponse("Not found. The address is the one that `leafspan serve` has printed.", 404)
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("Pages are only read.", 405, {"Allow": "GET, HEAD"})
        return None if slash else RedirectResponse(f"/{self._token}/")


def _suffixes(port: int) -> list[str]:
    return [f":{port}", ""] if port == 80 else [f":{port}"]  # browsers leave out the default port

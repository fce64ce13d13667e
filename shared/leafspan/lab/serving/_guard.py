"""Shows the pages only to users of this machine with the token, and forbids browsers everything but showing them."""

from __future__ import annotations

import asyncio
import logging
import secrets
import traceback
from base64 import b64encode
from hashlib import sha256

from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leafspan.text import visible

_logger = logging.getLogger(__name__)

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
    rebinding), the guard refuses that name.

    Attributes:
        cut_off: Whether an answer was cut off because the server ended.
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

"""A browser without a window: it asks for pages, reads their parts, and fills in their forms."""

from __future__ import annotations

from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any, Self
from urllib.parse import urljoin

from starlette.testclient import TestClient

from leafspan import AutoMerging, Browse, Config, Hybrid, SentenceWindow, Tree, Vector
from leafspan.lab.serving import make_app
from leafspan.view import View

TOKEN = "a-token-of-tests"
PORT = 8765
HOME = f"http://127.0.0.1:{PORT}/{TOKEN}/"
STRATEGIES = {
    "hybrid": Config(strategy=Hybrid()),
    "vector": Config(strategy=Vector()),
    "windows": Config(strategy=SentenceWindow()),
    "auto-merging": Config(strategy=AutoMerging()),
    "tree": Config(strategy=Tree()),
    "summaries": Config(strategy=Tree(mode="traversal", end_layer=1)),
    "browse": Config(strategy=Browse()),
}


class Page(HTMLParser):
    """A page, as a reader sees it.

    Attributes:
        html: Its source.
        status: Status of the response.
        headers: Headers of the response.
        text: Its text, without the style.
        links: Where its links lead, by their texts; of equal texts, the first.
        fields: What its form sends as it stands.
        action: Where the form sends it.
        marked: The pieces of passages that are marked in the text of a document.
        alerts: The errors that it shows.
    """

    def __init__(self, html: str, status: int, headers: Mapping[str, str]) -> None:
        super().__init__()
        self.html, self.status, self.headers = html, status, headers
        self.text = self.action = ""
        self.links: dict[str, str] = {}
        self.fields: list[tuple[str, str]] = []
        self.marked: list[str] = []
        self.alerts: list[str] = []
        self._open: list[tuple[str, dict[str, str]]] = []
        self._select = ""
        self._chosen = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.action = given["action"]
        elif tag == "input":
            self.fields.append((given["name"], given.get("value", "")))
        elif tag == "select":
            self._select, self._chosen = given["name"], ""
        elif tag == "option" and "selected" in given:
            self._chosen = given["value"]
        elif _is_passage(tag, given):
            self.marked.append("")
        elif given.get("role") == "alert":
            self.alerts.append("")
        if tag not in ("input", "meta", "rect"):
            self._open.append((tag, given))

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self.fields.append((self._select, self._chosen))
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        tags = [tag for tag, _ in self._open]
        if "style" in tags:
            return
        self.text += data
        for tag, given in self._open:
            if tag == "a":
                self.links.setdefault(data, given["href"])
            elif _is_passage(tag, given):
                self.marked[-1] += data
            elif given.get("role") == "alert":
                self.alerts[-1] += data


def _is_passage(tag: str, given: Mapping[str, str]) -> bool:
    return tag == "mark" and "serve-span" in given["class"]


class Browser:
    """A browser.

    Args:
        view: What is served.
        strategies: The strategies that can be chosen. Default: some.
        options: Options of ``make_app``.
    """

    def __init__(self, view: View, strategies: Mapping[str, Config] = STRATEGIES, **options: Any) -> None:
        self.app = make_app(view, strategies, token=TOKEN, port=PORT, **options)
        self._client = TestClient(self.app, base_url=HOME, raise_server_exceptions=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def open(self, address: str = "", fields: Any = None, method: str = "GET", **headers: str) -> Page:
        """The page at an address, such as a link's."""
        answer = self._client.request(
            method, urljoin(HOME, address), params=fields, headers=headers, follow_redirects=False
        )
        return Page(answer.text, answer.status_code, answer.headers)

    def ask(self, question: str, *strategies: str, **fields: str) -> Page:
        """The page with what strategies find."""
        return self.open("", [("q", question), *(("s", each) for each in strategies), *fields.items()])

    def send(self, page: Page, **typed: str) -> Page:
        """The page that a form leads to, with some of its fields filled in."""
        return self.open(page.action, [(name, typed.get(name, value)) for name, value in page.fields])

"""Texts, titles, ids and traces are shown and have no effect: in HTML, in a terminal, in a ``repr``."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from leafspan import Document, Index, Passage
from leafspan.cli import app
from leafspan.indexing import DocumentInfo
from leafspan.lab.pictures import (
    Answered,
    comparison_picture,
    document_picture,
    embedded,
    index_picture,
    passage_picture,
    report,
    results_picture,
    tree_picture,
)
from leafspan.retrieval import Passages
from leafspan.trees import Summaries
from tests.chromium import measured, shown
from tests.lab.pictures.hostile import ALL, ANSI, NUL, OVERRIDE, SCRIPT, requests_to
from tests.lab.pictures.values import everything_saying, explanations_saying

DRAWN = {
    "div",
    "section",
    "article",
    "header",
    "footer",
    "p",
    "span",
    "bdi",
    "mark",
    "strong",
    "small",
    "details",
    "summary",
}
DRAWN |= {
    "ul",
    "ol",
    "li",
    "figure",
    "figcaption",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "h1",
    "h2",
    "h3",
    "nav",
    "a",
}
DRAWN |= {"svg", "rect", "text", "title", "style", "html", "head", "meta", "body", "main"}


class Parts(HTMLParser):
    """The elements and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links |= {value or "" for name, value in attrs if name in ("href", "src")}


def drawn(text: str) -> list[str]:
    """Everything that can be drawn, as the HTML of a cell, with this text in it."""
    found, summary, leaf, document, outside = everything_saying(text)
    info = DocumentInfo(text, text, {}, 3, 4, 5)
    return [
        found._repr_html_(),
        Passages([found, summary, outside], question=text)._repr_html_(),
        document._repr_html_(),
        Summaries([summary, leaf])._repr_html_(),
        embedded(index_picture(text, {"embedder": text}, [info])),
        embedded(comparison_picture(text, {text: [found], "other": []})),
        *(each._repr_html_() for each in explanations_saying(text)),
    ]


def whole_report(text: str) -> str:
    found, summary, leaf, document, outside = everything_saying(text)
    answers = [
        Answered(text, {text: [found, outside]}, lambda given: [(0, 1)] if given else []),
        Answered("another", {text: [found], "b": []}),
    ]
    appendix = {
        "Trees": tree_picture([summary, leaf]),
        "Document": document_picture(document),
        "One": passage_picture(found),
    }
    return report(text, answers, appendix)


def assert_harmless(page: str) -> None:
    parts = Parts(page)
    assert parts.tags <= DRAWN
    assert not {name for name in parts.attributes if name.startswith("on")}
    assert {link for link in parts.links if not link.startswith("#question-")} == set()
    assert not any(character in page for character in "\x00\x1b\x07\u202e\u2067")


@pytest.mark.parametrize("text", ALL, ids=range(len(ALL)))
def test_no_text_becomes_an_element_an_attribute_or_a_control_character(text: str):
    for page in [*drawn(text), whole_report(text)]:
        assert_harmless(page)
        page.encode()  # a half of a character would not


@given(st.text(alphabet=st.characters() | st.sampled_from("<>&\"'/=`\x00\x1b\u202e\ud800")))
def test_neither_does_any_other(text: str):
    assert_harmless(whole_report(text))


def test_what_a_person_could_not_see_is_shown():
    page = results_picture([everything_saying(OVERRIDE)[0], everything_saying(NUL)[0], everything_saying(ANSI)[0]])
    assert "evil\\u202egnp.exe" in str(page)
    assert "before␀after␇␈" in str(page)
    assert "␛[31mred" in str(page)


@pytest.mark.slow
def test_scripts_do_not_run_in_a_notebook(chromium: str):
    everything = "".join(html for text in ALL for html in drawn(text))
    assert measured(everything, "[document.body.dataset.harmed, document.scripts.length]") == [None, 1]
    assert measured(SCRIPT, "document.body.dataset.harmed") == "script"  # it would be noticed


def test_scripts_do_not_run_in_a_report(chromium: str):
    page = shown(whole_report(" ".join(text for text in ALL if text != OVERRIDE)))
    assert_harmless(page)
    assert not re.search("<body[^>]*harmed", page)


@contextmanager
def listening() -> Iterator[tuple[str, list[str]]]:
    """The address of a server on loopback, and the paths that it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True  # a browser opens connections that it does not use
        block_on_close = False

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.slow
def test_pictures_ask_for_nothing_from_elsewhere(chromium: str):
    with listening() as (address, asked):
        text = requests_to(address)
        measured("".join(drawn(text)), "1")
        shown(whole_report(text))
        assert asked == []
        shown(f"<!doctype html>{text.replace('http-equiv=refresh', '')}")
        assert {"/img", "/css", "/frame", "/import", "/script", "/svg"} <= set(asked)  # they would be noticed


@pytest.mark.slow
def test_a_report_lets_a_browser_load_and_run_nothing(chromium: str):
    with listening() as (address, asked):
        smuggled = requests_to(address).replace("http-equiv=refresh", "") + SCRIPT
        page = whole_report("text").replace("</main>", f"{smuggled}</main>")
        assert not re.search("<body[^>]*harmed", shown(page))
        assert asked == []


@pytest.mark.slow
def test_text_from_right_to_left_keeps_to_itself(chromium: str):
    html = passage_picture(everything_saying("\u05d0\u05d1\u05d2 123")[0])
    asked = "[...document.querySelectorAll('.ls-text, .ls bdi')].map(each => getComputedStyle(each).unicodeBidi)"
    assert set(measured(embedded(html), asked)) == {"isolate"}
    assert measured(embedded(html), "getComputedStyle(document.querySelector('.ls-text')).direction") == "rtl"


@pytest.mark.parametrize("text", ALL, ids=range(len(ALL)))
def test_a_repr_is_one_line_of_characters_that_can_be_seen(text: str):
    found, summary, _, document, outside = everything_saying(text)
    for value in (found, summary, document, outside, found.trace, summary.summary, DocumentInfo(text, text, {}, 1, 1, 1)):
        assert repr(value).isprintable()
        assert len(repr(value)) < 300


def test_a_terminal_obeys_no_text(tmp_path: Path):
    texts = [text for text in ALL if "\ud83d" not in text]  # which is no Unicode, and cannot be added
    with Index.open(tmp_path / "kb") as index:
        index.add([Document(f"{number}", f"Honey {text}", title=text) for number, text in enumerate(texts)])
    for command in (["query", "honey", "--explain", "-k", "50"], ["show"]):
        printed = CliRunner().invoke(app, [*command, "--kb", str(tmp_path / "kb")]).output
        assert not any(character in printed for character in "\x00\x1b\x07\u202e\u2067")
    assert "[bold red]not bold" in CliRunner().invoke(app, ["query", "not bold", "--kb", str(tmp_path / "kb")]).output


def test_a_report_of_hostile_documents_is_harmless(tmp_path: Path, chromium: str):
    texts = [text for text in ALL if "\ud83d" not in text]
    with Index.open(tmp_path / "kb") as index:
        index.add([Document(text[:40], f"Honey {text}", title=text) for text in texts])
        index.build_tree(across_documents=True)
    output = tmp_path / "report.html"
    done = CliRunner().invoke(
        app, ["report", SCRIPT, "honey", "--kb", str(tmp_path / "kb"), "-k", "50", "--trees", "-o", str(output)]
    )
    assert done.exit_code == 0, done.output
    assert_harmless(output.read_text())
    assert not re.search("<body[^>]*harmed", shown(output.read_text()))


def test_a_passage_is_what_it_was(tmp_path: Path):
    """Only the picture shows something instead of control characters."""
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("a", f"Honey {ANSI}"))
        found: Passage = index.retrieve("honey")[0]
        assert found.text == f"Honey {ANSI}"

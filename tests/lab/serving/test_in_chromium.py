"""Pages in a browser: shown in light and in dark, without running or loading anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from PIL import Image
from starlette.responses import HTMLResponse

from leafspan import Document, Index
from leafspan.lab.serving._app import Guard, safe_headers
from leafspan.lab.serving._pages import STYLE
from tests.chromium import measured, opened
from tests.lab.pictures.hostile import ALL, OVERRIDE, SCRIPT, requests_to
from tests.lab.pictures.test_hostile_texts import listening
from tests.lab.pictures.test_in_chromium import BACKGROUND, contrast
from tests.lab.serving.browsing import Browser, Page
from tests.lab.serving.serving import Served, served
from tests.lab.serving.uvicorn_thread import app_running
from tests.profiles import quick

QUESTION = "?q=honey&s=hybrid&s=vector&s=tree&k=50"
TEXTS = [text for text in ALL if "\ud83d" not in text]


@pytest.fixture(scope="module")
def hostile(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, list[str]]]:
    """A process that serves hostile documents, and the paths that a server beside it was asked for."""
    folder = tmp_path_factory.mktemp("chromium") / "kb"
    with listening() as (address, asked):
        texts = [*TEXTS, requests_to(address)]
        with Index.open(folder) as index:
            index.add([Document(f"{number}{text}"[:200], f"Honey {text}", text) for number, text in enumerate(texts)])
            index.build_tree(across_documents=True)
        with served(folder) as running:
            yield running, asked


def seen(address: str, scheme: str = "light") -> Page:
    """The page once it was loaded, and its scripts would have run."""
    return Page(opened(address, "--dump-dom", "--virtual-time-budget=3000", scheme=scheme), 200, {})


@pytest.mark.slow
def test_nothing_runs_and_nothing_is_loaded(hostile: tuple[Served, list[str]]):
    running, asked = hostile
    said = {
        "": "Strategy",
        QUESTION: "also found by",
        "documents": f"{len(TEXTS) + 1} documents",
        "trees": "layer 1",
        "index": "WordLlama",
        f"document{QUESTION}&id={quote('0' + SCRIPT)}": f"Honey {SCRIPT}",
    }
    for page, text in said.items():
        loaded = seen(f"{running.address}{page}")
        assert text in loaded.text
        assert not re.search("<body[^>]*harmed", loaded.html)
        assert "<script" not in loaded.html
    assert asked == []


@pytest.mark.slow
def test_a_browser_would_refuse_what_is_not_ours(hostile: tuple[Served, list[str]]):
    """The policy in the headers holds without any escaping: it is tried on a page of the test's own."""
    _, asked = hostile
    with listening() as (address, others):
        smuggled = HTMLResponse(
            f"<html><body>{requests_to(address).replace('http-equiv=refresh', '')}{SCRIPT}</body></html>"
        )
        with app_running(lambda port: Guard(smuggled, "token", port, safe_headers(STYLE))) as place:
            html = seen(f"{place}/token/").html
        assert "<img" in html
        assert not re.search("<body[^>]*harmed", html)
        assert others == []
        with app_running(lambda port: smuggled) as place:
            html = seen(f"{place}/token/").html
        assert re.search("<body[^>]*harmed", html)  # without the policy it would be noticed
        assert "/img" in others
    assert asked == []


@pytest.mark.parametrize(("scheme", "is_dark"), quick(1, [("dark", True), ("light", False)]))
def test_pages_have_their_style_in_light_and_in_dark(
    hostile: tuple[Served, list[str]], tmp_path: Path, scheme: str, is_dark: bool
):
    running, _ = hostile
    opened(f"{running.address}{QUESTION}", f"--screenshot={tmp_path}/page.png", "--window-size=1000,700", scheme=scheme)
    with Image.open(tmp_path / "page.png") as image:
        pixels = image.convert("RGB")
        paper, top = pixels.getpixel((5, 600)), pixels.getpixel((5, 5))
    assert (sum(paper) < 3 * 60) == is_dark
    assert paper != top  # without the style all would be white
    assert (sum(paper) > 3 * 240) == (not is_dark)


READ = [
    ".serve-bar nav a",
    ".serve-bar nav a[aria-current]",
    ".serve-index",
    ".serve-form label > span",
    ".serve-form input",
    ".serve-form select",
    ".serve-form button",
    ".serve-shared",
    ".serve-links a",
    ".serve-folded > summary",
    ".serve-notes .ls-badge",
    ".serve-notes .ls-score",
    ".serve-notes li",
    "mark.serve-span",
    "mark.serve-both",
    ".serve-error",
]
"""What must be read on the pages, as selectors."""


@pytest.fixture(scope="module")
def pages(shared_index: Index) -> str:
    """What is on the pages that have the most, as a fragment that scripts of a test can look at."""
    with Browser(shared_index) as browser:
        asked = [("q", "bees"), ("s", "hybrid"), ("s", "windows"), ("k", "3")]
        shown = [browser.open("", asked), browser.open("document", [("id", "bees"), *asked]), browser.ask("", "hybrid")]
    return "".join(
        [f"<style>{STYLE}</style>"]
        + [f'<div class="ls ls-page">{page.html.partition("<body")[2].partition(">")[2]}</div>' for page in shown]
    ).replace("<details", "<details open")


@pytest.mark.parametrize("scheme", quick(1, ["light", "dark"]))
def test_all_can_be_read(chromium: str, pages: str, scheme: str):
    colours = measured(
        pages,
        f"""(() => {{ {BACKGROUND}
          return {READ}.map(selector => document.querySelector('.ls ' + selector))
            .map(each => [getComputedStyle(each).color, background(each)]); }})()""",
        scheme=scheme,
    )
    # 4.5 is what WCAG asks for of small text.
    assert [(name, pair) for name, pair in zip(READ, colours, strict=True) if contrast(*pair) < 4.5] == []


@pytest.mark.parametrize("width", quick(1, [500, 1000, 1600]))
def test_nothing_is_wider_than_the_window(chromium: str, pages: str, width: int):
    assert measured(pages, "document.documentElement.scrollWidth <= window.innerWidth", width=width) is True


@pytest.mark.slow
def test_direction_overrides_are_shown(hostile: tuple[Served, list[str]]):
    page = seen(f"{hostile[0].address}documents")
    assert OVERRIDE not in page.html
    assert "evil\\u202egnp.exe" in page.text

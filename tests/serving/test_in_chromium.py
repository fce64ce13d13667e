"""What a browser makes of the pages: it shows them, in light and in dark, and runs and loads nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from leafspan import Document, Index
from tests.chromium import opened
from tests.pictures.hostile import ALL, OVERRIDE, SCRIPT, requests_to
from tests.pictures.test_hostile_texts import listening
from tests.serving.browsing import Page
from tests.serving.serving import Served, served

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


def test_nothing_runs_and_nothing_is_loaded(hostile: tuple[Served, list[str]]):
    running, asked = hostile
    for page in ("", QUESTION, "documents", "trees", "index", f"document{QUESTION}&id=0{SCRIPT}".replace("<", "%3C")):
        html = seen(f"{running.address}{page}").html
        assert "Honey" in html or "honey" in html or page in ("", "documents", "index")
        assert not re.search("<body[^>]*harmed", html)
        assert "<script" not in re.sub("&lt;script", "", html)
    assert asked == []


def test_a_browser_would_refuse_what_is_not_ours(hostile: tuple[Served, list[str]]):
    """The policy in the headers holds without any escaping: it is tried on a page of the test's own."""
    from starlette.responses import HTMLResponse

    from leafspan.serving._frame import STYLE
    from leafspan.serving._guard import Guard, safe_headers
    from tests.serving.uvicorn_thread import running

    _, asked = hostile
    with listening() as (address, others):
        smuggled = HTMLResponse(
            f"<html><body>{requests_to(address).replace('http-equiv=refresh', '')}{SCRIPT}</body></html>"
        )
        with running(lambda port: Guard(smuggled, "token", port, safe_headers(STYLE))) as place:
            html = seen(f"{place}/token/").html
        assert "<img" in html
        assert not re.search("<body[^>]*harmed", html)
        assert others == []
        with running(lambda port: smuggled) as place:
            html = seen(f"{place}/token/").html
        assert re.search("<body[^>]*harmed", html)  # without the policy it would be noticed
        assert "/img" in others
    assert asked == []


@pytest.mark.parametrize(("scheme", "is_dark"), [("light", False), ("dark", True)])
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


def test_direction_overrides_are_shown(hostile: tuple[Served, list[str]]):
    page = seen(f"{hostile[0].address}documents")
    assert OVERRIDE not in page.html
    assert "evil\\u202egnp.exe" in page.text

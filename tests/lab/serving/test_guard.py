"""Only users of this machine with the token may ask."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest

from leafspan import Config, Index, InvalidArgument
from leafspan.lab.serving import make_app
from tests.lab.serving.browsing import HOME, PORT, TOKEN, Browser

ELSEWHERE = f"http://127.0.0.1:{PORT}"


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/documents",
        "/favicon.ico",
        f"/{TOKEN[:-1]}/",
        f"/{TOKEN}x/",
        f"/{TOKEN.upper()}/",
        f"//{TOKEN}/",
        "/%ff/",
        "/\u00e9/",
    ],
)
def test_without_the_token_there_is_nothing(browser: Browser, path: str):
    page = browser.open(f"{ELSEWHERE}{path}")
    assert page.status == 404
    assert "leafspan serve" in page.text
    assert "<html" not in page.html


@pytest.mark.parametrize("host", [f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"LOCALHOST:{PORT}"])
def test_this_machine_is_answered(browser: Browser, host: str):
    assert browser.open(HOME, host=host).status == 200


@pytest.mark.parametrize(
    "host",
    ["", "127.0.0.1", f"127.0.0.1:{PORT + 1}", f"evil.example:{PORT}", f"127.0.0.1.evil.example:{PORT}", f"0.0.0.0:{PORT}", f"[::1]:{PORT}", f"evil@127.0.0.1:{PORT}"],
)  # fmt: skip
def test_a_name_of_somebody_else_is_refused_even_with_the_token(browser: Browser, host: str):
    page = browser.open(HOME, host=host)
    assert page.status == 421
    assert "bees" not in page.html


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_pages_are_only_read(browser: Browser, method: str):
    page = browser.open(HOME, method=method)
    assert page.status == 405
    assert page.headers["allow"] == "GET, HEAD"
    assert browser.open(ELSEWHERE, method=method).status == 404


def test_head_is_get_without_the_page(browser: Browser):
    page = browser.open(HOME, method="HEAD")
    assert (page.status, page.html) == (200, "")


def test_without_the_last_slash_the_address_leads_on(browser: Browser):
    page = browser.open(f"{ELSEWHERE}/{TOKEN}")
    assert page.status == 307
    assert page.headers["location"] == f"/{TOKEN}/"


@pytest.mark.parametrize("address", [HOME, f"{HOME}documents", f"{HOME}nowhere", f"{ELSEWHERE}/", f"{ELSEWHERE}/{TOKEN}"])
def test_every_answer_forbids_what_is_not_needed(browser: Browser, address: str):
    headers = browser.open(address).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["form-action"] == "'self'"
    assert not [key for key in policy if key.startswith(("script", "img", "connect", "frame-src", "font"))]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_the_only_style_is_the_pages(browser: Browser):
    page = browser.open(HOME)
    (style,) = re.findall("<style>(.*?)</style>", page.html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src-elem 'sha256-{digest}'" in page.headers["content-security-policy"]


@pytest.mark.parametrize("options", [{"strategies": {}}, {"timeout": 0}, {"timeout": float("nan")}])
def test_options_are_checked(shared_index: Index, options: dict):
    given = {"strategies": {"a": Config()}, **options}
    with pytest.raises(InvalidArgument):
        make_app(shared_index, token=TOKEN, port=PORT, **given)


def test_the_usual_port_needs_no_name(shared_index: Index):
    app = make_app(shared_index, {"a": Config()}, token=TOKEN, port=80)
    assert app._hosts == {"127.0.0.1", "127.0.0.1:80", "localhost", "localhost:80"}


def test_what_fails_in_the_frame_itself_is_for_the_log(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def failing(*_: object) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr("leafspan.lab.serving._app.framed", failing)
    page = browser.open(HOME)
    assert (page.status, page.html) == (500, "Internal Server Error")
    assert "a secret" in caplog.text

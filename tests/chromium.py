"""A headless Chromium, from Debian's package: a page's content once it is shown, and a picture of it."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_PATIENCE = 120  # seconds
_SCHEMES = {"dark": 0, "light": 1}  # as Blink numbers them


class NoChromium(RuntimeError):
    """Chromium cannot be started here; the message says why."""


def program() -> str:
    """The path of the program.

    Raises:
        NoChromium: if it is not installed.
    """
    for name in PROGRAMS:
        if found := shutil.which(name):
            return found
    raise NoChromium("Chromium is not installed (apt-get install chromium)")


def _run(page: str, *options: str, scheme: str) -> str:
    with tempfile.TemporaryDirectory(prefix="leafspan-page-", ignore_cleanup_errors=True) as folder:
        file = Path(folder) / "page.html"
        file.write_text(page, encoding="utf-8")
        return opened(file.as_uri(), *options, scheme=scheme)


def opened(address: str, *options: str, scheme: str = "light") -> str:
    """What Chromium prints when it opens an address.

    Args:
        address: The address.
        options: Options of its command line.
        scheme: What the system prefers, ``"light"`` or ``"dark"``.
    """
    with tempfile.TemporaryDirectory(prefix="leafspan-chromium-", ignore_cleanup_errors=True) as folder:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        command = [
            program(),
            "--headless",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-background-networking",
            f"--user-data-dir={folder}/profile",
            f"--blink-settings=preferredColorScheme={_SCHEMES[scheme]}",
            *sandbox,
            *options,
            address,
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=True)
    return done.stdout


def shown(page: str, *, scheme: str = "light", width: int = 1000) -> str:
    """The document of a page after it was loaded and its scripts have run, as HTML.

    Args:
        page: The page.
        scheme: What the system prefers, ``"light"`` or ``"dark"``.
        width: Of the window, in pixels.
    """
    return _run(page, "--dump-dom", "--virtual-time-budget=2000", f"--window-size={width},800", scheme=scheme)


def measured(fragment: str, expression: str, *, scheme: str = "light", width: int = 1000, body: str = "") -> Any:
    """What an expression of JavaScript is in a page around a fragment. The script is the test's own.

    Args:
        fragment: HTML in the body.
        expression: The expression, whose value must be JSON.
        scheme: What the system prefers, ``"light"`` or ``"dark"``.
        width: Of the window, in pixels.
        body: Attributes of the body, such as a notebook's theme sets.
    """
    script = f"document.body.dataset.measured = JSON.stringify({expression})"
    page = f"<!doctype html><meta charset=utf-8><body {body}>{fragment}<script>{script}</script></body>"
    found = re.search(r'data-measured="([^"]*)"', shown(page, scheme=scheme, width=width))
    assert found, "the expression failed"
    return json.loads(html.unescape(found[1]))


def screenshot(page: str, target: Path, *, scheme: str = "light", width: int = 1000, height: int = 800) -> None:
    """Write a picture of a page.

    Args:
        page: The page.
        target: The PNG file.
        scheme: What the system prefers, ``"light"`` or ``"dark"``.
        width: Of the window, in pixels.
        height: Of the window, in pixels.
    """
    _run(page, f"--screenshot={target.resolve()}", f"--window-size={width},{height}", scheme=scheme)

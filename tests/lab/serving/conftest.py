"""Fixtures for the tests of pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from leafspan import Index
from tests.lab.pictures.conftest import chromium  # noqa: F401 (a fixture)
from tests.lab.serving.browsing import Browser


@pytest.fixture
def browser(shared_index: Index) -> Iterator[Browser]:
    """A browser that knows the address of the small corpus."""
    with Browser(shared_index) as opened:
        yield opened

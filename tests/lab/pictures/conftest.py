"""Fixtures for the tests of pictures."""

from __future__ import annotations

import pytest

from tests.chromium import NoChromium, program


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of Chromium. The test is skipped where it is not installed."""
    try:
        return program()
    except NoChromium as reason:
        pytest.skip(str(reason))

"""docs/skill.md: the service in it keeps tenants apart, and its lists name what there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from starlette.testclient import TestClient

from leafspan import Index, errors
from leafspan.strategies import to_strategy
from tools.site import for_models

SKILL = (Path(__file__).parents[2] / "docs/skill.md").read_text()
SERVICE = next(block for block in re.findall(r"```python\n(.*?)```", SKILL, re.DOTALL) if "FastAPI(" in block)
ACME, OTHER = {"X-Tenant": "acme"}, {"X-Tenant": "other"}


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("INDEX", str(tmp_path / "kb"))
    (tmp_path / "service.py").write_text(f"from leafspan import Document, F, Index\n{SERVICE}")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "service", raising=False)
    with TestClient(__import__("service").app, raise_server_exceptions=False) as opened:
        yield opened


def test_the_service_keeps_tenants_apart(client: Any):
    assert client.put("/documents/plan", json={"text": "The budget is four hundred."}, headers=ACME).json()["added"] == 1
    asked = {"question": "What is the budget?"}
    (found,) = client.post("/ask", json=asked, headers=ACME).json()
    assert (found["document"], found["text"]) == ("plan", "The budget is four hundred.")
    assert client.post("/ask", json=asked, headers=OTHER).json() == []
    assert client.delete("/documents/plan", headers=OTHER).json() == []
    assert client.delete("/documents/plan", headers=ACME).json() == ["plan"]


def test_the_service_refuses_what_is_wrong(client: Any):
    assert client.post("/ask", json={"question": "?"}).status_code == 422  # no tenant
    assert client.post("/ask", json={"question": ""}, headers=ACME).status_code == 422
    broken = b'{"text": "a\\ud800b"}'  # half of a character
    assert (
        client.put("/documents/plan", content=broken, headers=ACME | {"Content-Type": "application/json"}).status_code
        == 422
    )


def test_an_agent_finds_it_by_its_front_matter():
    for page in (SKILL, for_models.with_front_matter(SKILL, "# A page\n")):  # as it is, and on the site
        about = yaml.safe_load(page.split("---\n")[1])
        assert about["name"] == "leafspan"
        assert 100 < len(about["description"]) <= 1024
        assert page.split("---\n")[2].lstrip().startswith("# A ")
    assert for_models.with_front_matter("# A page\n", "# A page\n") == "# A page\n"


def test_its_lists_name_what_there_is():
    table = SKILL.partition("## Errors")[2].partition("##")[0]
    kinds = re.findall(r"`([A-Z]\w+)`", table)
    strategies = re.findall(r"`([a-z0-9-]+)`", SKILL.partition("Strategies by name")[2].partition("; with options")[0])
    methods = re.findall(r"`(a\w+)`", SKILL.partition("In async code")[2].partition("\n8.")[0])
    assert min(len(kinds), len(strategies), len(methods)) > 5
    for name in kinds:
        assert issubclass(getattr(errors, name), errors.LeafspanError)
    for name in strategies:
        assert name == "budget" or to_strategy("strategy", name)
    for name in {*methods} - {"await"}:
        assert hasattr(Index, name)

"""No id, filter, question or strategy leads out of a scoped view."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leafspan import Document, F, Index
from tests.lab.serving.browsing import STRATEGIES, Browser

SECRET = "The vault code of the other tenant is honeycomb."


@pytest.fixture(scope="module")
def scoped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """The view of tenant a. All other documents have the secret."""
    with Index.open(tmp_path_factory.mktemp("tenants") / "kb") as index:
        index.add([Document("shared", SECRET, "Secret title", {"tenant": "b"}), Document("none", SECRET)])
        index.scoped(F("tenant") == "b").add(Document("mine", SECRET, "Secret title"))
        index.scoped(F("tenant") == "a").add(Document("mine", "Bees make honey for the winter.", "Bees"))
        index.build_tree(across_documents=True)
        with Browser(index.scoped(F("tenant") == "a")) as browser:
            browser.stored = [each.id for each in index.documents()]
            yield browser


def test_the_own_document_is_there(scoped: Browser):
    assert "Bees make honey" in scoped.ask("honey", "hybrid").text
    assert "Bees make honey" in scoped.open("document", {"id": "mine"}).text
    assert "1 document" in scoped.open("documents").text


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    "where",
    ["", 'F("tenant") == "b"', 'F("tenant").exists() | ~F("tenant").exists()', "{}", '{"tenant": {"$ne": "a"}}', 'F("doc_id") == "shared"'],
)  # fmt: skip
def test_no_strategy_and_no_filter_finds_others(scoped: Browser, strategy: str, where: str):
    page = scoped.ask("the vault code of the other tenant", strategy, k="50", where=where)
    assert page.status == 200
    assert "honeycomb" not in page.text
    assert "Secret title" not in page.text


def test_no_id_opens_others(scoped: Browser):
    for id_ in [*scoped.stored, "shared", "none", "mine#b", "shared#00000000#0"]:
        for address in ("document", "trees"):
            page = scoped.open(address, {"id": id_})
            assert "honeycomb" not in page.text
            assert page.status == (200 if id_ == "mine" else 404)
        why = scoped.open("why", {"id": id_, "q": "the vault code", "s": "hybrid"})
        assert "honeycomb" not in why.text
        assert why.status == (200 if id_ == "mine" else 404)


def test_lists_trees_and_numbers_know_of_no_others(scoped: Browser):
    for address in ("documents", "documents?find=s", "trees", "index"):
        page = scoped.open(address)
        assert "honeycomb" not in page.text
        assert "Secret title" not in page.text
    assert "documents1" in scoped.open("index").text.replace("\n", "").replace(" ", "")


def test_a_narrower_filter_narrows(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index:
        index.add([Document("old", "Honey.", None, {"year": 1990}), Document("new", "Honey.", None, {"year": 2020})])
        with Browser(index) as browser:
            page = browser.ask("honey", "hybrid", where='F("year") >= 2000')
            assert "new" in page.text
            assert "old#" not in page.text

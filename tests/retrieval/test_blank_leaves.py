"""A leaf without words is never a result, even if its title matches well."""

from __future__ import annotations

from pathlib import Path

import pytest

from leafspan import (
    BM25,
    AutoMerging,
    Browse,
    Document,
    Hybrid,
    Index,
    ParentDocument,
    RelevantSegments,
    SentenceWindow,
    Strategy,
    Vector,
)
from leafspan.splitting import Cut
from tests.profiles import paired

BLANK = [" \n\t", "\u200b\u00ad", "* * *\n---", "\u2026"]
STRATEGIES: list[Strategy] = [
    BM25(),
    Vector(),
    Hybrid(),
    ParentDocument(),
    SentenceWindow(),
    AutoMerging(),
    RelevantSegments(),
    Browse(),
]


@pytest.fixture
def index(tmp_path: Path):
    with Index.open(tmp_path / "kb") as opened:
        opened.add([Document(f"a{number}", text, "Annual report") for number, text in enumerate(BLANK * 8)])
        opened.add(
            [Document("page", "What ships there were.", "Annual report"), Document("emoji", "\U0001f600", "Annual report")]
        )
        yield opened


@pytest.mark.parametrize(("strategy", "limits"), paired(STRATEGIES, [{}, {"k": 2}, {"budget": 100}]), ids=str)
def test_blank_pages_are_no_results_and_take_no_place(index: Index, strategy: Strategy, limits: dict[str, int]) -> None:
    found = index.retrieve("annual report", strategy, **limits)
    assert {each.document_id for each in found} == {"page", "emoji"}


def test_a_blank_leaf_of_a_splitter_is_no_result(tmp_path: Path) -> None:
    text = "Ships were built.   ~~~ Bread was baked."

    def split(text: str) -> list[Cut]:
        return [Cut(17), Cut(24), Cut(len(text))]

    with Index.open(tmp_path / "kb", splitter=split) as index:
        index.add(Document("a", text, "Trades"))
        for strategy in (BM25(), Vector(), Hybrid()):
            assert sorted(each.text for each in index.retrieve("trades", strategy)) == [text[24:], text[:17]]
        assert index.get("a").text == text

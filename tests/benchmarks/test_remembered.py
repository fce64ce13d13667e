"""An index that remembers its answers ranks like the index itself, in less time."""

from __future__ import annotations

import pytest

from leafspan import BM25, Hybrid, Index, Vector
from leafspan.examples import EXAMPLE_QUESTIONS, example_documents

pytestmark = pytest.mark.usefixtures("scripts")

COUNT = 10
SETTINGS = (
    Hybrid(references=0),
    Hybrid(weights=(0.5, 0.5)),
    Hybrid(weights=(0.8, 0.2), references=0.9),
)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with Index.open(tmp_path_factory.mktemp("examples") / "kb") as opened:
        opened.add(example_documents(), progress=False)
        yield opened


def test_it_ranks_like_the_index_after_any_other_questions(index):
    from remembered import Remembered

    remembered = Remembered(index, EXAMPLE_QUESTIONS, COUNT)
    for strategy in (BM25(), *SETTINGS, Vector(), *reversed(SETTINGS)):
        found = index.retrieve_many(list(EXAMPLE_QUESTIONS), strategy, k=COUNT, candidates=COUNT)
        assert remembered.rank(strategy) == [[(each.document_id, each.start, each.end) for each in row] for row in found]


def test_what_was_answered_is_not_asked_again(index, monkeypatch):
    from remembered import Remembered

    remembered = Remembered(index, EXAMPLE_QUESTIONS, COUNT)
    first = [remembered.rank(strategy) for strategy in SETTINGS]
    monkeypatch.setattr(Index, "retrieve_many", lambda *args, **options: pytest.fail("the index was asked"))
    assert [remembered.rank(strategy) for strategy in SETTINGS] == first

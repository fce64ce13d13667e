"""In a large index the copy of the vectors answers the first questions, since Chroma takes seconds to load its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from leafspan import Document, F, Index, Tree, Vector
from leafspan.search import _vectors
from leafspan.store import _folder
from leafspan.store._folder import Folder
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER

ROOT = Path(__file__).parents[2]
QUESTION = QUESTIONS[0]
MOST = F("doc_id") != "tea"  # so that Chroma is asked for more than are wanted

_ADD = """
import sys
from leafspan import Document, Index
with Index.open(sys.argv[1]) as index:
    index.add(Document(sys.argv[2], "Bees dance on their combs."))
"""


@pytest.fixture(autouse=True)
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any index counts as large, and opening Chroma takes as long as four questions."""
    monkeypatch.setattr(_vectors, "_FEW_NUMBERS", 0)
    monkeypatch.setattr(_vectors, "_OPENING", 5)


@pytest.fixture
def openings(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders in which Chroma is opened."""
    opened: list[Path] = []
    original = _folder.fresh_client

    def opening(path: Path, **database: str):
        opened.append(path)
        return original(path, **database)

    monkeypatch.setattr(_folder, "fresh_client", opening)
    return opened


def add_elsewhere(index: Index, name: str) -> None:
    """Have another process add a document about bees that dance."""
    command = [sys.executable, "-W", "ignore", "-c", _ADD, str(index._store._folder.path), name]
    subprocess.run(command, check=True, cwd=ROOT, timeout=120)


def ask(index: Index, where=None) -> list:
    """What is found, without the last digits of scores: Chroma brings vectors to length 1 itself, and rounds otherwise."""
    return [(each.id, round(each.score, 5)) for each in index.retrieve(QUESTION, Vector(), k=5, where=where)]


@pytest.mark.parametrize("where", [None, MOST], ids=["no filter", "a filter"])
def test_the_first_questions_are_answered_exactly_without_chroma_and_then_it_is_opened_once(
    index: Index, monkeypatch: pytest.MonkeyPatch, openings: list[Path], calls: Counter, where
):
    with monkeypatch.context() as patch:
        patch.setattr(_vectors, "_FEW_NUMBERS", 10**9)
        exact = ask(index, where)
    assert [ask(index, where) for _ in range(4)] == [exact] * 4
    assert openings == []
    assert +calls == {}
    assert [ask(index, where) for _ in range(3)] == [exact] * 3
    assert len(openings) == 1
    assert calls["kb.leaves", "query"] == 3


def test_a_question_that_is_searched_for_in_several_phrasings_counts_as_many_times(
    index: Index, openings: list[Path], calls: Counter
):
    index.retrieve_many(QUESTIONS[:4], Vector())  # four searches
    assert openings == []
    ask(index)
    assert calls["kb.leaves", "query"] == 1


@pytest.mark.parametrize("where", [None, MOST], ids=["no filter", "a filter"])
def test_after_warm_chroma_answers(index: Index, openings: list[Path], calls: Counter, where):
    index.warm()
    assert len(openings) == 1
    calls.clear()
    ask(index, where)
    assert calls["kb.leaves", "query"] == 1


def test_where_chroma_is_open_since_this_process_has_written_it_answers(index: Index, openings: list[Path], calls: Counter):
    index.add(Document("more", "Bees dance on their combs."))
    assert len(openings) == 1
    assert ask(index)[0][0].startswith("more#")
    assert calls["kb.leaves", "query"] == 1


def test_where_only_the_documents_were_read_of_chroma_the_copy_answers(
    index: Index, monkeypatch: pytest.MonkeyPatch, openings: list[Path], calls: Counter
):
    monkeypatch.setattr(Folder, "known", lambda folder, name: None)
    ask(index)
    assert len(openings) == 1
    assert calls["kb.leaves", "query"] == 0


def test_after_another_process_has_written_the_copy_answers_until_opening_chroma_pays_again(
    index: Index, openings: list[Path], calls: Counter
):
    index.warm()
    for number in (1, 2):
        add_elsewhere(index, f"more{number}")
        calls.clear()
        found = [ask(index) for _ in range(4)]
        assert all(
            {f"more{each}" for each in range(1, number + 1)} <= {id_.split("#")[0] for id_, _ in each} for each in found
        )
        assert len(openings) == number
        assert calls["kb.leaves", "query"] == 0
        assert ask(index) == found[0]
        assert len(openings) == number + 1
        assert calls["kb.leaves", "query"] == 1


@pytest.mark.slow
def test_whenever_the_index_changes_it_is_counted_anew(index: Index, openings: list[Path]):
    for number in range(3):
        assert [len(ask(index)) for _ in range(4)] == [5] * 4
        add_elsewhere(index, f"more{number}")
    assert openings == []


def test_a_filter_that_few_leaves_match_is_not_counted(index: Index, monkeypatch: pytest.MonkeyPatch, openings: list[Path]):
    monkeypatch.setattr(_vectors, "_MIN_SHARE", 0.5)
    for _ in range(5):
        ask(index, F("doc_id") == "tea")
    assert [ask(index) for _ in range(4)] == [ask(index)] * 4
    assert len(openings) == 1


@pytest.mark.usefixtures("nothing_is_taken")
def test_without_a_copy_chroma_is_opened_at_once(tmp_path: Path, openings: list[Path], calls: Counter):
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as made:
        made.add(DOCUMENTS)
    openings.clear()
    with Index.open(tmp_path / "kb") as index:
        ask(index)
        assert len(openings) == 1
        assert calls["kb.leaves", "query"] == 1
        assert index._sources.indexes.vectors._snapshot is None  # nothing was copied for it


def test_trees_are_searched_in_the_same_way(index: Index, openings: list[Path], calls: Counter):
    index.build_tree()
    folder = index._store._folder.path
    index.close()
    openings.clear()
    calls.clear()
    with Index.open(folder) as again:
        found = again.retrieve(QUESTION, Tree(), k=5)
        assert openings == []
        for _ in range(4):
            assert [each.id for each in again.retrieve(QUESTION, Tree(), k=5)] == [each.id for each in found]
        assert len(openings) == 1


def test_while_one_question_waits_for_chroma_others_are_answered(index: Index, monkeypatch: pytest.MonkeyPatch):
    exact = ask(index)
    assert [ask(index) for _ in range(3)] == [exact] * 3
    beside: list[list] = []
    original = Folder._open

    def opening(folder: Folder, deadline: float):
        with ThreadPoolExecutor(1) as pool:
            beside.extend(pool.map(lambda _: ask(index), range(3)))
        return original(folder, deadline)

    monkeypatch.setattr(Folder, "_open", opening)
    assert ask(index) == exact
    assert beside == [exact] * 3


_FORK = """
import os, sys
from leafspan import Document, Index, Vector
from leafspan.search import _vectors
_vectors._FEW_NUMBERS, _vectors._OPENING = 0, 2
index = Index.open(sys.argv[1])
index.add(Document("more", "Bees dance on their combs."))
expected = [each.id for each in index.retrieve("bees", Vector())]
child = os.fork()
if not child:
    index.warm()
    os._exit(0 if all([each.id for each in index.retrieve("bees", Vector())] == expected for _ in range(5)) else 3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_in_a_forked_process_which_cannot_open_chroma_the_copy_goes_on_answering(tmp_path: Path):
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        index.add(DOCUMENTS)
    command = [sys.executable, "-W", "ignore", "-c", _FORK, str(tmp_path / "kb")]
    done = subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stdout == "0\n", done.stderr

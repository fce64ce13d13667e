"""All scenarios over an index in a folder whose read model is gone, or cannot be: the same answers, from Chroma.

Behind a server there is none either: ``test_scenarios`` runs all of them there.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from leafspan import Index
from leafspan.search import SearchIndexes
from tests.corpus import QUESTIONS, SPLITTER
from tests.hosts.scenario import Scenario
from tests.hosts.scenarios import SCENARIOS
from tests.hosts.test_scenarios import ask, seen_in_langchain, seen_in_llamaindex, shown

pytestmark = pytest.mark.filterwarnings("ignore:.*(made anew|made again by each process):RuntimeWarning")

every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)


@pytest.fixture(scope="module", params=["lost", "unwritable", "none"])
def bare_index(request: pytest.FixtureRequest, forest: Index, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """The corpus with its trees in a folder without a read model.

    That was deleted before the index is opened, and is made again (``lost``); it cannot be written, since a file is in its
    place (``unwritable``); or there is none at all, neither files nor copies in memory (``none``).
    """
    place = tmp_path_factory.mktemp(request.param) / "kb"
    shutil.copytree(forest._store._folder.path, place)  # type: ignore[attr-defined]
    shutil.rmtree(place / "leafspan.segments")
    if request.param != "lost":
        (place / "leafspan.segments").write_text("in the way")
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "none":
            patch.setattr(SearchIndexes, "of", without_copies(SearchIndexes.of))
        with Index.open(place, splitter=SPLITTER) as opened:
            yield opened


def without_copies(make):
    """What makes the indexes of a store as behind a server, without copies of vectors and leaves."""

    def of(store, settings):
        indexes = make(store, settings)
        store.copied = None
        return SearchIndexes(store, indexes.words, None, None)

    return of


@every_scenario
def test_the_core_and_both_hosts_give_the_same_without_a_read_model(bare_index: Index, forest: Index, scenario: Scenario):
    expected = [shown(passages) for passages in ask(forest, scenario)]
    folder = bare_index._store._folder  # type: ignore[attr-defined]
    if (place := folder.path / "leafspan.segments").is_dir():
        shutil.rmtree(place)  # also while the index is open
    assert [*map(shown, ask(bare_index, scenario))] == expected
    assert seen_in_langchain(scenario.in_langchain(bare_index).invoke(QUESTIONS[1])) == expected[1]
    assert seen_in_llamaindex(scenario.in_llamaindex(bare_index).retrieve(QUESTIONS[2])) == expected[2]
    assert folder._opened is not None, "Chroma was not read"

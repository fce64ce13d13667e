"""The scenarios over an index in a folder without a read model: Chroma gives the same answers.

A server has no read model either: see ``test_scenarios``.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from leafspan import Index
from leafspan.search import SearchIndexes
from tests.corpus import SPLITTER
from tests.hosts.scenario import Scenario
from tests.hosts.scenarios import SCENARIOS
from tests.hosts.test_scenarios import ask, named, shown
from tests.profiles import paired

pytestmark = pytest.mark.filterwarnings("ignore:.*(leafspan rebuilds|made again by each process):RuntimeWarning")


@pytest.fixture(scope="module")
def bare_index(request: pytest.FixtureRequest, forest: Index, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """The corpus with its trees in a folder without a read model.

    That was deleted before the index is opened, and is made again (``lost``); it cannot be written, since a file is in its
    place (``unwritable``); or it does not exist, neither in files nor in memory (``none``).
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
        store.copies = None
        return SearchIndexes(store, indexes.words, None, None)

    return of


@pytest.mark.parametrize(
    ("scenario", "bare_index"),
    paired(SCENARIOS, ["lost", "unwritable", "none"]),
    indirect=["bare_index"],
    ids=named,
    scope="module",
)
def test_the_core_gives_the_same_without_a_read_model(bare_index: Index, forest: Index, scenario: Scenario):
    expected = [shown(passages) for passages in ask(forest, scenario)]
    folder = bare_index._store._folder  # type: ignore[attr-defined]
    if (place := folder.path / "leafspan.segments").is_dir():
        shutil.rmtree(place)  # also while the index is open
    assert [*map(shown, ask(bare_index, scenario))] == expected
    assert folder._opened is not None, "Chroma was not read"

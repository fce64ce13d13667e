"""A folder instead of a file of an index, and the other way round: the right answer, or an error that names it."""

from __future__ import annotations

import os
import re
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from leafspan import DamagedIndex, Document, Index, LeafspanError, StorageFailed
from leafspan.errors import StorageReadOnly
from tests.profiles import THOROUGH

COLOURS = ("blue", "green", "red")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an index with all files beside the database."""
    path = tmp_path_factory.mktemp("whole") / "kb"
    with Index.open(path) as index:
        index.add([Document(colour, f"This one is {colour}.") for colour in COLOURS])
        index.warm()
    return path


def copied(whole: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(whole, to)
    return to


def put_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "not-empty").touch()


def put_a_file(path: Path) -> None:
    shutil.rmtree(path)
    path.touch()


def read(path: Path) -> list[str]:
    with Index.open(path, create=False) as index:
        return sorted(passage.document_id for passage in index.retrieve("Which one is red?", k=9))


def only_read(path: Path) -> list[str]:
    with Index.open(path, read_only=True) as index:
        return sorted(passage.document_id for passage in index.retrieve("Which one is red?", k=9))


def rebuilt(use: Callable[[Path], list[str]], path: Path) -> list[str]:
    """The result of a use that rebuilds something. Who only reads gets an error."""
    if use is only_read:
        with pytest.raises(StorageReadOnly, match="this needs Chroma, which must write"):
            use(path)
        return list(COLOURS)
    return use(path)


def write(path: Path) -> list[str]:
    with Index.open(path) as index:
        index.add(Document("red", "This one is red, too."))
        return sorted(document.id for document in index.documents())


def repair(path: Path) -> list[str]:
    with Index.open(path) as index:
        index.repair(verify=True)
        return sorted(document.id for document in index.documents())


USES = [read, only_read, write, repair]


def of_this_use(places: list[Path], use: Callable[[Path], list[str]]) -> list[Path]:
    """The places to try with a use: all in a thorough run; otherwise two of four, so that two uses meet each place."""
    return [each for number, each in enumerate(places) if THOROUGH or (number - USES.index(use)) % 4 in (0, 1)]


@pytest.mark.parametrize("use", USES)
def test_with_a_folder_or_a_file_in_any_wrong_place_the_answer_is_right_or_the_error_is_leafspans(
    whole: Path, tmp_path: Path, use: Callable[[Path], list[str]]
):
    for each in of_this_use(sorted(whole.rglob("*")), use):
        path = copied(whole, tmp_path / "kb")
        (put_a_file if each.is_dir() else put_a_folder)(path / each.relative_to(whole))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # about rebuilding
            try:
                answer = use(path)
            except LeafspanError:
                continue
        assert sorted(answer) == list(COLOURS), each


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a FIFO")
@pytest.mark.parametrize("use", [read, only_read, write, repair])
def test_a_fifo_in_the_place_of_any_file_of_leafspan_or_beside_it_is_never_waited_for(
    whole: Path, tmp_path: Path, use: Callable[[Path], list[str]]
):
    files = [each.relative_to(whole) for each in sorted(whole.rglob("*")) if each.is_file()]
    own = [each for each in files if each.parts[0].startswith("leafspan")]
    segment = next(each for each in own if each.suffix == ".segment")
    for each in of_this_use([Path("chroma.sqlite3"), *own, segment.with_name("another.segment")], use):
        path = copied(whole, tmp_path / "kb")
        (path / each).unlink(missing_ok=True)
        os.mkfifo(path / each)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # about rebuilding
            try:
                answer = use(path)
            except LeafspanError:
                continue
        assert sorted(answer) == list(COLOURS), each


@pytest.mark.parametrize("use", [read, only_read, write, repair])
def test_a_folder_in_the_place_of_the_database_is_damage(whole: Path, tmp_path: Path, use: Callable[[Path], list[str]]):
    path = copied(whole, tmp_path / "kb")
    put_a_folder(path / "chroma.sqlite3")
    expected = f"{str(path / 'chroma.sqlite3')!r} must be an SQLite database, and is a folder: put the whole folder back"
    with pytest.raises(DamagedIndex, match=re.escape(expected)):
        use(path)


@pytest.mark.parametrize("use", [read, only_read])
def test_a_folder_in_the_place_of_the_counter_is_named(whole: Path, tmp_path: Path, use: Callable[[Path], list[str]]):
    path = copied(whole, tmp_path / "kb")
    put_a_folder(path / "leafspan.changes")
    with pytest.raises(
        StorageFailed, match=r"leafspan\.changes': it is a folder; move it away, since a file belongs there"
    ):
        use(path)


@pytest.mark.parametrize("use", [read, only_read, write])
def test_a_folder_in_the_place_of_the_rows_is_an_error_that_names_it(
    whole: Path, tmp_path: Path, use: Callable[[Path], list[str]]
):
    path = copied(whole, tmp_path / "kb")
    put_a_folder(path / "leafspan.sqlite3")
    with pytest.raises(StorageFailed, match=r"leafspan\.sqlite3"):
        use(path)


def segments(path: Path) -> list[Path]:
    return sorted(path.rglob("*.segment"))


@pytest.mark.parametrize("use", [read, only_read])
def test_a_folder_in_the_place_of_a_segment_is_reported_and_the_segment_rebuilt(
    whole: Path, tmp_path: Path, use: Callable[[Path], list[str]]
):
    path = copied(whole, tmp_path / "kb")
    segment = next(each for each in segments(path) if each.parent.name.startswith("vectors"))
    put_a_folder(segment)
    expected = f"{segment}: a folder, where a file belongs: move the folder away; leafspan rebuilds it"
    with pytest.warns(RuntimeWarning, match=re.escape(expected)) as told:
        assert rebuilt(use, path) == list(COLOURS)
    assert len(told) == 1


def test_doctor_says_that_a_folder_in_the_place_of_a_segment_is_to_be_moved_away(whole: Path, tmp_path: Path):
    path = copied(whole, tmp_path / "kb")
    segment = next(each for each in segments(path) if each.parent.name.startswith("words"))
    put_a_folder(segment)
    with Index.open(path) as index:
        (finding,) = index.repair(verify=True)
        assert finding.problem == f"{segment}: a folder, where a file belongs: move the folder away"
        assert not finding.repaired
        shutil.rmtree(segment)
        assert index.repair(verify=True) == []
    assert read(path) == list(COLOURS)


def test_an_empty_folder_in_the_place_of_a_segment_is_removed(whole: Path, tmp_path: Path):
    path = copied(whole, tmp_path / "kb")
    segment = next(each for each in segments(path) if each.parent.name.startswith("vectors"))
    segment.unlink()
    segment.mkdir()
    with pytest.warns(RuntimeWarning, match="leafspan rebuilds it"):
        assert read(path) == list(COLOURS)
    assert not segment.exists()
    assert read(path) == list(COLOURS)  # without a warning

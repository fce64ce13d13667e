"""Damaged files of an index: a right answer, an error or warning of leafspan's, or a repair, but no silent loss."""

from __future__ import annotations

import json
import random
import shutil
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from leafspan.engines.chroma import _chroma
from tests import warm
from tests.durability.damage_child import DOCUMENTS, build
from tests.profiles import quick
from tests.reading import distrust_chroma

_ROOT = Path(__file__).parents[2]
_SECONDS = 120

Damage = Callable[[Path, Path, random.Random], None]


def bit(path: Path, _: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def cut(path: Path, _: Path, rng: random.Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: rng.randrange(len(content))])


def zeroes(path: Path, _: Path, rng: random.Random) -> None:
    content = path.read_bytes()
    start = rng.randrange(len(content))
    length = rng.randint(1, len(content) - start)
    path.write_bytes(content[:start] + bytes(length) + content[start + length :])


def gone(path: Path, _: Path, __: random.Random) -> None:
    path.unlink()


def older(path: Path, old: Path, _: random.Random) -> None:
    shutil.copy(old, path) if old.exists() else path.unlink()


DAMAGES: dict[str, Damage] = {each.__name__: each for each in (bit, cut, zeroes, gone, older)}
FILES = ("header.bin", "data_level0.bin", "length.bin", "link_lists.bin", "index_metadata.pickle")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A whole index, and what it was when it had half of the documents."""
    place = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(_chroma._HNSW, "sync_threshold", 100)
        build(place / "kb", range(DOCUMENTS // 2))
        shutil.copytree(place / "kb", place / "old")
        build(place / "kb", range(DOCUMENTS // 2, DOCUMENTS))
    for each in (place / "kb", place / "old"):
        distrust_chroma(each)  # so that opening the index opens Chroma
    return place / "kb", place / "old"


def vectors(folder: Path) -> Path:
    """Where Chroma keeps the leaves' vectors."""
    (ids,) = folder.glob("*/index_metadata.pickle")
    return ids.parent


def meet(folder: Path) -> dict[str, dict[str, Any]]:
    """What another process meets; that it neither crashed nor hung."""
    command = [sys.executable, "-m", "tests.durability.damage_child", str(folder)]
    done = warm.run(command, check=False, cwd=_ROOT, capture_output=True, text=True, timeout=_SECONDS)
    assert done.returncode == 0, f"the process ended with {done.returncode}: {done.stderr[-2000:]}"
    met: dict[str, dict[str, Any]] = {}
    for line in done.stdout.splitlines():
        met |= json.loads(line)
    return met


def check(met: dict[str, Any]) -> None:
    """Nothing is wrong, no error is from another library, and an error or warning names what is missing."""
    assert met["wrong"] == []
    assert met["raw"] == []
    assert met["missing"] == [] or met["told"]


def is_right(met: dict[str, Any]) -> bool:
    return not any(met[kind] for kind in ("wrong", "missing", "told", "raw"))


@pytest.mark.parametrize(
    ("name", "kind"),
    quick(
        1,
        [
            ("data_level0.bin", "bit"),
            ("link_lists.bin", "zeroes"),
            ("header.bin", "cut"),
            ("index_metadata.pickle", "gone"),
        ],
    ),
)
def test_damaged_vectors_are_rebuilt_with_a_warning(
    tmp_path: Path, folders: tuple[Path, Path], name: str, kind: str
) -> None:
    place = shutil.copytree(folders[0], tmp_path / "kb")
    file = vectors(place) / name
    whole = file.read_bytes()
    while file.exists() and file.read_bytes() == whole:  # the bytes there may be zeroes already
        DAMAGES[kind](file, vectors(folders[1]) / name, random.Random(3))
    met = meet(place)
    assert met["first"]["missing"] == met["first"]["wrong"] == met["first"]["raw"] == []
    (told,) = met["first"]["told"]
    assert told.startswith(f"Chroma's vectors of 'kb.leaves' in '{place}' were damaged ({name}): leafspan deleted them")
    assert met["repaired"]["findings"] == []
    assert is_right(met["last"])


@pytest.mark.parametrize("kind", quick(1, ["bit", "gone"]))
def test_damaged_vectors_change_no_answer_before_chroma_opens_them(
    tmp_path: Path, folders: tuple[Path, Path], kind: str
) -> None:
    place = shutil.copytree(folders[0], tmp_path / "kb")
    assert is_right(meet(place)["first"])  # the catalogue is written now
    file = vectors(place) / "data_level0.bin"
    DAMAGES[kind](file, file, random.Random(3))
    met = meet(place)
    assert is_right(met["first"])
    (told,) = met["repaired"]["told"]  # by doctor, which opens Chroma
    assert "the next writer writes them again" in told
    assert met["repaired"]["findings"] == []
    assert is_right(met["last"])


@pytest.mark.slow
def test_an_older_file_of_ids_changes_no_answer_and_a_doctor_finds_the_missing_vectors(
    tmp_path: Path, folders: tuple[Path, Path]
) -> None:
    place = shutil.copytree(folders[0], tmp_path / "kb")
    older(vectors(place) / "index_metadata.pickle", vectors(folders[1]) / "index_metadata.pickle", random.Random())
    met = meet(place)
    assert is_right(met["first"])  # another program may have written the file so
    assert any("leaves had no vector" in each for each in met["repaired"]["findings"])
    assert is_right(met["last"])


@pytest.mark.parametrize("with_mirror", quick(1, [False, True]))
def test_missing_vectors_are_rebuilt(tmp_path: Path, folders: tuple[Path, Path], with_mirror: bool) -> None:
    place = shutil.copytree(folders[0], tmp_path / "kb")
    shutil.rmtree(vectors(place))
    shutil.rmtree(place / "leafspan.vectors")
    if not with_mirror:
        shutil.rmtree(place / "leafspan.segments")
    met = meet(place)
    assert met["first"]["missing"] == met["first"]["wrong"] == met["first"]["raw"] == []
    (told,) = met["first"]["told"]
    assert "leafspan deleted them, and the next writer writes them again" in told
    assert met["repaired"]["findings"] == []
    assert is_right(met["last"])


@pytest.mark.parametrize("kind", quick(1, ["cut", "gone", "cut to nothing"]))
def test_a_database_that_is_missing_or_cut_off_is_an_error(tmp_path: Path, folders: tuple[Path, Path], kind: str) -> None:
    place = shutil.copytree(folders[0], tmp_path / "kb")
    file = place / "chroma.sqlite3"
    content = file.read_bytes()
    file.unlink()
    if kind != "gone":
        file.write_bytes(content[: len(content) // 2] if kind == "cut" else b"")
    met = meet(place)
    said = {"gone": "is missing, though", "cut to nothing": "is empty, though", "cut": "bytes, and has"}[kind]
    for told in (met["first"]["told"], met["last"]["told"]):
        assert len(told) == 1
        assert told[0].startswith("DamagedIndex: ")
        assert said in told[0]
    assert (file.exists() and file.stat().st_size > 0) == (kind == "cut")  # no new index was made there


@pytest.mark.slow
def test_a_database_older_than_what_lies_beside_it_is_an_error(tmp_path: Path, folders: tuple[Path, Path]) -> None:
    place = shutil.copytree(folders[0], tmp_path / "kb")
    shutil.copy(folders[1] / "chroma.sqlite3", place / "chroma.sqlite3")
    (told,) = meet(place)["first"]["told"]
    assert told.startswith("DamagedIndex: ")
    assert "is older than the files beside it" in told
    (place / "leafspan.changes").unlink()  # as the error says
    met = meet(place)
    check(met["first"])
    assert is_right(met["last"])  # the documents that were missing have been added


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *product(
            [*FILES, "chroma.sqlite3", "leafspan.changes", "leafspan.lock", "leafspan.files", "record", "mirror"], DAMAGES
        )
    ][::2],
)
def test_each_file_with_some_damages_gives_a_right_answer_or_says_so(
    tmp_path: Path, folders: tuple[Path, Path], name: str, kind: str
) -> None:
    rng = random.Random(f"{name} {kind}")
    place = shutil.copytree(folders[0], tmp_path / "kb")
    if name in FILES:
        file = vectors(place) / name
    elif name == "record":
        (file,) = (place / "leafspan.vectors").glob("*.json")
    elif name == "mirror":
        file = rng.choice(sorted((place / "leafspan.segments").glob("*/*/*")))
    else:
        file = place / name
    if not file.exists() or (kind in ("bit", "cut", "zeroes") and not file.stat().st_size):
        return
    DAMAGES[kind](file, folders[1] / file.relative_to(place), rng)
    met = meet(place)
    check(met["first"])
    check(met["last"])
    if name != "chroma.sqlite3":
        assert is_right(met["last"])


@pytest.mark.slow
def test_vectors_and_their_record_that_are_both_older_than_the_database_are_rebuilt(
    tmp_path: Path, folders: tuple[Path, Path]
) -> None:
    place = shutil.copytree(folders[0], tmp_path / "kb")
    for name in (vectors(place).name, "leafspan.vectors"):
        shutil.rmtree(place / name)
        shutil.copytree(folders[1] / name, place / name)
    met = meet(place)
    check(met["first"])
    assert any("older than the database" in told for told in met["first"]["told"])
    assert met["first"]["missing"] == []
    assert is_right(met["last"])

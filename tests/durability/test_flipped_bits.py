"""A flipped bit in any file of an index gives right answers or a clear error, never a wrong passage or a crash."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leafspan import Index
from tests import warm
from tests.durability.flip_child import answers, build, forked
from tests.durability.versions import EMBEDDER
from tests.profiles import quick

_ROOT = Path(__file__).parents[2]
DATABASE = "chroma.sqlite3"
RECORDS = (DATABASE, "leafspan.sqlite3")  # of leaves and of documents: nothing else has all that is in them
PAGE = 4096
Flip = tuple[str, int, int, bool]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """An index, and what it answers."""
    place = tmp_path_factory.mktemp("whole") / "kb"
    build(place)
    with Index.open(place, embedder=EMBEDDER) as index:
        expected = json.loads(json.dumps(answers(index)))
    assert not any(isinstance(each, dict) for each in expected.values())
    return place, expected


def files(folder: Path) -> dict[str, int]:
    """All files that have a bit to flip, and their lengths."""
    found = {str(path.relative_to(folder)): path.stat().st_size for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: size for name, size in found.items() if size}


def outcomes(whole: Path, place: Path, flips: list[Flip]) -> Iterator[dict[str, Any]]:
    """What each flip has led to."""
    job = json.dumps({"place": str(place), "flips": flips})
    command = [sys.executable, "-W", "ignore", "-m", "tests.durability.flip_child", str(whole), job]
    with warm.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield from map(json.loads, process.stdout)
    assert process.returncode == 0


def problems(outcome: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """What is not as it should be after a flip."""
    if outcome["code"] != 0:
        return [f"the process ended with {outcome['code']}"]
    # Vectors that Chroma has in its database have no checksum. With another one, other passages are found.
    in_vectors = outcome["flip"][0] == DATABASE and outcome["flip"][3]
    found = []
    for when in ("first", "last"):
        for name, answer in outcome[when].items():
            if isinstance(answer, dict):
                if "raw" in answer or (when == "last" and outcome["flip"][0] not in RECORDS):
                    found.append(f"{when} {name}: {answer}")
            elif answer != expected[name] and not (in_vectors and isinstance(answer, list)):
                found.append(f"{when} {name}: {answer}, not {expected[name]}")
    return found


def check(whole: tuple[Path, dict[str, Any]], place: Path, flips: list[Flip]) -> None:
    wrong = {}
    done = 0
    for outcome in outcomes(whole[0], place, flips):
        done += 1
        if found := problems(outcome, whole[1]):
            wrong[str(outcome["flip"])] = found[:3]
    assert wrong == {}
    assert done == len(flips)


def modes(name: str) -> tuple[bool, ...]:
    """Whether the copies are removed before, so that Chroma is read: there a flip in a copy makes no difference."""
    return (False,) if name.startswith("leafspan.segments") else (False, True)


@pytest.mark.parametrize("number", quick(2, range(4)))
def test_a_bit_in_some_files_changes_no_answer(tmp_path: Path, whole: tuple[Path, dict[str, Any]], number: int):
    rng = random.Random(5)
    sizes = files(whole[0])
    some = [DATABASE, *rng.sample(sorted(sizes.keys() - {DATABASE}), 3)]
    flips = [(name, rng.randrange(sizes[name]), rng.randrange(8), rng.choice(modes(name))) for name in some]
    check(whole, tmp_path, flips[number : number + 1])


@pytest.mark.slow
@pytest.mark.parametrize("part", ["leafspan.segments", "leafspan", "vectors", DATABASE])
def test_a_bit_at_the_head_and_anywhere_in_each_file_changes_no_answer(
    tmp_path: Path, whole: tuple[Path, dict[str, Any]], part: str
):
    flips: list[Flip] = []
    for name, size in files(whole[0]).items():
        kind = name.split("/")[0]
        if part != (kind if kind in ("leafspan.segments", DATABASE) else "leafspan" if "leafspan" in kind else "vectors"):
            continue
        rng = random.Random(name)
        if name == DATABASE:  # the head of the file, and somewhere in each eighth page
            places = [*range(0, 100, 30), *(start + rng.randrange(PAGE) for start in range(0, size, 8 * PAGE))]
        else:
            places = sorted({rng.randrange(min(size, 64)), rng.randrange(size)})
        flips += [(name, place, rng.randrange(8), bare) for place in places for bare in modes(name)]
    check(whole, tmp_path, flips)


def test_a_process_that_crashes_is_an_outcome():
    met = forked(lambda: os.kill(os.getpid(), signal.SIGKILL))
    assert met == {"code": -signal.SIGKILL}

"""A full disk gives an error without a hang. With new space, work continues and nothing is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import warm

_ROOT = Path(__file__).parents[2]
_SECONDS = 100

_SCRIPT = """
import json, os, sys, time
from leafspan import Document, HierarchicalSplitter, Index, LeafspanError, Vector
from leafspan.errors import StorageFull
from leafspan.engines.chroma import _chroma

_chroma._HNSW["sync_threshold"] = 500
folder, fill = sys.argv[1:]
TIMEOUT = 2.0

def documents(batch):
    return [
        Document(f"{batch}-{j}", " ".join(f"Sentence {n} of document {j} in batch {batch}." for n in range(20)))
        for j in range(30)
    ]

index = Index.open(folder, timeout=TIMEOUT, splitter=HierarchicalSplitter(leaf_words=8, parent_words=(16,)))
stored, errors = [], []

def attempt(call):
    started = time.monotonic()
    try:
        call()
        return True
    except StorageFull as error:
        errors.append(str(error))
        return False
    finally:
        assert time.monotonic() - started < 20, "too late"

for batch in range(40):
    if not attempt(lambda: index.add(documents(batch), progress=False)):
        break
    stored.append(batch)
for _ in range(2):
    attempt(lambda: index.add(documents(batch), progress=False))
    attempt(index.count)
    attempt(lambda: index.retrieve("sentence", Vector()))
    attempt(lambda: index.delete(["0-0"]))
    attempt(lambda: Index.open(folder, timeout=TIMEOUT).count())
os.remove(fill)
assert index.add([*documents(batch), *documents("last"), *documents(0)], progress=False)
wanted = {each.id: each.text for b in [*stored, batch, "last"] for each in documents(b)}
assert {each.id for each in index.documents()} == set(wanted)
assert all(index.get(id_).text == text for id_, text in wanted.items())
assert all(each.repaired for each in index.repair())  # vectors that Chroma could not write are rebuilt
assert index.repair() == []
leaves = len(index.leaves())
found = len(index.retrieve("sentence", Vector(), k=10_000, candidates=10_000))
print(json.dumps({"stored": len(stored), "errors": errors, "leaves": leaves, "found": found}), flush=True)
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 40 MB. Nobody but root can mount one."""
    place = tmp_path / "small"
    place.mkdir()
    try:
        command = ["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(place)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("nothing can be mounted here")
        yield place
    except OSError:
        pytest.skip("nothing can be mounted here")
    finally:
        subprocess.run(["umount", "-l", str(place)], capture_output=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("left", [6.0, 7.5, 9.0, 11.0])
def test_on_a_full_disk_errors_say_so_and_nothing_hangs_or_is_lost(small_disk: Path, left: float) -> None:
    fill = small_disk / "fill"
    fill.write_bytes(bytes(int((40 - left) * 2**20)))
    command = [sys.executable, "-W", "ignore", "-c", _SCRIPT, str(small_disk / "kb"), str(fill)]
    done = warm.run(command, check=False, cwd=_ROOT, capture_output=True, text=True, timeout=_SECONDS)
    assert done.returncode == 0, done.stderr[-3000:]
    met = json.loads(done.stdout)
    assert met["stored"] >= 1
    assert met["errors"]
    assert all("make space on that disk" in each or "the disk is full" in each for each in met["errors"])
    assert met["found"] == met["leaves"] > 600

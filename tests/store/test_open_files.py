"""A process at its limit of open files gets an error about the limit, and no data count as lost or damaged."""

from __future__ import annotations

import errno
import json
import re
import sys
import warnings
from pathlib import Path

import pytest

from leafspan import Document, Index
from leafspan.engines.local._disk import too_many_files
from tests import warm
from tests.durability.versions import EMBEDDER
from tests.profiles import THOROUGH, quick

pytest.importorskip("resource", reason="this system has no limit that could be set")

DOCUMENTS = [Document(f"d{number}", f"Bees make honey in hive {number}.") for number in range(5)]

# Leaves a growing number of descriptors free, and uses the index with them. Prints the outcome of each try.
TRIES = """
import json, os, resource, sys, warnings
from leafspan import Document, Index, LeafspanError
from tests.durability.versions import EMBEDDER

path, writing, most = sys.argv[1], sys.argv[2] == "write", int(sys.argv[3])
with Index.open(path, embedder=EMBEDDER) as index:  # so that all modules are loaded
    index.retrieve("honey")
resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
for free in range(0, most, int(sys.argv[4])):
    held = []
    try:
        while True:
            held.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        pass
    for descriptor in held[:free]:
        os.close(descriptor)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            with Index.open(path, embedder=EMBEDDER) as index:
                if writing:
                    index.add(Document("d0", "Bees make honey in hive 0.", metadata={"try": free}))
                outcome = ["found", str(len(index.retrieve("honey", k=9)))]
        except LeafspanError as error:
            outcome = [type(error).__name__, str(error)]
        except BaseException as error:
            outcome = ["not leafspan's", repr(error)]
    for descriptor in held[free:]:
        os.close(descriptor)
    print(json.dumps([*outcome, [str(each.message) for each in warned]]), flush=True)
"""


def tries(path: Path, use: str, most: int) -> list[tuple[str, str, list[str]]]:
    """The outcomes of using an index with 0, 1, 2 and more files that can be opened, and their warnings."""
    root = Path(__file__).parents[2]
    done = warm.run(
        [sys.executable, "-c", TRIES, str(path), use, str(most), "1" if THOROUGH else "3"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(("use", "most"), quick(1, [("read", 24), ("write", 60)]))
def test_too_many_open_files_are_an_error_about_the_limit_and_nothing_counts_as_damaged(
    tmp_path: Path, use: str, most: int
):
    with Index.open(tmp_path / "kb", embedder=EMBEDDER) as index:
        index.add(DOCUMENTS)
        index.warm()
    found = tries(tmp_path / "kb", use, most)
    assert found[-1][:2] == ("found", "5")
    assert {kind for kind, _, _ in found} == {"StorageFailed", "found"}
    for kind, said, warned in found:
        if kind == "StorageFailed":
            assert "this process has as many files open as it may have (256); raise the limit (`ulimit -n`), or" in said
        else:
            assert said == "5"
        assert not [each for each in warned if re.search("damaged|rebuilds|lost|deleted", each)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Index.open(tmp_path / "kb", embedder=EMBEDDER) as index:  # what was written is whole
            assert len(index.retrieve("honey", k=9)) == 5
            assert not index.repair()


def test_a_limit_of_the_whole_system_is_distinguished():
    error = too_many_files(OSError(errno.ENFILE, "Too many open files in system"), "read 'a'")
    assert str(error) == "cannot read 'a': the system has as many files open as it may have; close some, and try again"
    assert too_many_files(OSError(errno.ENOENT, "No such file or directory"), "read 'a'") is None

"""A day of edits to a folder that is watched: does the index equal one synced at the end, and how late is a change?

    python benchmarks/watching.py [--files 5000] [--edits 2000] [--seconds 300]

One process watches the folder. Another one edits it as people and programs do: saves in place and through temporary files,
half-written files, renames, moves, deletions, folders that are renamed, and bursts of a hundred files, with pauses.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from shuffled import shuffled_texts

from leafspan import Index

SETTLED = 10.0  # seconds after the last edit
SENTENCES = 900  # characters of a file


class _Editor:
    """Edits the files of a folder."""

    def __init__(self, folder: Path, files: int, chance: random.Random) -> None:
        self.folder, self.chance = folder, chance
        self.texts = [text[:SENTENCES] for text in shuffled_texts(200, chance)]
        self.written = 0
        self.saved: dict[str, float] = {}  # when a text was written, by its mark
        for number in range(files):
            path = folder / f"{number % 20}" / f"{number}.md"
            path.parent.mkdir(exist_ok=True)
            path.write_text(self.text())

    def text(self) -> str:
        self.written += 1
        return f"# Paper {self.written}\n\nmark{self.written}x {self.chance.choice(self.texts)}\n"

    def any_file(self) -> Path:
        folders = [each for each in self.folder.iterdir() if each.is_dir()]
        while True:
            if files := list(self.chance.choice(folders).glob("*.md")):
                return self.chance.choice(files)

    def edit(self) -> None:
        kinds = (
            self.save_in_place,
            self.save_by_a_new_file,
            self.save_slowly,
            self.rename,
            self.move,
            self.delete,
            self.add,
        )
        self.chance.choices((*kinds, self.burst, self.rename_folder), (6, 6, 1, 2, 2, 2, 4, 0.1, 0.2))[0]()

    def note(self, text: str) -> None:
        self.saved[_mark(text)] = time.time()

    def save_in_place(self) -> None:
        text = self.text()
        self.any_file().write_text(text)
        self.note(text)

    def save_by_a_new_file(self) -> None:
        path, text = self.any_file(), self.text()
        beside = path.with_name(f".{path.name}.swp")
        beside.write_text(text)
        path.rename(path.with_name(f"{path.name}~"))
        beside.rename(path)
        path.with_name(f"{path.name}~").unlink()
        self.note(text)

    def save_slowly(self) -> None:
        text = self.text()
        with self.any_file().open("w") as file:
            for start in range(0, len(text), 200):
                file.write(text[start : start + 200])
                file.flush()
                time.sleep(0.15)
        self.note(text)

    def rename(self) -> None:
        path = self.any_file()
        path.rename(path.with_name(f"{self.chance.randrange(10**9)}.md"))

    def move(self) -> None:
        path = self.any_file()
        target = self.any_file().parent / f"moved {self.chance.randrange(10**9)}.md"
        path.rename(target)

    def delete(self) -> None:
        self.any_file().unlink()

    def add(self) -> None:
        path, text = self.any_file().parent / f"new {self.chance.randrange(10**9)}.md", self.text()
        path.write_text(text)
        self.note(text)

    def burst(self) -> None:
        for _ in range(100):
            self.save_in_place()

    def rename_folder(self) -> None:
        folder = self.any_file().parent
        folder.rename(folder.with_name(f"folder {self.chance.randrange(10**9)}"))


def _mark(text: str) -> str:
    """The number that tells each written text apart."""
    return text.partition("mark")[2].partition("x")[0]


def watch(folder: str, source: str) -> None:
    """Watch, and print after each sync the marks of what it wrote, and when."""
    stopped = False

    def stop(*_: Any) -> None:
        nonlocal stopped
        stopped = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    with Index.open(folder) as index:
        try:
            for synced in index.watch(source, progress=False):
                changed = (*synced.added, *synced.replaced)
                marks = [] if len(changed) > 1_000 else [_mark(index.get(id_).text) for id_ in changed]
                print(json.dumps([time.time(), marks]), flush=True)
        except KeyboardInterrupt:
            assert stopped


def contents(index: Index) -> dict[str, Any]:
    """What the index has of each document."""
    texts = {each.id: each for each in index.documents()}
    leaves: dict[str, list[Any]] = {id_: [] for id_ in texts}
    for each in index.leaves():
        leaves[each.document_id].append((each.id, each.text, each.lines))
    return {id_: (each.title, dict(each.metadata), leaves[id_]) for id_, each in texts.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=5_000)
    parser.add_argument("--edits", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=300.0, help="time for all edits")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--watch", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.watch:
        watch(*arguments.watch)
        return 0
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / "docs"
        source.mkdir()
        editor = _Editor(source, arguments.files, chance)
        with (Path(place) / "log").open("w") as log:
            command = [sys.executable, __file__, "--watch", str(Path(place) / "kb"), str(source)]
            watching = subprocess.Popen(command, stdout=log)
            while not (Path(place) / "log").read_text():
                time.sleep(0.1)
            editor.saved.clear()
            for _ in range(arguments.edits):
                editor.edit()
                time.sleep(chance.expovariate(arguments.edits / arguments.seconds))
            time.sleep(SETTLED)
            watching.terminate()
            code = watching.wait()
        lines = [json.loads(line) for line in (Path(place) / "log").read_text().splitlines()]
        # A file that is renamed later is added again.
        late = [when - editor.saved.pop(mark) for when, marks in lines for mark in marks if mark in editor.saved]
        with Index.open(Path(place) / "kb") as index, Index.open(Path(place) / "fresh" / "kb") as fresh:
            shutil.copytree(source, Path(place) / "fresh" / "docs", dirs_exist_ok=True)
            fresh.sync(Path(place) / "fresh" / "docs", progress=False)
            equal = contents(index) == contents(fresh)
            remaining = index.sync(source, dry_run=True, progress=False)
            rest = len(remaining.added) + len(remaining.replaced) + len(remaining.deleted)
            print(f"{arguments.edits:,} edits, {len(lines):,} syncs, {index.count():,} documents; exit code {code}")
            print(f"equal to an index that was synced at the end: {equal}; a sync would change {rest} documents")
            tenths = statistics.quantiles(late, n=20)
            print(
                f"seconds from a save to the index: median {statistics.median(late):.1f}, 95th percentile {tenths[-1]:.1f}"
            )
            print(f"check finds {index.check()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""How long a sync takes whose files are read in a process with limits, beside one whose files are read in the same process.

    python benchmarks/reading.py [--small 10000] [--mixed 2000] [--folder FOLDER] [--rounds 3] [--json FILE]

Small Markdown, small HTML, and files of all kinds from a folder (see files.py), or else from this Python's packages.
Each turn syncs all files into a new index, with a new process. A figure is the median of the ratios of the rounds,
for elapsed time and for the processor time of all processes. Ends with 1 if 10,000 small files take over 10 % longer.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from statistics import median

from results import Figure, add_json_option, all_passed, write_results

from leafspan import Files, Index
from leafspan.files import SUFFIXES, _reader_process
from leafspan.files._pages import PICTURES

_LARGEST = 1_000_000  # bytes
_OF_A_KIND = 200
_KINDS = {*SUFFIXES} - {*PICTURES}  # recognising text takes seconds a page


def main() -> int:
    parser = argparse.ArgumentParser(description="How long a sync takes with a process that reads files, and without.")
    parser.add_argument("--small", type=int, default=10_000)
    parser.add_argument("--mixed", type=int, default=2_000)
    parser.add_argument("--folder", type=Path, help="real files of all kinds")
    parser.add_argument("--rounds", type=int, default=3)
    add_json_option(parser)
    arguments = parser.parse_args()
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for suffix, text in ((".md", "# Page {0}\n\nBee {0} dances.\n"), (".html", "<h1>Page {0}</h1><p>Bee {0} dances.")):
            for number in range(arguments.small):
                page = root / suffix / f"{number // 100:03}" / f"page{number}{suffix}"
                page.parent.mkdir(parents=True, exist_ok=True)
                page.write_text(text.format(number))
        copy_real(root / "mixed", arguments.mixed, [arguments.folder] if arguments.folder else [*map(Path, sys.path)])
        taken(root / ".html" / "000", here=True)  # the first sync loads the embedder
        for part in (".md", ".html", "mixed"):
            turns = [(taken(root / part, here=False), taken(root / part, here=True)) for _ in range(arguments.rounds)]
            for name, at in (("elapsed", 0), ("processor", 1)):
                ratio = median(one[at] / other[at] for one, other in turns)
                bound = 1.1 if part == ".md" or (name == "elapsed" and part == ".html") else None
                figures.append(Figure(f"{name} time beside reading here", ratio, "<=" if bound else None, bound, part=part))
                figures.append(Figure(f"{name} seconds", median(one[at] for one, _ in turns), part=part))
    for figure in figures:
        print(f"{figure.value:8.2f}  {figure.part}: {figure.name}")
    write_results("reading", arguments, figures)
    return int(not all_passed(figures))


def copy_real(target: Path, most: int, folders: list[Path]) -> None:
    """Copy files of all kinds, as evenly as there are."""
    target.mkdir()
    found: dict[str, list[Path]] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.*")) if folder.is_dir() else ():
            kind = path.suffix.lower()
            if (
                kind in SUFFIXES
                and kind not in PICTURES
                and len(found.setdefault(kind, [])) < _OF_A_KIND
                and path.stat().st_size < _LARGEST
            ):
                found[kind].append(path)
    number = 0
    turns = (path for paths in zip_evenly(list(found.values())) for path in paths)
    for number, path in enumerate(islice(turns, most), start=1):
        shutil.copyfile(path, target / f"{number}{path.suffix}")
    kinds = ", ".join(f"{len(paths)} {kind}" for kind, paths in sorted(found.items()))
    print(f"{number} files of these: {kinds}")


def zip_evenly(groups: list[list[Path]]) -> list[list[Path]]:
    """The first of each group, then the second of each, and so on."""
    return [[group[at] for group in groups if at < len(group)] for at in range(max(map(len, groups), default=0))]


def taken(docs: Path, *, here: bool) -> tuple[float, float]:
    """The elapsed time and the processor time of a sync into a new index."""
    _reader_process._end_all()
    _reader_process._is_refused = here
    with tempfile.TemporaryDirectory() as folder, Index.open(Path(folder) / "kb", embedding_cache=False) as index:
        elapsed, before = time.perf_counter(), processor()
        index.sync(Files(docs), progress=False)
        elapsed = time.perf_counter() - elapsed
        _reader_process._end_all()  # so that its processor time counts
        return elapsed, processor() - before


def processor() -> float:
    """The processor time of this process and of those that have ended."""
    return sum(used.ru_utime + used.ru_stime for used in map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN)))


if __name__ == "__main__":
    sys.exit(main())

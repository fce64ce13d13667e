"""How long a sync takes if no file has changed: with the memory of the last sync, and with all files read again.

    python benchmarks/syncing.py [--files 10000] [--rounds 5] [--json FILE]

The share of processor time is the median of turns in one run. Ends with 0 if it is at most 0.5.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from results import Figure, add_json_option, all_passed, write_results

from leafspan import Files, Index

_LONG_AGO = 1_600_000_000  # seconds; a file that was just written is read again


def main() -> int:
    parser = argparse.ArgumentParser(description="How long a sync takes if no file has changed.")
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    add_json_option(parser)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        docs = Path(folder) / "docs"
        for number in range(arguments.files):
            page = docs / f"{number // 100:03}" / f"page{number}.md"
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(
                f"# Page {number}\n\nBee {number} dances on hill {number * 7 % 1_000}.\n\n## More\n\nAnd hums.\n"
            )
            os.utime(page, (_LONG_AGO, _LONG_AGO))
        with Index.open(Path(folder) / "kb") as index:
            index.sync(docs, progress=False)
            time.sleep(2.1)  # sync remembers no file whose inode has changed within two seconds
            index.sync(docs, progress=False)
            turns = [(taken(index, Files(docs)), taken(index, Files(docs, checksum=True))) for _ in range(arguments.rounds)]
    figures = [
        Figure("remembered, beside reading all", median(one / other for one, other in turns), "<=", 0.5),
        Figure("remembered: seconds for 10,000 files", median(one for one, _ in turns) * 10_000 / arguments.files),
    ]
    for figure in figures:
        print(f"{figure.value:8.2f}  {figure.name}")
    write_results("syncing", arguments, figures)
    return int(not all_passed(figures))


def taken(index: Index, files: Files) -> float:
    """The processor time of a sync, in seconds."""
    start = time.process_time()
    synced = index.sync(files, progress=False)
    assert synced.unchanged
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(main())

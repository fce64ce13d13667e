"""Which parts of an index take how much disk space.

    python benchmarks/space.py FOLDER [--json FILE]

The benchmark adds the texts of a folder to a new index, and prints the bytes of each part of the index for one byte of
text: the segments, which answer questions; the tables of Chroma's database; and Chroma's own vector index. Ends with 0.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from results import Figure, add_json_option, write_results

from leafspan import Index

# The purpose of each table in Chroma's database, with its indexes. The rest are "other tables".
TABLES = {
    "embedding_fulltext_search": "Chroma: its full-text index, which no question of leafspan asks",
    "embedding_metadata": "Chroma: texts, places and metadata of leaves, and rows",
    "embeddings_queue": "Chroma: what its vector index has not taken in yet",
    "embeddings": "Chroma: ids of leaves",
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Where the bytes of an index go.")
    parser.add_argument("folder", type=Path, help="a folder of texts")
    add_json_option(parser)
    arguments = parser.parse_args()
    if not arguments.folder.is_dir():
        print(f"there is no folder {arguments.folder}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "kb"
        with Index.open(home) as index:
            index.add(arguments.folder)
            stats = index.stats()
            texts = sum(len(index.get(each.id).text.encode()) for each in index.documents())
        parts = Counter[str]()
        for path in home.rglob("*"):
            if path.is_file():
                parts.update(dict(parts_of(path, home)))
    print(f"{stats.documents:,} documents, {stats.leaves:,} leaves, {texts / 1e6:.1f} MB of text; in bytes a byte of text:")
    figures = [Figure(name, size / texts) for name, size in parts.most_common()]
    figures.append(Figure("all", parts.total() / texts))
    for figure in figures:
        print(f"{figure.value:8.2f}  {figure.name}")
    write_results("space", arguments, figures)
    return 0


def parts_of(path: Path, home: Path) -> Iterator[tuple[str, int]]:
    """The contents and size of a file of an index."""
    names = path.relative_to(home).parts
    if names[0] == "leafspan.segments":
        yield f"segments: {names[2].partition('-')[0]}", path.stat().st_size
    elif path.name == "chroma.sqlite3":
        yield from tables_of(path)
    elif path.name == "leafspan.sqlite3":
        yield "rows of documents", path.stat().st_size
    elif len(names) > 1:
        yield "Chroma: its own vector index, which no question of leafspan asks in a folder", path.stat().st_size
    else:
        yield "other files", path.stat().st_size


def tables_of(path: Path) -> list[tuple[str, int]]:
    """The bytes of the tables of a database, with their indexes."""
    database = sqlite3.connect(path)
    sizes = database.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name").fetchall()
    owners = dict(database.execute("SELECT name, tbl_name FROM sqlite_master WHERE type = 'index'").fetchall())
    database.close()
    parts = Counter[str]()
    for name, size in sizes:
        table = owners.get(name, name)
        parts[next((said for start, said in TABLES.items() if table.startswith(start)), "Chroma: other tables")] += size
    return list(parts.items())


if __name__ == "__main__":
    sys.exit(main())

"""Measures the size of the code and of the pages.

    python tools/size.py

The core is shared/leafspan without lab, sources and private, which are modules of their own that the core never imports.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORE = ROOT / "shared" / "leafspan"
APART = [CORE / name for name in ("lab", "sources", "private")]
STORAGE = [CORE / name for name in ("store", "engines", "segments")]
ADAPTERS = [ROOT / "langchain_ext", ROOT / "llamaindex_ext"]


def modules(*folders: Path) -> list[Path]:
    """The Python files in these folders."""
    return [path for folder in folders for path in sorted(folder.rglob("*.py"))]


def lines(paths: Sequence[Path]) -> int:
    """All lines of these files."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def size(path: Path) -> int:
    """The size of a file in bytes."""
    return path.stat().st_size


def rooms() -> list[Path]:
    """The folders of the core that are packages."""
    return sorted(folder for folder in CORE.iterdir() if (folder / "__init__.py").exists() and folder not in APART)


def sizes() -> Iterator[tuple[str, int]]:
    """The name of each size that the ratchet holds, and its value."""
    core = sorted({*modules(CORE)} - {*modules(*APART)})
    yield "lines of the core", lines(core)
    yield "lines of store, engines and segments", lines(modules(*STORAGE))
    yield "lines of both adapters", lines(modules(*ADAPTERS))
    yield "files of the core", len(core)
    yield "rooms of the core", len(rooms())
    sys.path.insert(0, str(CORE.parent))
    import leafspan

    yield "names in leafspan.__all__", len(leafspan.__all__)
    yield "bytes of README.md", size(ROOT / "README.md")
    yield "bytes of ARCHITECTURE.md", size(ROOT / "ARCHITECTURE.md")
    yield "bytes of docs", sum(size(path) for path in (ROOT / "docs").rglob("*.md"))


if __name__ == "__main__":
    for name, value in sizes():
        print(f"{name:<38}{value:>8,}")
    for folder in [*APART, ROOT / "tests", *rooms()]:
        print(f"  {folder.name:<20}{len(modules(folder)):>4} files{lines(modules(folder)):>8,} lines")

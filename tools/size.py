"""Measures the size of the code: lines, rooms and public names, and compares it with the limits in CONTRIBUTING.md.

python tools/size.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORE = ROOT / "shared" / "leafspan"
APART = ("lab", "sources", "private")  # separate public modules, which the core does not import


def lines(*folders: Path) -> int:
    """All lines of the Python files in these folders."""
    return sum(len(path.read_text().splitlines()) for folder in folders for path in folder.rglob("*.py"))


def rooms() -> list[Path]:
    """The folders of the core that are packages."""
    return sorted(folder for folder in CORE.iterdir() if (folder / "__init__.py").exists())


def figures() -> Iterator[tuple[str, int, int | None]]:
    """Each measurement, its value, and its limit."""
    apart = [CORE / name for name in APART]
    yield "lines of the core", lines(CORE) - lines(*apart), 41_000
    for folder in apart:
        yield f"lines of {folder.name}", lines(folder), None
    yield "lines of both adapters", lines(ROOT / "langchain_ext", ROOT / "llamaindex_ext"), 3_000
    yield "rooms of the core", len(rooms()) - len(apart), 24
    sys.path.insert(0, str(CORE.parent))
    import leafspan

    yield "names in leafspan.__all__", len(leafspan.__all__), 60
    yield "lines of the tests", lines(ROOT / "tests"), None
    yield "bytes of ARCHITECTURE.md", (ROOT / "ARCHITECTURE.md").stat().st_size, 20_000
    for folder in rooms():
        if folder not in apart:
            yield f"  {folder.name}", lines(folder), None


if __name__ == "__main__":
    for what, count, most in figures():
        bound = "" if most is None else f"  at most {most:,}" + ("" if count <= most else ": TOO MUCH")
        print(f"{what:<28}{count:>8,}{bound}")

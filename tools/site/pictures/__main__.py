"""Draws the pictures, or compares them with the stored ones."""

from __future__ import annotations

import sys

from tools.site.pages import ROOT
from tools.site.pictures import drawn

FOLDER = ROOT / "docs" / "strategies"


def main() -> int:
    """Draw all pictures, or name the outdated ones."""
    pictures = {FOLDER / f"{name}.svg": svg for name, svg in drawn()}
    if "--check" in sys.argv:
        stale = [path.name for path, svg in pictures.items() if not path.exists() or path.read_text() != svg]
        for name in stale:
            print(f"{name} is out of date: python -m tools.site.pictures")
        return 1 if stale else 0
    for path, svg in pictures.items():
        path.write_text(svg)
    return 0


if __name__ == "__main__":
    sys.exit(main())

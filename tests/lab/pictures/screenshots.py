"""Makes the pictures in docs/pictures again: ``python -m tests.lab.pictures.screenshots``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

from leafspan import AutoMerging, Document, Hybrid, Index, SentenceWindow
from leafspan.examples import example_documents
from leafspan.lab import explain
from leafspan.lab.pictures import (
    comparison_picture,
    document_picture,
    explanation_picture,
    page,
    results_picture,
    tree_picture,
)
from tests.chromium import screenshot
from tests.corpus import HARBOUR, SPLITTER
from tests.lab.serving.browsing import Browser

FOLDER = Path(__file__).parents[3] / "docs" / "pictures"
QUESTION = "How did the plague spread across Europe?"
MOST_BYTES = 150_000
COLOURS = 128
SIZES = {
    "result": (900, 960),
    "strategies": (1100, 640),
    "tree": (900, 560),
    "document": (900, 560),
    "explanation": (900, 560),
    "serve": (1100, 700),
}
"""Width and height of each picture, in pixels."""


@contextmanager
def drawn() -> Iterator[dict[str, str]]:
    """The pages with pictures by name."""
    with tempfile.TemporaryDirectory() as folder, Index.open(f"{folder}/kb") as index:
        index.add(example_documents(), progress=False)
        index.build_tree(progress=False)
        found = index.retrieve(QUESTION, AutoMerging(), k=3)
        strategies = {"hybrid": Hybrid(), "auto-merging": AutoMerging(), "sentence-window": SentenceWindow()}
        results = {name: index.retrieve(QUESTION, strategy, k=3) for name, strategy in strategies.items()}
        with Index.open(f"{folder}/harbour", splitter=SPLITTER) as small:
            small.add(Document("harbour.md", HARBOUR, "The harbour of Skarvik", {"topic": "places", "year": 1887}))
            document = small.get("harbour.md")
        pictures = {
            "result": results_picture(found, QUESTION, found.words),
            "strategies": comparison_picture(QUESTION, results, found.words),
            "tree": tree_picture(index.summaries("Steam_engine", leaves=True)),
            "document": document_picture(document),
            "explanation": explanation_picture(explain(index, QUESTION, Hybrid(), document_id="Steam_engine", k=3)),
        }
        with Browser(index) as browser:
            served = browser.ask(QUESTION, "hybrid", "auto-merging", "vector", k="3").html.replace(f"{folder}/", "")
        pages = {name: page(name, [picture]) for name, picture in pictures.items()}
        yield {**pages, "serve": served}


def main() -> None:
    """Write each picture in light and in dark."""
    FOLDER.mkdir(exist_ok=True)
    with drawn() as pages:
        for name, written in pages.items():
            width, height = SIZES[name]
            html = written.replace("<details>", "<details open>", 1 if name == "tree" else 0)
            for scheme in ("light", "dark"):
                target = FOLDER / f"{name}-{scheme}.png"
                screenshot(html, target, scheme=scheme, width=width, height=height)
                with Image.open(target) as image:
                    small = image.convert("RGB").quantize(COLOURS)
                small.save(target, optimize=True)
                assert target.stat().st_size < MOST_BYTES, target


if __name__ == "__main__":
    main()

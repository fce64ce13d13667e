"""The pictures on the strategies' pages are the ones that the code draws, with the right content."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from leafspan import Document, HierarchicalSplitter, Hybrid, Index, SentenceWindow
from tools.site.pages import ROOT
from tools.site.pictures import SCENES, drawn
from tools.site.pictures._drawing import ADDED, EMPTY, FOUND, Drawing
from tools.site.pictures._strips import draw_strips

FOLDER = ROOT / "docs" / "strategies"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """A document of six leaves; the third answers."""
    with Index.open(tmp_path / "kb", splitter=HierarchicalSplitter(20, (60,))) as index:
        sentences = [
            f"Sentence {number} of this text is about nothing that anybody has ever asked for in all those years."
            for number in range(5)
        ]
        sentences.insert(2, "Karl von Frisch decoded the dance of the bees after many years of patient watching in Munich.")
        index.add(Document("bees", "\n\n".join(sentences), title="Bees & <hives>"))
        assert len(index.leaves("bees")) == 6
        yield index


@pytest.fixture(scope="module")
def pictures() -> dict[str, str]:
    return dict(drawn())


@pytest.mark.parametrize("name", SCENES)
def test_each_picture_is_the_one_that_the_code_draws(pictures: dict[str, str], name: str):
    """If not: python -m tools.site.pictures."""
    assert (FOLDER / f"{name}.svg").read_text() == pictures[name]


def test_each_page_has_a_picture_and_each_picture_a_page():
    assert {path.stem for path in FOLDER.glob("*.svg")} == set(SCENES)
    assert {path.stem for path in FOLDER.glob("*.md")} == {*SCENES, "index"}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.svg")), ids=lambda path: path.stem)
def test_a_picture_is_an_image_with_a_title_and_without_scripts(path: Path):
    root = ElementTree.parse(path).getroot()
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert root.find("{http://www.w3.org/2000/svg}title").text
    assert tags <= {"svg", "title", "rect", "path", "text"}


def test_a_strip_has_a_box_for_each_leaf(index: Index):
    drawing = Drawing("windows")
    draw_strips(
        drawing, index, index.retrieve("Who decoded the dance?", SentenceWindow(base=Hybrid(), before=1, after=1), k=1)
    )
    boxes = [shape for shape in drawing.shapes if shape.startswith("<rect")]
    assert len(boxes) == 6
    colours = [next(colour for colour in (FOUND, ADDED, EMPTY) if colour in box) for box in boxes]
    assert colours == [EMPTY, ADDED, FOUND, ADDED, EMPTY, EMPTY]


def test_texts_are_escaped(index: Index):
    drawing = Drawing("<script>")
    draw_strips(drawing, index, index.retrieve("Who decoded the dance?", k=1))
    assert "<script>" not in drawing.svg()
    assert "Bees &amp; &lt;hives&gt;" in drawing.svg()

"""How well and how fast scanned pages are read: pages that are drawn from the bundled articles, and read from PDF files.

    python benchmarks/scanned_pages.py [--pages 2] [--json FILE]

Prints for each kind of page the character error rate, and the pages that one idle processor reads in a minute. The rate is
the edit distance between a page's text and the text that was read, by the characters of the page's text; a line end counts
as a space. It needs the extras ocr and eval, whose matplotlib brings the fonts. Ends with 1 if a rate is over 1 %.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any, NamedTuple

import numpy as np
from results import Figure, add_json_option, all_passed, write_results

from leafspan import Files
from leafspan.documents import check_document
from leafspan.examples import example_documents
from leafspan.files import FileReading

_WIDE, _HIGH, _INCH = 1_654, 2_339, 200  # pixels of A4, and of an inch
_MARGIN, _GUTTER = 140, 80  # pixels


class Kind(NamedTuple):
    """How pages look."""

    font: str = "DejaVuSerif"
    points: float = 11
    columns: int = 1
    degrees: float = 0
    is_grey: bool = False
    noise: float = 0  # standard deviation, of 256 levels of grey


KINDS = {
    "serif": Kind(),
    "sans": Kind("DejaVuSans"),
    "monospaced": Kind("DejaVuSansMono", 10),
    "Times-like": Kind("STIXGeneral"),
    "skewed by 1.5 degrees": Kind("STIXGeneral", degrees=1.5),
    "skewed by -2 degrees": Kind("DejaVuSans", degrees=-2),
    "grey, with noise": Kind(is_grey=True, noise=12),
    "two columns": Kind("STIXGeneral", 10, columns=2),
    "two columns, skewed, grey": Kind("DejaVuSerif", 9, columns=2, degrees=1, is_grey=True),
}


def main() -> int:
    parser = argparse.ArgumentParser(description="How well and how fast scanned pages are read.")
    parser.add_argument("--pages", type=int, default=2, help="pages of each kind, 1 to 6")
    add_json_option(parser)
    arguments = parser.parse_args()
    texts = [" ".join(each.text.split()) for each in example_documents()][: arguments.pages]
    figures, pages = [], 0
    with tempfile.TemporaryDirectory() as folder:
        expected = {}
        for name, kind in KINDS.items():
            for number, text in enumerate(texts):
                picture, expected[name, number] = drawn(text, kind)
                picture.save(Path(folder) / f"{name}.{number}.pdf", resolution=_INCH)
        used = processor_time()
        reading = FileReading(check_document, Path(folder))
        read = {each.id: each.text for each in reading.read(Files(folder))}
        used, pages = processor_time() - used, len(expected)
        assert not reading.skipped, reading.skipped
        for name in KINDS:
            wrong = sum(distance(expected[name, n], " ".join(read[f"{name}.{n}.pdf"].split())) for n in range(len(texts)))
            length = sum(len(expected[name, n]) for n in range(len(texts)))
            figures.append(Figure("characters that are wrong, in %", 100 * wrong / length, "<=", 1, part=name))
    characters = sum(map(len, expected.values())) / pages
    figures.append(
        Figure("pages a minute of processor time", 60 * pages / used, part=f"{characters:,.0f} characters a page")
    )
    for figure in figures:
        print(f"{figure.value:8.2f}  {figure.part}: {figure.name}")
    write_results("scanned_pages", arguments, figures)
    return int(not all_passed(figures))


def drawn(text: str, kind: Kind) -> tuple[Any, str]:
    """Return a picture of a page, and the start of the text that is on it."""
    import matplotlib
    from PIL import Image, ImageDraw, ImageFilter, ImageFont

    path = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / f"{kind.font}.ttf"
    if not path.exists():
        sys.exit(f"there is no font {path}: install the extra eval, whose matplotlib brings it")
    font = ImageFont.truetype(path, round(kind.points * _INCH / 72))
    picture = Image.new("L", (_WIDE, _HIGH), 255)
    draw, words, lines = ImageDraw.Draw(picture), text.split()[::-1], []
    width = (_WIDE - 2 * _MARGIN - (kind.columns - 1) * _GUTTER) // kind.columns
    for column in range(kind.columns):
        for top in range(_MARGIN, _HIGH - _MARGIN, round(1.35 * font.size)):
            line = ""
            while words and font.getlength(f"{line} {words[-1]}") <= width:
                line = f"{line} {words.pop()}".strip()
            draw.text((_MARGIN + column * (width + _GUTTER), top), line, fill=20, font=font)
            lines.append(line)
    pixels = np.asarray(picture) / 255
    if kind.is_grey:
        pixels = pixels * np.linspace(0.88, 0.6, _WIDE) * np.linspace(1, 0.85, _HIGH)[:, None]  # darker to two sides
    if kind.noise:
        blurred = Image.fromarray((pixels * 255).astype(np.uint8)).filter(ImageFilter.GaussianBlur(1))
        pixels = np.asarray(blurred) / 255 + np.random.default_rng(0).normal(0, kind.noise / 255, (_HIGH, _WIDE))
    picture = Image.fromarray((pixels.clip(0, 1) * 255).astype(np.uint8))
    turned = picture.rotate(kind.degrees, Image.Resampling.BICUBIC, fillcolor=picture.getpixel((0, 0)))
    return turned, " ".join(filter(None, lines))


def distance(wanted: str, read: str) -> int:
    """Return the edit distance of two texts (Levenshtein, 1966)."""
    other = np.frombuffer(read.encode("utf-32-le"), np.uint32)
    places = np.arange(len(other) + 1)
    row = places
    for number, character in enumerate(wanted, start=1):
        new = np.concatenate(([number], np.minimum(row[1:] + 1, row[:-1] + (other != ord(character)))))
        row = np.minimum.accumulate(new - places) + places
    return int(row[-1])


def processor_time() -> float:
    """The processor time of the processes that have read files, which end here."""
    from leafspan.files import _reader_process

    _reader_process._end_all()
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())

"""Files of pages: PDF, whose pages are joined so that a sentence can go on, and pictures, whose text is recognised."""

from __future__ import annotations

import io
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from leafspan.errors import MissingExtra
from leafspan.files._office import said_title
from leafspan.files._opening import Unreadable, in_one_line, library, parsing, read_bytes
from leafspan.files._record import Assembly, MoreTime, Record
from leafspan.files._source import Files
from leafspan.flows import np

_HIDDEN = 2 | 32  # flags of an annotation
_PASSWORD, _BUTTON = 1 << 13, 1 << 16  # flags of a field
_MOST_ABOVE = 20  # fields above a field, from which it inherits
_MOST_SECONDS = 50  # of processor time: a file of a few kilobytes can have a million pages
_DRAWS = re.compile(rb"(?<!\S)(?:Do|EI|sh|[fFbBsS]\*?)(?!\S)")  # operators that draw a picture or a shape


def read_pdf(path: Path, files: Files) -> Iterator[Record | MoreTime]:
    """Read a PDF, whose parts are its pages. Its title is the file's own, unless a program has made it up."""
    pypdf = library("pypdf", "PDF needs pypdf", "pdf")
    texts, scanned, left_out = dict[int, str](), list[int](), list[str]()
    until = time.process_time() + _MOST_SECONDS
    data = io.BytesIO(read_bytes(path))
    with parsing("it is no PDF that pypdf can read"):
        document = pypdf.PdfReader(data)
        if document.is_encrypted and not document.decrypt(""):
            raise Unreadable("it is encrypted")
        title = document.metadata.title if document.metadata else None
        for number, page in enumerate(document.pages, start=1):
            if time.process_time() > until:
                left_out.append(f"the pages from {number:,} on are left out: the others took {_MOST_SECONDS} seconds")
                break
            both = [page.extract_text().replace("\0", "").rstrip(), "\n".join(_written(page))]
            texts[number] = "\n\n".join(filter(None, both))
            if not texts[number].strip() and (shown := page.get_contents()) is not None and _DRAWS.search(shown.get_data()):
                scanned.append(number)
    missing = list[str]()
    try:
        if scanned:
            library("rapidocr.main", f"{len(scanned):,} of {len(texts):,} pages are pictures, which need rapidocr", "ocr")
    except MissingExtra as error:
        if can_recognize() or not any(map(str.strip, texts.values())):  # a failing import can be repaired
            raise
        scanned, missing = [], [str(error)]

    drawn = cache(lambda: library("pypdfium2", "pictures of pages need pypdfium2", "ocr").PdfDocument(data))

    def pixels(number: int) -> Any:
        page = drawn()[number - 1]
        rows = page.render(scale=_LONGEST_SIDE / max(page.get_size()), grayscale=True).to_numpy()
        return rows, page.get_objects(filter=[3])  # pictures

    yield from _with_scans(texts, scanned, pixels, missing, title=said_title(title) or None, left_out=left_out)


def _is_damaged(picture: Any) -> bool:
    with suppress(Exception):
        return not picture.get_bitmap().to_numpy().any()  # pdfium draws what it cannot unpack in black
    return True


def _written(page: Any) -> Iterator[str]:
    """Yield what is written on a page: the values of its form's fields, such as ``"Name: Ann"``, and notes of free text."""
    for annotation in page.get("/Annots") or ():
        note = annotation.get_object()
        if note is None or int(note.get("/F", 0)) & _HIDDEN:
            continue
        if note.get("/Subtype") == "/FreeText":
            yield _in_line(note.get("/Contents"))
        elif note.get("/Subtype") == "/Widget" and (value := _value(note)):
            yield f"{_in_line(_inherited(note, '/TU') or _inherited(note, '/T') or 'Field')}: {value}"


def _value(field: Any) -> str:
    kind, flags = _inherited(field, "/FT"), int(_inherited(field, "/Ff") or 0)
    if kind == "/Btn":
        state = str(field.get("/AS") or "/Off").removeprefix("/")
        return "" if flags & _BUTTON or state == "Off" else state
    if kind not in ("/Tx", "/Ch") or flags & _PASSWORD:
        return ""
    value = _inherited(field, "/V")
    return ", ".join(map(_in_line, value if isinstance(value, list) else [value]))


def _inherited(field: Any, key: str) -> Any:
    for _ in range(_MOST_ABOVE):
        if key in field:
            return field[key]
        if "/Parent" not in field:
            return None
        field = field["/Parent"]
    return None


def _in_line(value: object) -> str:
    return in_one_line(value) if isinstance(value, str) else ""


PICTURES = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".tif": "TIFF", ".tiff": "TIFF", ".webp": "WEBP", ".bmp": "BMP"}
"""Pillow's names of pictures' formats, by suffix."""

_MOST_SECONDS_OF_SCANS = 3_600  # of processor time, for the scanned pages of a file
_LONGEST_SIDE = 2_000  # pixels of a page that is recognised: 170 for an inch of A4
_SHORTEST_SIDE = 32  # pixels: rapidocr makes smaller pictures larger, in both directions
_MOST_PIXELS = 2**26  # of a picture that is decoded
_TOO_LARGE = f"it has more than {_MOST_PIXELS:,} pixels"


def can_recognize() -> bool:
    """Whether text in pictures is read: the extra ``ocr`` is installed."""
    return find_spec("rapidocr") is not None


def read_picture(path: Path, files: Files) -> Iterator[Record | MoreTime]:
    """Read a picture as a scanned page. The pictures of a TIFF file are its pages."""
    library("rapidocr.main", "pictures need rapidocr", "ocr")
    from PIL import Image, ImageOps

    data = io.BytesIO(read_bytes(path))
    try:
        picture = Image.open(data, formats=[*set(PICTURES.values())])
        frames = picture.n_frames if picture.format == "TIFF" else 1  # type: ignore[attr-defined]
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise Unreadable(_TOO_LARGE) from None
    except Exception:  # whose message has an address in memory
        raise Unreadable("it is no picture that Pillow can read") from None

    def pixels(number: int) -> Any:
        picture.seek(number - 1)
        picture.draft("L", (_LONGEST_SIDE, _LONGEST_SIDE))  # a JPEG is made smaller while it is decoded
        if math.prod(picture.size) > _MOST_PIXELS:
            raise Unreadable(_TOO_LARGE)
        small = picture.convert("RGBA" if picture.has_transparency_data else "L")
        small.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
        if small.mode == "RGBA":
            small = Image.alpha_composite(Image.new("RGBA", small.size, "white"), small)
        return np.asarray(ImageOps.exif_transpose(small).convert("L")), ()

    yield from _with_scans({}, range(1, frames + 1), pixels, [])


def _with_scans(
    texts: Mapping[int, str], scanned: Sequence[int], pixels: Callable[[int], Any], missing: list[str], **others: Any
) -> Iterator[Record | MoreTime]:
    """Recognise the scanned pages and yield the document. ``pixels`` gives a page's grey values and pdfium's pictures."""
    recognized, until = dict[int, str](), time.process_time() + _MOST_SECONDS_OF_SCANS
    for number in scanned:
        if time.process_time() > until:
            missing.append(f"the scanned pages from {number:,} on are left out: recognising the others took an hour")
            break
        yield MoreTime()
        try:
            rows, pictures = pixels(number)
            padding = [(0, max(0, _SHORTEST_SIDE - side)) for side in rows.shape]
            seen = _recognizer()(np.pad(rows, padding, mode="edge"))
            if not (text := in_reading_order(seen.boxes, seen.txts or ())) and any(map(_is_damaged, pictures)):
                raise Unreadable("it gives no text, and a picture on it is damaged or all black")
            recognized[number] = text
        except Exception as error:
            missing.append(f"the scanned page {number:,} is left out: {error or type(error).__name__}")
    pages, both = Assembly(), {**texts, **recognized}
    if (missing or not recognized) and not any(map(str.strip, both.values())):
        empty = "it has no text, and no pictures whose text could be recognised"
        raise Unreadable([*missing, *others.get("left_out", ()), empty][0])
    for number, text in sorted(both.items()):
        pages.add(text, "scanned page" if number in recognized else "page", number)
    text, metadata = pages.text if pages.text.strip() else "", {"ocr": True} if recognized else {}
    yield pages.record(None)._replace(text=text, metadata=metadata, missing=missing, **others)


@cache
def _recognizer() -> Any:
    """Return the function that recognises lines. Its models are in its package, so it needs no network."""
    import cv2
    import rapidocr

    cv2.setNumThreads(1)
    models = Path(rapidocr.__file__).parent / "models"
    return rapidocr.RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.use_cls": False,  # it takes some upright lines for lines upside down
            "Det.model_path": str(next(models.glob("*_det_*.onnx"))),
            "Det.limit_type": "max",
            "Det.limit_side_len": 1_280,  # pixels
            "Rec.model_path": str(next(models.glob("*_rec_*.onnx"))),
            "Rec.rec_batch_num": 1,  # several lines at once take more memory, and as long
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
        }
    )


_PROSE = 8  # a column's lines are usually longer than this many times their height


class _Line(NamedTuple):
    """A recognised text of a page that is not skewed any more."""

    left: float
    right: float
    middle: float
    text: str


def in_reading_order(boxes: Any, texts: Sequence[str]) -> str:
    """Return recognised texts in the order in which a person reads them: one column of prose after the other.

    Other texts at one height are joined to a line, such as the cells of a table's row. A box has the corners of a text:
    top left, top right, bottom right, bottom left.
    """
    if not texts:
        return ""
    corners = np.asarray(boxes, dtype=float)
    across = corners[:, 1] - corners[:, 0]
    angle = float(np.median(np.arctan2(across[:, 1], across[:, 0])))
    corners = corners @ np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    height = float(np.median(corners[:, 3, 1] - corners[:, 0, 1]))
    sides = corners[:, (0, 1), 0] / 2 + corners[:, (3, 2), 0] / 2
    lines = map(_Line, sides[:, 0].tolist(), sides[:, 1].tolist(), corners[..., 1].mean(axis=1).tolist(), texts)
    return "\n".join(_in_order([*lines], height))


def _in_order(lines: Sequence[_Line], height: float) -> Iterator[str]:
    rows = list[list[_Line]]()
    for line in sorted(lines, key=lambda line: line.middle):
        if rows and line.middle - rows[-1][0].middle < height / 2:
            rows[-1].append(line)
        else:
            rows.append([line])
    blocks = list[list[_Line]]()  # rows with a gap in common
    for row in rows:
        if blocks and _gap([*blocks[-1], *row], height, 0) is not None:
            blocks[-1] += row
        else:
            blocks.append([*row])
    for block in blocks:
        if (start := _gap(block, height, _PROSE * height)) is None:
            yield from (" ".join(line.text for line in sorted(row)) for row in rows if row[0] in block)
        else:
            yield from _in_order([line for line in block if line.left < start], height)
            yield from _in_order([line for line in block if line.left >= start], height)


def _gap(lines: Sequence[_Line], width: float, usual: float) -> float | None:
    """Return where the widest gap begins that has lines of at least a usual length on both sides."""
    gaps, reach = list[tuple[float, float]](), math.inf
    for line in sorted(lines):
        gaps += [(line.left - reach, reach)] * (line.left - reach >= width)
        reach = line.right if reach == math.inf else max(reach, line.right)
    for _, start in sorted(gaps, reverse=True):
        lengths = [[line.right - line.left for line in lines if (line.left < start) is side] for side in (True, False)]
        if min(map(median, lengths)) >= usual:
            return start
    return None

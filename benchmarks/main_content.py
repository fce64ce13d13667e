"""How well leafspan and trafilatura find the main content of HTML pages.

    python benchmarks/main_content.py --site FOLDER --docs FOLDER

MkDocs has built the pages from Markdown (``make docs`` builds leafspan's own pages into ``site``). Pages made of docstrings
are left out. The Markdown gives the content. The figures are the share of its words and headings that are found, and the
share of the found words that belong to it. Ends with 0 if leafspan finds at least 97 % of the words and headings, and 90 %
of its words belong to the content. (A page also has the code of other files that it includes.)
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from results import Figure, add_json_option, all_passed, write_results

from leafspan import Files
from leafspan.documents import check_document
from leafspan.files import FileReading
from leafspan.splitting import find_headings

_WORD = re.compile(r"\w+")
_NOT_SHOWN = re.compile(r"\]\([^)]*\)|<[^>]*>|^```\w*", re.MULTILINE)  # targets of links, tags, the language of code
_OF_DOCSTRINGS = re.compile(r"^::: ", re.MULTILINE)
BOUNDS = {"words": 0.97, "headings": 0.97, "own words": 0.9}


def main() -> int:
    parser = argparse.ArgumentParser(description="The main content of HTML pages.")
    parser.add_argument("--site", type=Path, required=True, help="the pages")
    parser.add_argument("--docs", type=Path, required=True, help="the Markdown that they were built from")
    add_json_option(parser)
    arguments = parser.parse_args()
    sources = [each for each in sorted(arguments.docs.rglob("*.md")) if not _OF_DOCSTRINGS.search(each.read_text())]
    pages = [(source, page) for source in sources if (page := page_of(source, arguments)).exists()]
    if not pages:
        print(f"no page of {arguments.site} is of a file of {arguments.docs}", file=sys.stderr)
        return 2
    figures = measure("leafspan", pages, with_leafspan, BOUNDS)
    if (other := with_trafilatura()) is not None:
        figures += measure("trafilatura", pages, other, {})
    write_results("main_content", arguments, figures)
    return int(not all_passed(figures))


def page_of(source: Path, arguments: argparse.Namespace) -> Path:
    """The page that was built from a file."""
    name = source.relative_to(arguments.docs).with_suffix("")
    folder: Path = arguments.site
    return folder / name.parent / "index.html" if name.name == "index" else folder / name / "index.html"


def measure(
    name: str, pages: list[tuple[Path, Path]], read: Callable[[Path], str], bounds: dict[str, float]
) -> list[Figure]:
    """Measure what is found of the pages' content."""
    words = found = shared = headings = found_headings = 0
    for source, page in pages:
        markdown, text = source.read_text(), read(page)
        gold, own = (Counter(map(str.lower, _WORD.findall(each))) for each in (_NOT_SHOWN.sub(" ", markdown), text))
        words, found, shared = words + gold.total(), found + own.total(), shared + (gold & own).total()
        wanted = Counter(_plain(each.text) for each in find_headings(markdown))
        headings += wanted.total()
        found_headings += (wanted & Counter(_plain(each.text) for each in find_headings(text))).total()
    shares = {"words": shared / words, "headings": found_headings / headings, "own words": shared / found}
    print(f"{name}: {len(pages)} pages, " + ", ".join(f"{share:.1%} {what}" for what, share in shares.items()))
    return [Figure(what, share, ">=" if bounds else None, bounds.get(what), part=name) for what, share in shares.items()]


def _plain(heading: str) -> str:
    return " ".join(_WORD.findall(_NOT_SHOWN.sub(" ", heading)))


def with_leafspan(page: Path) -> str:
    """The content of a page, as a sync reads it."""
    [document] = FileReading(check_document, page.parent).read(Files(page))
    return document.text


def with_trafilatura() -> Callable[[Path], str] | None:
    """A function that extracts the content with trafilatura, or None if it is not installed."""
    try:
        from trafilatura import extract
    except ImportError:
        print('trafilatura is not installed (pip install "trafilatura")')
        return None
    return lambda page: extract(page.read_text(), output_format="markdown", include_tables=True, favor_recall=True) or ""


if __name__ == "__main__":
    sys.exit(main())

"""Makes docs/benchmarks.md from the results of ``bench.py``.

    python benchmarks/page.py [FILE]

Without a file, the page is made again from the results that are kept with the code.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from plots import write_plots
from results import Figure, read_results

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "bench.json"
PAGE = ROOT / "docs" / "benchmarks.md"
PLAIN = "plain Chroma"
KINDS = ("vectors", "words", "words and vectors", "parents", "windows", "merged leaves")
OURS = "leafspan"
MANY = "retrieve_many"


class Measured:
    """The figures of a run, by part and name."""

    def __init__(self, results: Mapping[str, Any]) -> None:
        self.results = results
        self._figures: dict[tuple[str, str], Figure] = {(each.part, each.name): each for each in results["figures"]}

    def names(self, part: str) -> list[str]:
        """The names with a figure, in the order of the run."""
        return [name for each, name in self._figures if each == part]

    def value(self, part: str, name: str) -> float | None:
        """A figure, or None without one."""
        figure = self._figures.get((part, name))
        return figure and figure.value

    def cell(self, part: str, name: str, *, half: bool = False) -> str:
        """A figure as a table shows it, with its middle half."""
        figure = self._figures.get((part, name))
        if figure is None:
            return ""
        between = figure.middle_half
        return _number(figure.value) + (f" ({_number(between[0])}-{_number(between[1])})" if half and between else "")


def _number(value: float) -> str:
    """A number with at least two significant digits."""
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], names: int = 1) -> str:
    """A table with names in its first columns, and figures in the others."""
    lines = [head, [*["---"] * names, *["---:"] * (len(head) - names)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _shown(name: str) -> str:
    return f"**{name}**" if name.startswith(OURS) else name


def questions(measured: Measured) -> str:
    """A table of all retrievers, kind by kind: single questions, batches, and many callers."""
    rows = []
    for kind in KINDS:
        systems = [each for each in measured.results["systems"] if each["kind"] == kind and MANY not in each["name"]]
        systems.sort(key=lambda each: measured.value("alone", each["name"]) or 0.0)
        for each in systems:
            name = each["name"]
            in_one_call = measured.cell("batches", f"{name}, {MANY}")
            row = [
                "" if each is not systems[0] else f"by {kind}" if kind in KINDS[:3] else kind,
                _shown(name) + (f", {each['note']}" if each["note"] else ""),
                measured.cell("alone", name, half=True),
                measured.cell("batches", name) + (f" / {in_one_call}" if in_one_call else ""),
                measured.cell("callers", name),
                measured.cell("recall", name),
            ]
            rows.append(row)
    return _table(["kind", "", "one question (middle half)", "32 questions", "16 callers", "recall"], rows, names=2)


def stores(measured: Measured) -> str:
    """A table of adding, disk, and new processes."""
    rows = [
        [
            _shown(name),
            measured.cell("adding", name, half=True),
            *(measured.cell(part, name) for part in ("disk", "cold", "memory, own")),
        ]
        for name in dict.fromkeys([*measured.names("adding"), *measured.names("cold")])
    ]
    rows.sort(key=lambda row: OURS not in row[0])
    return _table(["", "adding (middle half)", "disk space", "first answer", "memory"], rows)


def filters(measured: Measured) -> str:
    """A table of filtered questions."""
    shares = ["10 %", "1 %"]
    rows = []
    for name in measured.names(f"filtered, {shares[0]}"):
        row = [_shown(name)]
        for share in shares:
            row += [measured.cell(f"filtered, {share}", name), measured.cell(f"filtered, {share}, recall", name)]
        rows.append(row)
    head = [""] + [each for share in shares for each in (f"{share} match", "recall")]
    return _table(head, rows)


def losses(measured: Measured) -> Iterator[str]:
    """A line for each measurement in which others are better than leafspan, with the factor."""
    kinds = {each["name"]: each["kind"] for each in measured.results["systems"]}
    best = {kind: name for name, kind in kinds.items() if name.startswith(OURS) and MANY not in name}
    for part, what in (("alone", "one question"), ("batches", "32 questions"), ("callers", "16 callers")):
        for kind, ours in best.items():
            mine = measured.value(part, ours)
            if part == "batches":
                mine = measured.value(part, f"{ours}, {MANY}") or mine
            yield from _better(what, ours, mine, {n: measured.value(part, n) for n, k in kinds.items() if k == kind})
    for share in ("10 %", "1 %"):
        part = f"filtered, {share}"
        ours = f"{OURS} Vector"
        values = {name: measured.value(part, name) for name in measured.names(part)}
        yield from _better(f"a filter, {share} match", ours, values.get(ours), values)
    for part, what in (("cold", "first answer of a new process"), ("memory, own", "memory of its own")):
        values = {name: measured.value(part, name) for name in measured.names(part)}
        yield from _better(what, f"{OURS} Vector", values.get(f"{OURS} Vector"), values)
    values = {name: measured.value("disk", name) for name in measured.names("disk")}
    yield from _better("disk space", OURS, values.get(OURS), values)
    faster = {name: 1 / (measured.value("adding", name) or 1.0) for name in measured.names("adding")}
    yield from _better("adding", OURS, faster.get(OURS), faster)


def _better(what: str, ours: str, mine: float | None, values: Mapping[str, float | None]) -> Iterator[str]:
    others = {name: value for name, value in values.items() if not name.startswith(OURS) and value is not None}
    better = {name: value for name, value in others.items() if mine is not None and value < mine}
    if better and mine is not None:
        named = ", ".join(
            f"{name.replace(', ', ' ')} {_number(value / mine)}"
            for name, value in sorted(better.items(), key=lambda each: each[1])
        )
        yield f"- {what} ({ours}): {named}"


def page(results: Mapping[str, Any]) -> str:
    """The text of the page."""
    measured = Measured(results)
    packages = ", ".join(f"{name} {version}" for name, version in results["packages"].items() if name != OURS)
    versions = results["versions"]
    options = results["options"]
    command = f"make bench{' FULL=1' if options['full'] else ''}"
    lost = "\n".join(losses(measured)) or "- none in this run"
    return TEMPLATE.format(
        command=command,
        leaves=f"{results['leaves']:,}",
        documents=f"{results['documents']:,}",
        processors=results["processors"],
        platform=versions["platform"],
        python=versions["python"],
        packages=packages,
        missing=", ".join(results["missing"]) or "none",
        questions=questions(measured),
        filters=filters(measured),
        stores=stores(measured),
        losses=lost,
        sizes=" to ".join(f"{size:,}" for size in (options["sizes"][0], options["sizes"][-1])),
        alone_picture=_picture("alone", "Times of one question beside plain Chroma, by kind of retriever"),
        growth_picture=_picture("growth", "Times of questions and of first answers, by number of leaves"),
    )


def _picture(name: str, alt: str) -> str:
    return (
        "<picture>\n"
        f'  <source media="(prefers-color-scheme: dark)" srcset="pictures/benchmarks-{name}-dark.svg">\n'
        f'  <img alt="{alt}" src="pictures/benchmarks-{name}-light.svg">\n'
        "</picture>"
    )


TEMPLATE = """# Benchmarks

Compare leafspan's speed with other libraries, and see [where others are better](#where-others-are-better). `{command}`
measures everything and writes this page. Quality is in [measurements](measurements.md).

Each figure is a ratio to a plain Chroma query for 24 records: **below 1 is faster, or smaller, than plain Chroma**. It is
the median of all turns. The range in brackets is the middle half of the turns. "For 5" asks Chroma for 5 records.

## Questions

{alone_picture}

The columns are one question at a time, 32 questions (leafspan also with `retrieve_many`, behind the slash), and 16 callers
on an event loop. Recall is the share of the nearest leaves that were found.

{questions}

## With a filter

The filter selects a range of documents, another one for each question.

{filters}

## Storing, and new processes

Adding is a throughput: **above 1 is faster**. The first answer is a new process that imports, opens and answers. Its memory
is measured after 50 questions, without the pages of files.

{stores}

## Growth

{growth_picture}

From {sizes} leaves. The number at each line is an exponent: with 1, time grows in proportion to the
leaves, with 0 it does not grow.

## Where others are better

Time, memory or disk space of others, as a share of leafspan's:

{losses}

## How it is measured

- **Leaves**: {leaves} in {documents} documents of made-up text, with the same vectors for all.
- **leafspan** returns five passages through LangChain. Merged leaves, windows and parents are over `Vector`.
- **Others** have their defaults: LangChain and LlamaIndex over Chroma, Haystack and bm25s in memory. zvec and LanceDB
  return 24 records, and store one metadata key instead of four. Building in-memory indexes is not included.
- **Machine**: {processors} processors, {platform}, Python {python}. **Versions**: {packages}.
- **Missing in this run**: {missing}.

`make bench` takes a quarter of an hour on two processors. `make bench FULL=1` (100,000 leaves, growth to 1,000,000) takes
hours and 12 GB of disk. `python benchmarks/bench.py --quick` does not write this page; it needs `pip install ".[bench]"`.
"""


def write_page(results: Path = RESULTS) -> None:
    """Write the page and its pictures."""
    read = read_results(results)
    PAGE.write_text(page(read), encoding="utf-8")
    write_plots(read, PAGE.parent / "pictures")


if __name__ == "__main__":
    write_page(*map(Path, sys.argv[1:2]))

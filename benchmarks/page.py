"""docs/benchmarks.md, made of what ``bench.py`` has written.

    python benchmarks/page.py [FILE]

Without a file, the page is made anew of the results that are kept with the code.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
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
        """What has a figure there, in the order of the run."""
        return [name for each, name in self._figures if each == part]

    def value(self, part: str, name: str) -> float | None:
        """A figure, None if there is none."""
        figure = self._figures.get((part, name))
        return figure and figure.value

    def cell(self, part: str, name: str, *, half: bool = False) -> str:
        """A figure as it stands in a table, with its middle half."""
        figure = self._figures.get((part, name))
        if figure is None:
            return ""
        between = figure.middle_half
        return _number(figure.value) + (f" ({_number(between[0])} to {_number(between[1])})" if half and between else "")


def _number(value: float) -> str:
    """At least two digits that say something."""
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _shown(name: str) -> str:
    return f"**{name}**" if name.startswith(OURS) else name


def questions(measured: Measured) -> str:
    """A table for each kind of retriever: questions alone, in batches, and of many callers."""
    parts = []
    for kind in KINDS:
        systems = [each for each in measured.results["systems"] if each["kind"] == kind]
        systems.sort(key=lambda each: measured.value("alone", each["name"]) or 0.0)
        rows = []
        for each in systems:
            name = each["name"]
            # Asked alone, it is what Vector and Hybrid are, through LlamaIndex.
            only_batches = MANY in name
            row = [
                _shown(name) + (f", {each['note']}" if each["note"] else ""),
                "" if only_batches else measured.cell("alone", name, half=True),
                measured.cell("batches", name),
                "" if only_batches else measured.cell("callers", name),
            ]
            if kind == "vectors":
                row.append(measured.cell("recall", name))
            rows.append(row)
        head = [f"by {kind}" if kind in KINDS[:3] else kind, "one question (middle half)", "32 questions", "16 callers"]
        parts.append(_table([*head, "recall"] if kind == "vectors" else head, rows))
    return "\n\n".join(parts)


def stores(measured: Measured) -> str:
    """Tables of adding and disk, and of new processes."""
    rows = [
        [_shown(name), measured.cell("adding", name, half=True), measured.cell("disk", name)]
        for name in measured.names("adding")
    ]
    kept = _table(["", "throughput of adding (middle half)", "disk space"], rows)
    rows = [
        [
            _shown(name),
            measured.cell("cold", name, half=True),
            measured.cell("memory, resident", name),
            measured.cell("memory, own", name),
        ]
        for name in measured.names("cold")
    ]
    head = ["", "first answer of a new process (middle half)", "memory, all", "memory, its own"]
    return f"{kept}\n\n{_table(head, rows)}"


def filters(measured: Measured) -> str:
    """A table of filtered questions."""
    shares = ["10 %", "1 %"]
    rows = []
    for name in measured.names(f"filtered, {shares[0]}"):
        row = [_shown(name)]
        for share in shares:
            row += [measured.cell(f"filtered, {share}", name, half=True), measured.cell(f"filtered, {share}, recall", name)]
        rows.append(row)
    head = [""] + [each for share in shares for each in (f"{share} match (middle half)", "recall")]
    return _table(head, rows)


def growth(measured: Measured) -> str:
    """A table of growth."""
    sizes = measured.results["options"]["sizes"]
    rows = []
    for name in dict.fromkeys(each.partition(": ")[0] for each in measured.names("growth")):
        steps = [
            measured.cell("growth", f"{name}: {large:,} beside {small:,} leaves", half=True)
            for small, large in pairwise(sizes)
        ]
        exponent = measured.value("growth", f"{name}: exponent")
        rows.append([name, f"{exponent:.2f}", *steps])
    steps = [f"{large:,} beside {small:,} (middle half)" for small, large in pairwise(sizes)]
    return _table(["", "exponent", *steps], rows)


def losses(measured: Measured) -> Iterator[str]:
    """A line for each measurement in which others do better than leafspan, with the factor by which they do."""
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
            f"{name} {_number(value / mine)}" for name, value in sorted(better.items(), key=lambda each: each[1])
        )
        yield f"- {what}: {named} (times {ours})"


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
        growth=growth(measured),
        losses=lost,
        sizes=" to ".join(f"{size:,}" for size in (options["sizes"][0], options["sizes"][-1])),
        alone_picture=_picture(
            "alone", "Times of one question beside plain Chroma, by kind of retriever, on a logarithmic scale"
        ),
        growth_picture=_picture(
            "growth", "Times of questions and of first answers, by number of leaves, on logarithmic scales"
        ),
    )


def _picture(name: str, alt: str) -> str:
    return (
        "<picture>\n"
        f'  <source media="(prefers-color-scheme: dark)" srcset="pictures/benchmarks-{name}-dark.svg">\n'
        f'  <img alt="{alt}" src="pictures/benchmarks-{name}-light.svg">\n'
        "</picture>"
    )


TEMPLATE = """# Benchmarks

leafspan beside what else one could take, all over the same leaves, in one run. This page is written by `{command}`: no
figure is put in by hand, and what is better elsewhere stands [below](#where-others-are-better). What leafspan promises of
itself, with bounds, is in [measurements](measurements.md).

Each figure is a ratio to a plain Chroma query (24 records with documents and metadata) in the same turn: below 1 is faster,
or smaller, than plain Chroma. It is the median of all turns, and in brackets the middle half: a quarter of the turns is
below, and a quarter above. Where the middle half is wide, the machine was busy with other work, and small differences mean
nothing. Bare times mean little on another machine, so there are none.

## What is compared

- **The corpus**: {leaves} leaves in {documents} documents of about 1,000 words, with four metadata keys. They are sentences
  of the example articles, drawn at random, with every fourth word replaced. Questions are those about the articles, and
  words drawn at random. Nothing is downloaded.
- **The same for all**: leaves, their ids, and their vectors (WordLlama, 256 numbers), which are made before. Embedding the
  question counts everywhere.
- **leafspan** is asked through its LangChain retrievers, for five passages; what merges or widens is over `Vector` and 24
  candidates. `retrieve_many` is that of its LlamaIndex retrievers.
- **Peers** are set up as their users set them up, with their defaults: retrievers of LangChain and LlamaIndex over their
  Chroma stores, for five results, with 24 candidates where they fuse, merge or look up parents; docstores of parents in
  memory; Haystack's store in memory; bm25s in memory with English stop words and stems. Engines (zvec with its graph,
  LanceDB with and without an index) are asked for 24 records with texts.
- **The machine**: {processors} processors, {platform}, Python {python}.
- **Versions**: {packages}.
- **Missing in this run**: {missing}.

## What is a fair comparison, and what is not

- Exact search and graphs are not the same: look at the recall beside the time. It is the share of the nearest leaves that
  are found, of as many as are asked for.
- LangChain's BM25Retriever and Ensemble, bm25s, Haystack and LlamaIndex's fusion hold all texts in memory, and are made
  anew by each process from all documents. What that takes is not counted here, nor is it among the new processes.
  leafspan's words are on disk.
- LangChain's BM25Retriever splits at blanks, without stems and stop words. EnsembleRetriever returns everything that its
  searches find, not five.
- Haystack's store in memory looks at all documents for each window and each parent. It is made for trying things out; its
  other stores are not measured. What takes many seconds takes part in two turns only.
- Auto-merging returns other nodes in other libraries for the same leaves. Only time is compared here; quality is in
  [measurements](measurements.md).
- Chroma, zvec and LanceDB search outside of Python, so that 16 callers can use all processors. Much of leafspan is Python,
  which runs in one thread at a time.
- zvec and LanceDB store the number of the document only, and none of the other metadata.
- Everything shares one process and its caches, in an order that is drawn for each turn, which is unfair to all alike:
  alone, each would find its own data in the caches. Only new processes are alone.
- The texts are made up, so words are not as rare as in real texts, and vectors lie closer together.

## Questions

{alone_picture}

One question at a time; 32 at once, in one call where there is one (LangChain's `batch`, Chroma's and LanceDB's queries of
many vectors, bm25s's lists), otherwise one after the other; and 16 callers on one event loop, each of whom awaits two
questions, by coroutines where there are some, otherwise in threads.

{questions}

## With a filter

A range of documents, another one for each question.

{filters}

## Storing, and new processes

Leaves are added in groups of 10,000, in turns; throughput above 1 is faster than plain Chroma. What is done at the end,
such as building an index, counts. A new process imports, opens, embeds one question and answers it. Memory is that of a
process that has answered 50 questions: all that is resident, and what is its own; the rest are pages of files, which the
system takes back when it needs them.

{stores}

## Growth

{growth_picture}

From {sizes} leaves, each size in a folder of its own, asked in turns. Times grow as the number of leaves to the
power of the exponent, which stands beside each line: 1 is in proportion, 0 not at all. The first answer of a new process is
from opening to it, without imports.

{growth}

## Where others are better

By what factor, of the medians above; below 1 is better than leafspan.

{losses}

## How to run it

| command | what it does |
|---|---|
| `make bench` | 30,000 leaves, and growth to 100,000: about a quarter of an hour on two processors |
| `make bench FULL=1` | 100,000 leaves, and growth to 1,000,000: some hours, and 12 GB of disk |
| `python benchmarks/bench.py --quick` | a few thousand leaves, without writing this page: whether everything runs |

`pip install ".[bench]"` has the peers; `make bench` does it for you. A peer that is not installed is named as
missing.
"""


def write_page(results: Path = RESULTS) -> None:
    """Write the page and its pictures."""
    read = read_results(results)
    PAGE.write_text(page(read), encoding="utf-8")
    write_plots(read, PAGE.parent / "pictures")


if __name__ == "__main__":
    write_page(*map(Path, sys.argv[1:2]))

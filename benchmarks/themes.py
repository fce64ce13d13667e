"""Thematic questions: how much of a whole section its heading finds.

    python benchmarks/themes.py [--json FILE]

The text is Python's own language reference, which comes with every Python (``pydoc_data.topics``): real prose with section
headings, without a download. The procedure:

1. Each topic is a document, except for topics whose text is part of a longer one.
2. A heading is an underlined line. Headings are removed from the text, and the first one becomes the title. So only the
   section's own words can find it.
3. Each heading of a section with 150 to 2,500 words is a question, word for word; of equal headings only the first.
4. Section coverage at a budget is the share of the section that was read when the budget of words is used up. If a section
   is longer than the budget, coverage is complete when as many of its words as the budget were read. Words of summaries use
   up the budget, but cover nothing.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pydoc_data.topics import topics
from statistics import fmean

from results import Figure, add_json_option, write_results

from leafspan import AutoMerging, Document, Hybrid, Index, Passage, RelevantSegments, Strategy, Tree, Vector

BUDGETS = (150, 300, 600, 1_200)
CANDIDATES = 80
SECTION_WORDS = range(150, 2_501)
UNDERLINE = re.compile(r"([=*\-^~\"])\1{2,}")
STRATEGIES: dict[str, Strategy] = {
    "Vector": Vector(),
    "Hybrid": Hybrid(),
    "AutoMerging": AutoMerging(),
    "Tree": Tree(),
    "Tree, expanded": Tree(expand=True),
}


@dataclass(frozen=True, slots=True)
class Section:
    """The text below a heading: ``text[start:end]`` of a document."""

    heading: str
    document_id: str
    start: int
    end: int


def main() -> None:
    parser = argparse.ArgumentParser(description="How much of a whole section is found by its heading.")
    add_json_option(parser)
    arguments = parser.parse_args()
    documents, sections = read_topics()
    texts = {document.id: document.text for document in documents}
    questions = [section.heading for section in sections]
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder, Index.open(folder) as index:
        index.add(documents, progress=False)
        index.build_tree(progress=False)
        stats = index.stats()
        print(
            f"{len(questions)} headings of {stats.documents} topics, {stats.leaves:,} leaves, {stats.summaries:,} summaries"
        )
        print(f"{'words':<32}" + "".join(f"{budget:>8,}" for budget in BUDGETS) + f"{'mean':>8}")
        for name, strategy in STRATEGIES.items():
            rows = index.retrieve_many(questions, strategy, k=3 * CANDIDATES, candidates=CANDIDATES)
            figures += show(name, [coverage(rows, sections, texts, budget) for budget in BUDGETS])
        by_budget = [
            index.retrieve_many(questions, RelevantSegments(words=budget), k=3 * CANDIDATES, candidates=CANDIDATES)
            for budget in BUDGETS
        ]
        shares = [coverage(rows, sections, texts, budget) for rows, budget in zip(by_budget, BUDGETS, strict=True)]
        figures += show("RelevantSegments", shares)
    write_results("themes", arguments, figures)


def show(name: str, shares: Sequence[float]) -> list[Figure]:
    """Print a row of the table, and return it. Its last figure is the mean."""
    columns = [*shares, fmean(shares)]
    print(f"{name:<32}" + "".join(f"{share:>8.3f}" for share in columns), flush=True)
    labels = [*(f"{budget} words" for budget in BUDGETS), "mean"]
    return [Figure(f"{name}: {label}", share) for label, share in zip(labels, columns, strict=True)]


def read_topics() -> tuple[list[Document], list[Section]]:
    """The documents, and their sections in the order of the documents."""
    documents: list[Document] = []
    sections: list[Section] = []
    seen: set[str] = set()
    for name, source in sorted(topics.items(), key=lambda topic: (-len(topic[1]), topic[0])):
        title, text, found = without_headings(name, source)
        if any(text.strip()[200:1_200] in longer.text for longer in documents):
            continue
        documents.append(Document(name, text, title))
        for section in found:
            if len(text[section.start : section.end].split()) in SECTION_WORDS and section.heading not in seen:
                seen.add(section.heading)
                sections.append(section)
    return documents, sections


def without_headings(name: str, source: str) -> tuple[str, str, list[Section]]:
    """Title, text and sections of a topic. A section extends to the next heading of its own rank or a higher rank."""
    lines = source.split("\n")
    text, title = "", ""
    sections: list[Section] = []
    started: list[tuple[int, str, int]] = []  # rank, heading and start of the open sections
    ranks: list[str] = []

    def end(rank: int) -> Iterator[Section]:
        while started and started[-1][0] >= rank:
            _, heading, start = started.pop()
            yield Section(heading, name, start, len(text))

    place = 0
    while place < len(lines):
        line, below = lines[place], lines[place + 1] if place + 1 < len(lines) else ""
        if line.strip() and UNDERLINE.fullmatch(below) and len(below) >= len(line.strip()):
            if below[0] not in ranks:
                ranks.append(below[0])
            rank = ranks.index(below[0])
            sections += end(rank)
            if title:
                started.append((rank, line.strip(), len(text)))
            title = title or line.strip()
            place += 2
        else:
            text += line + "\n"
            place += 1
    sections += end(0)
    return title or name, text, sorted(sections, key=lambda section: (section.start, -section.end))


def coverage(rows: Sequence[Sequence[Passage]], sections: Sequence[Section], texts: dict[str, str], budget: int) -> float:
    """The mean share of the sections, or of the budget, that is among the first ``budget`` words of each row."""
    shares = []
    for row, section in zip(rows, sections, strict=True):
        left, read = budget, set()
        for passage in row:
            words = [match.start() for match in re.finditer(r"\S+", passage.text)][:left]
            left -= len(words)
            if not passage.layer and passage.document_id == section.document_id:
                read |= {passage.start + place for place in words} & set(range(section.start, section.end))
            if left <= 0:
                break
        wanted = len(texts[section.document_id][section.start : section.end].split())
        shares.append(len(read) / min(wanted, budget))
    return fmean(shares)


if __name__ == "__main__":
    main()

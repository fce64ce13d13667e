"""``leafspan show``: print the settings and documents of an index."""

from __future__ import annotations

from dataclasses import asdict

from rich.table import Table

from leafspan.cli._console import console, plain
from leafspan.cli._json import print_json
from leafspan.cli._options import DEFAULT_FOLDER, AsJson, KnowledgeBase
from leafspan.index import Index
from leafspan.indexing import summaries_of


def show(kb: KnowledgeBase = DEFAULT_FOLDER, as_json: AsJson = False) -> None:
    """Print the settings of an index, and its documents."""
    with Index.open(kb, create=False) as opened:
        stats = opened.stats()
        documents = opened.documents()
    if as_json:
        print_json({"stats": asdict(stats), "documents": [asdict(document) for document in documents]})
        return
    out = console()
    model = f"{stats.embedder}, {stats.dimension} dimensions" if stats.embedder else "none yet"
    out.print(plain(f"embedder           {model}"))
    out.print(plain(f"splitter           {stats.splitter}"))
    out.print(plain(f"context sentences  {stats.context_sentences}"))
    trees = f"{stats.trees}, with {summaries_of(stats)}" if stats.trees else "none"
    out.print(plain(f"trees              {trees}"))
    table = Table()
    for name in ("document", "title"):
        table.add_column(name, overflow="fold")
    for name in ("leaves", "words", "characters"):
        table.add_column(name, justify="right")
    for document in documents:
        numbers = (document.leaves, document.words, document.characters)
        table.add_row(plain(document.id), plain(document.title or ""), *(f"{number:,}" for number in numbers))
    table.add_section()
    totals = (stats.leaves, stats.words, stats.characters)
    table.add_row(f"{stats.documents} documents", "", *(f"{number:,}" for number in totals))
    out.print(table)

"""``leafspan show`` and ``leafspan delete``: print the documents of an index, and delete some."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from leafspan.checks import shown
from leafspan.cli._console import console, plain, print_json, with_standard_input
from leafspan.cli._options import DEFAULT_FOLDER, AsJson, KnowledgeBase, Where, parse_filter
from leafspan.errors import DocumentNotFound
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


def delete(
    ids: Annotated[
        list[str] | None,
        typer.Argument(help="Ids of documents, or - to read them from the lines of standard input.", show_default=False),
    ] = None,
    kb: KnowledgeBase = DEFAULT_FOLDER,
    where: Where = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be deleted, and change nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete documents by their ids or by a filter, and their summaries. The ids of deleted documents are printed.

    If no document has one of the ids, the other documents are deleted, and then an error is printed.
    """
    condition = parse_filter(where)
    with Index.open(kb, create=False) as opened:
        named = [*with_standard_input(ids or ())]
        deleted = opened.delete(named if ids else None, where=condition, dry_run=dry_run)
    missing = [id_ for id_ in dict.fromkeys(named) if id_ not in deleted]
    if as_json and (deleted or not missing):
        print_json({"dry_run": dry_run, "deleted": deleted})
    elif deleted or not missing:
        out = console()
        for id_ in deleted:
            out.print(plain(f"- {id_}"))
        out.print(plain(f"{kb}: {'would be ' if dry_run else ''}{len(deleted)} deleted"))
    if missing:
        others = f", and none of {len(missing) - 1:,} more of these ids" if len(missing) > 1 else ""
        raise DocumentNotFound(f"there is no document {shown(missing[0])} in the index{others}")

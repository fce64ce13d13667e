"""``leafspan delete``: delete documents from an index."""

from __future__ import annotations

from typing import Annotated

import typer

from leafspan.checks import shown
from leafspan.cli._console import console, plain
from leafspan.cli._json import print_json
from leafspan.cli._options import DEFAULT_FOLDER, AsJson, KnowledgeBase, Where, parse_filter
from leafspan.cli._standard_input import with_standard_input
from leafspan.errors import DocumentNotFound
from leafspan.index import Index


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
        given = [*with_standard_input(ids or ())]
        deleted = opened.delete(given if ids else None, where=condition, dry_run=dry_run)
    missing = [id_ for id_ in dict.fromkeys(given) if id_ not in deleted]
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

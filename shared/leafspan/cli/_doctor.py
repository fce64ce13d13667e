"""``leafspan doctor``: find and mend what is not whole in an index."""

from __future__ import annotations

from typing import Annotated

import typer

from leafspan.cli._console import console, plain
from leafspan.cli._options import DEFAULT_FOLDER, KnowledgeBase
from leafspan.index import Index


def doctor(
    kb: KnowledgeBase = DEFAULT_FOLDER,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what is found, and change nothing.")] = False,
) -> None:
    """Find half-written documents and trees, and missing leaves, and mend what can be mended.

    The exit code is 1 if something is still not whole; with --dry-run, if anything was found.
    """
    with Index.open(kb, create=False) as opened:
        findings = opened.doctor(mend=not dry_run)
    out = console()
    for finding in findings:
        state = plain("mended     ", "green") if finding.mended else plain("not mended ", "red")
        out.print(state, plain(f"{finding.document_id}: {finding.problem}"), sep="")
    if not findings:
        out.print(plain(f"{kb} is whole", "green"))
    if not all(finding.mended for finding in findings):
        raise typer.Exit(1)

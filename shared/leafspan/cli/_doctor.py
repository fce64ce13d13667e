"""``leafspan doctor``: is the index whole?"""

from __future__ import annotations

from typing import Annotated

import typer

from leafspan.cli._console import console, plain
from leafspan.cli._options import DEFAULT_FOLDER, KnowledgeBase
from leafspan.index import Index


def doctor(
    kb: KnowledgeBase = DEFAULT_FOLDER,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Look, and change nothing.")] = False,
) -> None:
    """Look for half-written documents and trees, and for missing leaves, and mend what can be.

    The exit code is 1 where something is still not whole, with --dry-run where anything was found.
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

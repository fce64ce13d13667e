"""``leafspan doctor``: find and mend what is not whole in an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from leafspan.cli._console import console, plain
from leafspan.cli._json import print_json
from leafspan.cli._options import DEFAULT_FOLDER, AsJson, KnowledgeBase
from leafspan.index import Index
from leafspan.indexing import Finding


def doctor(
    kb: KnowledgeBase = DEFAULT_FOLDER,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what is found, and change nothing.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Compare which leaves there are, and read no texts of documents that have all.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find half-written documents and trees, and missing or altered leaves, and mend what can be mended.

    The exit code is 1 if something is still not whole; with --dry-run, if anything was found.
    """
    with Index.open(kb, create=False) as opened:
        findings = opened.doctor(mend=not dry_run, quick=quick)
    if as_json:
        print_json({"dry_run": dry_run, "findings": [asdict(finding) for finding in findings]})
    else:
        _print(str(kb), findings)
    if not all(finding.mended for finding in findings):
        raise typer.Exit(1)


def _print(kb: str, findings: Sequence[Finding]) -> None:
    out = console()
    for finding in findings:
        state = plain("mended     ", "green") if finding.mended else plain("not mended ", "red")
        out.print(state, plain(f"{finding.document_id}: {finding.problem}"), sep="")
    if not findings:
        out.print(plain(f"{kb} is whole", "green"))

"""``leafspan doctor``: find and mend what is not whole in an index."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from leafspan.cli._console import console, plain
from leafspan.cli._json import print_json
from leafspan.cli._options import DEFAULT_FOLDER, AsJson, KnowledgeBase
from leafspan.index import Index
from leafspan.indexing import Finding

_MOST_ALIKE = 3  # findings of one kind that are listed; of more, these are the examples
_NUMBERS = re.compile(r"\b(\d+|[0-9a-f]{8})\b")  # counts and versions, in which findings of one kind may differ


def doctor(
    kb: KnowledgeBase = DEFAULT_FOLDER,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what is found, and change nothing.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Compare which leaves there are, and read no texts of documents that have all.")
    ] = False,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Compare every leaf in Chroma with the copies that answer questions."),
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="List each finding, also where many are alike.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find half-written documents and trees, and missing or altered leaves, and mend what can be mended.

    With --verify, also find what the copies beside Chroma have otherwise, and make it again.

    The exit code is 1 if something is still not whole; with --dry-run, if anything was found.
    """
    with Index.open(kb, create=False) as opened:
        findings = opened.doctor(mend=not dry_run, quick=quick, verify=verify)
    if as_json:
        print_json({"dry_run": dry_run, "findings": [asdict(finding) for finding in findings]})
    else:
        _print(str(kb), findings, dry_run=dry_run, every=every)
    if not all(finding.mended for finding in findings):
        raise typer.Exit(1)


def _print(kb: str, findings: Sequence[Finding], *, dry_run: bool, every: bool) -> None:
    out = console()
    kinds: dict[tuple[bool, str], list[Finding]] = {}
    for finding in findings:
        kinds.setdefault((finding.mended, _NUMBERS.sub("", finding.problem)), []).append(finding)
    for alike in kinds.values():
        if every or len(alike) <= _MOST_ALIKE:
            for finding in alike:
                _print_line(finding, finding.document_id, finding.problem)
            continue
        first = alike[0]
        named = ", ".join(each.document_id for each in alike[:_MOST_ALIKE])
        such_as = "" if all(each.problem == first.problem for each in alike) else "such as "
        _print_line(first, f"{named} and {len(alike) - _MOST_ALIKE} more", such_as + first.problem)
    if not every and any(len(alike) > _MOST_ALIKE for alike in kinds.values()):
        out.print(plain("--all lists all of them", "dim"))
    if findings and dry_run:
        out.print(plain("nothing was changed: without --dry-run, what can be mended is mended", "dim"))
    elif all(finding.mended for finding in findings):
        out.print(plain(f"{kb} is whole{' now' if findings else ''}", "green"))


def _print_line(finding: Finding, named: str, problem: str) -> None:
    state = plain("mended     ", "green") if finding.mended else plain("not mended ", "red")
    console().print(state, plain(f"{named}: {problem}"), sep="")

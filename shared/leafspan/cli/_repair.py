"""``leafspan check`` and ``leafspan repair``: find and repair damage in an index."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from leafspan.cli._console import console, first_names, plain, print_json
from leafspan.cli._options import DEFAULT_FOLDER, AsJson, EmbedderName, KnowledgeBase, open_index
from leafspan.index import Index
from leafspan.indexing import Finding

_MOST_ALIKE = 3  # listed findings of one kind; of more, these are the examples
_NUMBERS = re.compile(r"\b(\d+|[0-9a-f]{8})\b")  # counts and versions, in which findings of one kind may differ


Quick = Annotated[
    bool, typer.Option("--quick", help="Check only that no leaf is missing. Does not read the texts of complete documents.")
]
Verify = Annotated[
    bool, typer.Option("--verify", help="Also compare the leaves in Chroma with leafspan's copies, which answer questions.")
]
All = Annotated[bool, typer.Option("--all", help="List every finding, even if many are alike.")]


def check(
    kb: KnowledgeBase = DEFAULT_FOLDER,
    quick: Quick = False,
    verify: Verify = False,
    every: All = False,
    as_json: AsJson = False,
) -> None:
    """Find incomplete documents and trees, and missing or altered leaves (smallest pieces). Nothing is changed.

    To repair them, use `leafspan repair`. The exit code is 1 if anything was found.
    """
    with Index.open(kb, create=False) as opened:
        findings = opened.check(quick=quick, verify=verify)
    _show(kb, findings, repair=False, every=every, as_json=as_json)


def repair(
    kb: KnowledgeBase = DEFAULT_FOLDER,
    embedder: EmbedderName = None,
    quick: Quick = False,
    verify: Verify = False,
    every: All = False,
    as_json: AsJson = False,
) -> None:
    """Find damage as `check` does, and repair it. The exit code is 1 if something could not be repaired."""
    with open_index(kb, embedder, create=False) as opened:
        findings = opened.repair(quick=quick, verify=verify)
    _show(kb, findings, repair=True, every=every, as_json=as_json)


def _show(kb: str, findings: Sequence[Finding], *, repair: bool, every: bool, as_json: bool) -> None:
    if as_json:
        print_json({"findings": [asdict(finding) for finding in findings]})
    else:
        _print(kb, findings, repair=repair, every=every)
    if not all(finding.repaired for finding in findings):
        raise typer.Exit(1)


def _print(kb: str, findings: Sequence[Finding], *, repair: bool, every: bool) -> None:
    out = console()
    kinds: dict[tuple[bool, str], list[Finding]] = {}
    for finding in findings:
        kinds.setdefault((finding.repaired, _NUMBERS.sub("", finding.problem)), []).append(finding)
    for alike in kinds.values():
        if every or len(alike) <= _MOST_ALIKE:
            for finding in alike:
                _print_line(finding, finding.document_id, finding.problem)
            continue
        first = alike[0]
        such_as = "" if all(each.problem == first.problem for each in alike) else "such as "
        _print_line(first, first_names([each.document_id for each in alike]), such_as + first.problem)
    if not every and any(len(alike) > _MOST_ALIKE for alike in kinds.values()):
        out.print(plain("--all lists all of them", "dim"))
    if findings and not repair:
        out.print(plain("nothing was changed: leafspan repair repairs what can be repaired", "dim"))
    elif all(finding.repaired for finding in findings):
        out.print(plain(f"{kb} is whole{' now' if findings else ''}", "green"))


def _print_line(finding: Finding, named: str, problem: str) -> None:
    state = plain("repaired     ", "green") if finding.repaired else plain("not repaired ", "red")
    console().print(state, plain(f"{named}: {problem}"), sep="")

"""``leafspan copy`` and ``leafspan adopt``: copy an index, and make one of a Chroma collection."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from leafspan import adopt as adopt_collection
from leafspan.checks import shown
from leafspan.cli._console import console, first_names, plain, print_json
from leafspan.cli._options import DEFAULT_FOLDER, AsJson, EmbedderName, KnowledgeBase, named_index
from leafspan.errors import InvalidArgument
from leafspan.index import Index
from leafspan.indexing.adopting import Adopted

_PLACES = "a folder, http://host:port/name or postgresql://user@host/database"


def copy(
    source: Annotated[str, typer.Argument(help=f"The index: {_PLACES}.", parser=named_index, metavar="FROM")],
    target: Annotated[
        str,
        typer.Argument(help="The copy: a place as for FROM. A missing one is created.", parser=named_index, metavar="TO"),
    ],
    name: Annotated[str, typer.Option("--name", help="Name of the index.")] = "kb",
    to_name: Annotated[str | None, typer.Option("--to-name", help="Name of the copy. By default the index's name.")] = None,
    as_json: AsJson = False,
) -> None:
    """Copy an index with its vectors and trees. Nothing is embedded again.

    To continue an interrupted copy, run the command again. Both indexes can be searched meanwhile.
    """
    with Index.open(source, name=name, create=False) as opened:
        copied = opened.copy_to(target, name=name if to_name is None else to_name)
    if as_json:
        print_json(asdict(copied))
        return
    console().print(
        plain(
            f"{target}: {copied.documents:,} documents, {copied.leaves:,} leaves and {copied.summaries:,} summaries, as in "
            f"{source}; {copied.written:,} documents were written"
        )
    )


def adopt(
    folder: Annotated[
        Path, typer.Argument(help="The folder of the Chroma database with the collection.", show_default=False)
    ],
    collection: Annotated[
        str | None, typer.Option(help="Name of the collection.", show_default="the only one there", metavar="NAME")
    ] = None,
    kb: KnowledgeBase = DEFAULT_FOLDER,
    embedder: EmbedderName = None,
    no_join: Annotated[
        bool, typer.Option("--no-join", help="Make each record a separate document, even if it is a chunk of a text.")
    ] = False,
    rename: Annotated[
        list[str] | None,
        typer.Option(
            help="A new name for a metadata key.", metavar="KEY=NAME", show_default="adopted_KEY if it is reserved"
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be done, and change nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make an index from a Chroma collection and its vectors, which LangChain, LlamaIndex or Chroma alone has written.

    The collection must have been made with the embedder of --embedder. It is not changed. The exit code is 1 if records
    were skipped.
    """
    renamed = dict(map(_renamed, rename or []))
    report = adopt_collection(
        folder, kb, embedder=embedder, collection=collection, join=not no_join, rename=renamed, dry_run=dry_run
    )
    if as_json:
        print_json({"dry_run": dry_run, **asdict(report)})
    else:
        _print(str(kb), report, dry_run=dry_run)
    if report.skipped:
        raise typer.Exit(1)


def _renamed(pair: str) -> tuple[str, str]:
    key, equals, name = pair.partition("=")
    if not equals or not key or not name:
        raise InvalidArgument(f"--rename must be KEY=NAME, got {shown(pair)}")
    return key, name


def _print(kb: str, report: Adopted, *, dry_run: bool) -> None:
    counts = f"{len(report.added)} added, {len(report.replaced)} replaced, {report.unchanged} unchanged"
    leaves = f"{report.leaves} of {report.records} records are leaves, {report.alone} of them documents of their own"
    console().print(
        plain(f"{kb}: {counts}; "), plain(f"{leaves}{'; nothing was written' if dry_run else ''}", "dim"), sep=""
    )
    err = console(stderr=True)
    for note in report.notes:
        err.print(plain(f"note: {note}", "yellow"))
    for reason, ids in report.reasons.items():
        err.print(plain(f"skipped {first_names(ids)}: {reason}", "red"))

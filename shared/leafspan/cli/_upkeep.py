"""What keeps an index in order: ``leafspan show``, ``delete``, ``copy``, ``reembed``, ``check``, ``repair`` and others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from leafspan import adopt as adopt_collection
from leafspan.checks import shown
from leafspan.cli._console import console, first_names, plain, print_json, with_standard_input
from leafspan.cli._options import (
    DEFAULT_FOLDER,
    AsJson,
    ConfigFile,
    EmbedderName,
    KnowledgeBase,
    Where,
    named_index,
    open_index,
    parse_filter,
)
from leafspan.config import config_text
from leafspan.configuration import Config
from leafspan.errors import DocumentNotFound, InvalidArgument
from leafspan.index import Index
from leafspan.indexing import Finding, Reembedded, summaries_of
from leafspan.indexing.adopting import Adopted
from leafspan.lexical import Analyzer, BM25Settings
from leafspan.splitting import HierarchicalSplitter
from leafspan.strategies import DEFAULT


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
        list[str] | None, typer.Argument(help="Ids of documents, or - to read them from the lines of standard input.")
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


_PLACES = "a folder, http://host:port/name or postgresql://user@host/database"


def copy(
    source: Annotated[str, typer.Argument(help=f"The index: {_PLACES}.", parser=named_index, metavar="FROM")],
    target: Annotated[
        str,
        typer.Argument(help="The copy: a place as for FROM. A missing one is created.", parser=named_index, metavar="TO"),
    ],
    name: Annotated[str, typer.Option(help="Name of the index.")] = "kb",
    to_name: Annotated[str | None, typer.Option(help="Name of the copy. By default the index's name.")] = None,
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
    counts = f"{copied.documents:,} documents, {copied.leaves:,} leaves and {copied.summaries:,} summaries, as in {source}"
    console().print(plain(f"{target}: {counts}; {copied.written:,} documents were written"))


def reembed(
    kb: KnowledgeBase = DEFAULT_FOLDER,
    embedder: EmbedderName = None,
    config: ConfigFile = None,
    no_switch: Annotated[
        bool, typer.Option("--no-switch", help="Let questions go on with the old vectors, such as to compare both first.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be embedded, and change nothing.")] = False,
    drop: Annotated[
        bool, typer.Option("--delete-spare", help="Delete the old vectors after a switch, or the new ones before it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Embed all documents again, while questions go on with the old vectors, and then switch to the new ones.

    The configuration may set the embedder, splitter, context_sentences and title_weight. To continue after a failure, run
    the command again. To put the old vectors back, run it with the old embedder.
    """
    if drop and (embedder or config or no_switch or dry_run):
        raise InvalidArgument("--delete-spare goes with no other option: run it after the switch, or instead of it")
    with Index.open(kb, create=False) as opened:
        if drop:
            name = opened.delete_spare()
            result: dict[str, object] = {"deleted": name}
            said = "there is no spare edition" if name is None else f"the spare edition {name} was deleted"
        else:
            wanted = Config.of(config)
            how: dict[str, Any] = {"embedder": embedder or wanted.embedder, "splitter": wanted.splitter}
            how |= {"context_sentences": wanted.context_sentences, "title_weight": wanted.title_weight}
            done = opened.reembed(**how, dry_run=True)
            if not dry_run:
                console(stderr=True).print(plain(f"{done.texts:,} texts to embed", "dim"))
                done = opened.reembed(**how, switch=not no_switch)
            result = asdict(done)
            said = _said_of(done, dry_run=dry_run)
    if as_json:
        print_json(result)
    else:
        console().print(plain(f"{kb}: {said}"))


def _said_of(done: Reembedded, *, dry_run: bool) -> str:
    counts = f"{done.documents:,} documents, {done.texts:,} texts"
    if dry_run:
        return f"{counts} to embed; nothing was written"
    if not done.switched:
        return f"{counts} embedded as the edition {done.edition}, which answers no questions yet"
    return f"{counts} embedded; the edition {done.edition} answers questions now"


def adopt(
    folder: Annotated[Path, typer.Argument(help="The folder of the Chroma database with the collection.")],
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
        _print_adopted(str(kb), report, dry_run=dry_run)
    if report.skipped:
        raise typer.Exit(1)


def _renamed(pair: str) -> tuple[str, str]:
    key, equals, name = pair.partition("=")
    if not equals or not key or not name:
        raise InvalidArgument(f"--rename must be KEY=NAME, got {shown(pair)}")
    return key, name


def _print_adopted(kb: str, report: Adopted, *, dry_run: bool) -> None:
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
    _show_findings(kb, findings, repair=False, every=every, as_json=as_json)


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
    _show_findings(kb, findings, repair=True, every=every, as_json=as_json)


def _show_findings(kb: str, findings: Sequence[Finding], *, repair: bool, every: bool, as_json: bool) -> None:
    if as_json:
        print_json({"findings": [asdict(finding) for finding in findings]})
    else:
        _print_findings(kb, findings, repair=repair, every=every)
    if not all(finding.repaired for finding in findings):
        raise typer.Exit(1)


def _print_findings(kb: str, findings: Sequence[Finding], *, repair: bool, every: bool) -> None:
    out = console()
    kinds: dict[tuple[bool, str], list[Finding]] = {}
    for finding in findings:
        kinds.setdefault((finding.repaired, _NUMBERS.sub("", finding.problem)), []).append(finding)
    for alike in kinds.values():
        if every or len(alike) <= _MOST_ALIKE:
            for finding in alike:
                _print_finding(finding, finding.document_id, finding.problem)
            continue
        first = alike[0]
        such_as = "" if all(each.problem == first.problem for each in alike) else "such as "
        _print_finding(first, first_names([each.document_id for each in alike]), such_as + first.problem)
    if not every and any(len(alike) > _MOST_ALIKE for alike in kinds.values()):
        out.print(plain("--all lists all of them", "dim"))
    if findings and not repair:
        out.print(plain("nothing was changed: leafspan repair repairs what can be repaired", "dim"))
    elif all(finding.repaired for finding in findings):
        out.print(plain(f"{kb} is whole{' now' if findings else ''}", "green"))


def _print_finding(finding: Finding, named: str, problem: str) -> None:
    state = plain("repaired     ", "green") if finding.repaired else plain("not repaired ", "red")
    console().print(state, plain(f"{named}: {problem}"), sep="")


def config(
    file: Annotated[
        Path | None, typer.Argument(help="A configuration to check. By default the default configuration is printed.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Also print options with their default values.")] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema, which editors use to complete and check the file.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a configuration, and print it. Without a file, print the default configuration, which you can save and change.

    Use the file with --config in other commands, and with Index.open(config=...) in programs.
    """
    if schema:
        if file is not None or full:
            raise InvalidArgument("give either a file or --schema: the schema is the same for all files")
        print_json(Config.schema())
        return
    settings = _default() if file is None else Config.load(file)
    if as_json:
        print_json(settings.to_dict(full=full or file is None))
        return
    console().print(plain(config_text(settings.to_dict(full=full or file is None)).rstrip(), lines=True))


def _default() -> Config:
    return Config(
        splitter=HierarchicalSplitter(),
        context_sentences=0,
        title_weight=0.3,
        analyzer=Analyzer(),
        bm25=BM25Settings(),
        strategy=DEFAULT,
        k=5,
    )

"""``leafspan sync``: make an index have of files and folders what is there now."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from leafspan.cli._console import console, plain
from leafspan.cli._files import (
    Checksum,
    Encoding,
    Exclude,
    Glob,
    IdField,
    Outputs,
    Paths,
    Root,
    Strict,
    TextField,
    TitleField,
    check_not_empty,
    has_files,
    print_left_out,
    print_skipped,
    skipped_as_json,
)
from leafspan.cli._json import print_json
from leafspan.cli._options import DEFAULT_FOLDER, AsJson, ConfigFile, EmbedderName, NewKnowledgeBase, open_index
from leafspan.engines import is_address
from leafspan.errors import IndexNotFound
from leafspan.files import Files, no_match
from leafspan.index import Index
from leafspan.indexing import Stats, Synced, moved_warning


def sync(
    paths: Paths,
    kb: NewKnowledgeBase = DEFAULT_FOLDER,
    embedder: EmbedderName = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be done, and change nothing.")] = False,
    allow_empty: Annotated[
        bool,
        typer.Option("--allow-empty", help="Delete all documents of a path that is empty or missing."),
    ] = False,
    glob: Glob = None,
    exclude: Exclude = None,
    encoding: Encoding = None,
    text_field: TextField = "text",
    id_field: IdField = None,
    title_field: TitleField = None,
    root: Root = None,
    outputs: Outputs = False,
    checksum: Checksum = False,
    strict: Strict = False,
    workers: Annotated[
        int, typer.Option("--workers", min=0, help="Number of additional processes that read files and embed texts.")
    ] = 0,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Add new files, replace changed ones, and delete documents whose files are no longer there.

    Only documents from these files and folders can be deleted. With --glob or --exclude, only documents from files that
    match. If a file cannot be read, its name is printed, and its document stays as it is.
    """
    files = Files(
        paths,
        glob=glob or (),
        exclude=exclude or (),
        encoding=encoding,
        text_field=text_field,
        id_field=id_field,
        title_field=title_field,
        root=root,
        outputs=outputs,
        checksum=checksum,
        strict=strict,
    )
    with _opened(kb, embedder, files, config, dry_run=dry_run) as (opened, named):
        synced = sync_quietly(opened, named, dry_run=dry_run, allow_empty=allow_empty, workers=workers)
        stats = opened.stats()
    print_synced(kb, synced, stats, dry_run=dry_run, as_json=as_json)


@contextmanager
def _opened(
    kb: str, embedder: str | None, files: Files, config: Path | None, *, dry_run: bool
) -> Iterator[tuple[Index, Files]]:
    """Open the index, and return it with the files and their ids in it.

    A missing index is created, but not for paths that have no files. A dry run then uses one that does not stay.
    """
    try:
        opened = open_index(kb, embedder, create=False, config=config)
    except IndexNotFound:
        check_not_empty(files)
        if dry_run:
            root = files.root
            if root is None and not is_address(kb):
                root = Path(kb).expanduser().resolve().parent
            with (
                TemporaryDirectory(ignore_cleanup_errors=True) as folder,
                open_index(folder, embedder, config=config) as empty,
            ):
                yield empty, replace(files, root=root)
            return
        opened = open_index(kb, embedder, config=config)
    with opened:
        yield opened, files


def sync_quietly(
    index: Index, files: Files, *, dry_run: bool = False, allow_empty: bool = False, workers: int = 0
) -> Synced:
    """Sync, and suppress the warnings that are printed here or by ``print_synced`` instead."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* new documents? ha", RuntimeWarning)
        warnings.filterwarnings("ignore", "no file of a known kind", RuntimeWarning)
        if files.glob and not has_files(files):
            console(stderr=True).print(plain(no_match(files), "yellow"))
        return index.sync(files, dry_run=dry_run, allow_empty=allow_empty, workers=workers)


def print_synced(kb: str, synced: Synced, stats: Stats, *, dry_run: bool = False, as_json: bool) -> None:
    """Print what a sync did, or would do."""
    if as_json:
        print_json(
            {
                "dry_run": dry_run,
                "added": synced.added,
                "replaced": synced.replaced,
                "deleted": synced.deleted,
                "unchanged": synced.unchanged,
                "skipped": skipped_as_json(synced.skipped),
                "left_out": synced.left_out,
                "moved": synced.moved,
                "documents": stats.documents,
                "leaves": stats.leaves,
                "words": stats.words,
            }
        )
        return
    out = console()
    if dry_run:
        for mark, ids in (("+", synced.added), ("~", synced.replaced), ("-", synced.deleted)):
            for id_ in ids:
                out.print(plain(f"{mark} {id_}"))
    counts = f"{len(synced.added)} added, {len(synced.replaced)} replaced, {len(synced.deleted)} deleted"
    skipped = f", {len(synced.skipped)} skipped" if synced.skipped else ""
    out.print(
        plain(f"{kb}: {'would be ' if dry_run else ''}{counts}, {len(synced.unchanged)} unchanged{skipped}; "),
        plain(f"now {stats.documents} documents, {stats.leaves} leaves, {stats.words} words", "dim"),
        sep="",
    )
    print_skipped(synced.skipped)
    print_left_out(synced.left_out)
    if synced.moved:
        console(stderr=True).print(plain(moved_warning(synced.moved), "yellow"))

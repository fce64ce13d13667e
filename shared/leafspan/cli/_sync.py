"""``leafspan sync`` and ``leafspan index``: bring an index up to date with files and folders."""

from __future__ import annotations

import signal
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from leafspan.cli._console import console, first_names, plain, print_json, standard_input
from leafspan.cli._options import DEFAULT_FOLDER, AsJson, ConfigFile, EmbedderName, NewKnowledgeBase, named_path, open_index
from leafspan.engines import is_address
from leafspan.errors import IndexNotFound, InvalidArgument, InvalidDocument
from leafspan.files import SUFFIXES, Files, Skipped, Unreadable, check_paths, decode, files_at, no_match
from leafspan.index import Index
from leafspan.indexing import Added, Stats, Synced, moved_warning
from leafspan.splitting import HierarchicalSplitter
from leafspan.values import Document

_KINDS = 6  # named kinds of unread files

Paths = Annotated[
    list[Path],
    typer.Argument(help=f"Files ({', '.join(SUFFIXES)}), or folders of them.", parser=named_path, metavar="PATHS..."),
]
Glob = Annotated[
    list[str] | None, typer.Option(help="Read only files that match, such as '*.md' or 'guide/**/*.md'. May be repeated.")
]
Exclude = Annotated[
    list[str] | None, typer.Option(help="Leave out files and folders that match, such as 'drafts'. May be repeated.")
]
Encoding = Annotated[str | None, typer.Option(help="Encoding of files that are not valid UTF-8.")]
TextField = Annotated[str, typer.Option(help="Field with the text, in .jsonl files.")]
IdField = Annotated[
    str | None, typer.Option(help="Field with the id, in .jsonl files. By default, the id has the line's number.")
]
TitleField = Annotated[str | None, typer.Option(help="Field with the title, in .jsonl files.")]
Root = Annotated[
    Path | None,
    typer.Option(help="Document ids are paths relative to this folder. By default the folder that contains the index."),
]
Outputs = Annotated[bool, typer.Option("--outputs", help="Also read the printed output of notebooks.")]
Checksum = Annotated[
    bool, typer.Option("--checksum", help="Also read files whose size and times have not changed since the last sync.")
]
Strict = Annotated[
    bool, typer.Option("--strict", help="End with an error at the first file that cannot be read, instead of skipping it.")
]


def sync(
    paths: Paths,
    kb: NewKnowledgeBase = DEFAULT_FOLDER,
    embedder: EmbedderName = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be done, and change nothing.")] = False,
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="Delete all documents of a path that is empty or missing.")
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
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on until Ctrl-C: sync again after each change of the files.")
    ] = False,
    workers: Annotated[
        int, typer.Option(min=0, help="Number of additional processes that read files and embed texts.")
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
    if watch and dry_run:
        raise InvalidArgument("--watch syncs, and --dry-run changes nothing: give one of them")
    with _opened(kb, embedder, files, config, dry_run=dry_run, may_be_empty=watch) as (opened, named), _quietly(named):
        if watch:
            signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # which the first process of a container ignores else
            for synced in opened.watch(named, allow_empty=allow_empty, workers=workers):
                _print_synced(kb, synced, opened.stats(), as_json=as_json, one_line=True)
            return
        synced = opened.sync(named, dry_run=dry_run, allow_empty=allow_empty, workers=workers)
        _print_synced(kb, synced, opened.stats(), dry_run=dry_run, as_json=as_json)


@contextmanager
def _opened(
    kb: str, embedder: str | None, files: Files, config: Path | None, *, dry_run: bool, may_be_empty: bool
) -> Iterator[tuple[Index, Files]]:
    """Open the index, and return it with the files and their ids in it.

    A missing index is created, but not for paths that have no files. A dry run then uses one that does not stay.
    """
    try:
        opened = open_index(kb, embedder, create=False, config=config)
    except IndexNotFound:
        (check_paths if may_be_empty else _check_not_empty)(files)
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


@contextmanager
def _quietly(files: Files) -> Iterator[None]:
    """A context for a sync, without the warnings that are printed here or by ``_print_synced`` instead."""
    with warnings.catch_warnings():
        warnings.filterwarnings("always", "the watch goes on", RuntimeWarning)
        warnings.filterwarnings("ignore", ".* new documents? ha", RuntimeWarning)
        warnings.filterwarnings("ignore", "no file of a known kind", RuntimeWarning)
        if files.glob and not _has_files(files):
            console(stderr=True).print(plain(no_match(files), "yellow"))
        yield


def _print_synced(
    kb: str, synced: Synced, stats: Stats, *, dry_run: bool = False, as_json: bool, one_line: bool = False
) -> None:
    """Print what a sync did, or would do."""
    if as_json:
        print_json({"dry_run": dry_run, **_as_json(synced, stats)}, one_line=one_line)
        return
    out = console()
    if dry_run:
        for mark, ids in (("+", synced.added), ("~", synced.replaced), ("-", synced.deleted)):
            for id_ in ids:
                out.print(plain(f"{mark} {id_}"))
    counts = f"{len(synced.added)} added, {len(synced.replaced)} replaced, {len(synced.deleted)} deleted"
    _print_counts(kb, f"{'would be ' if dry_run else ''}{counts}, {len(synced.unchanged)} unchanged", synced, stats)
    if synced.moved:
        console(stderr=True).print(plain(moved_warning(synced.moved), "yellow"))


_STDIN = [Path("-")]


def index(
    paths: Paths,
    kb: NewKnowledgeBase = DEFAULT_FOLDER,
    embedder: EmbedderName = None,
    id_: Annotated[
        str | None, typer.Option("--id", help="Id of the text that is read from standard input. Needs the path `-`.")
    ] = None,
    glob: Glob = None,
    exclude: Exclude = None,
    encoding: Encoding = None,
    text_field: TextField = "text",
    id_field: IdField = None,
    title_field: TitleField = None,
    root: Root = None,
    outputs: Outputs = False,
    strict: Strict = False,
    leaf_words: Annotated[
        int | None,
        typer.Option(help="Most words of a leaf (smallest piece), 45 by default. Fixed when the index is created."),
    ] = None,
    context_sentences: Annotated[
        int | None,
        typer.Option(
            help="Number of sentences from the previous and the next leaf to index with each leaf, 0 by default. "
            "Fixed when the index is created."
        ),
    ] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Add new files to an index, replace changed ones, and skip unchanged ones.

    If a file cannot be read, its name is printed, and its document stays as it is.
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
        strict=strict,
    )
    if (paths == _STDIN) != (id_ is not None):
        raise InvalidArgument("a text on standard input needs an id, and nothing else does: leafspan index - --id ID")
    # Check the files before creating the index, so that a mistyped path leaves no empty index behind.
    if id_ is None:
        _check_not_empty(files)
    source: Files | Document = files if id_ is None else Document(id_, _standard_input(encoding))
    splitter = None if leaf_words is None else _splitter(leaf_words)
    with open_index(kb, embedder, splitter=splitter, context_sentences=context_sentences, config=config) as opened:
        added = opened.add(source)
        stats = opened.stats()
    if as_json:
        print_json(_as_json(added, stats))
        return
    counts = f"{len(added.added)} added, {len(added.replaced)} replaced, {added.unchanged} unchanged"
    _print_counts(kb, counts, added, stats)


def _as_json(done: Added | Synced, stats: Stats) -> dict[str, object]:
    return asdict(done) | {"documents": stats.documents, "leaves": stats.leaves, "words": stats.words}


def _standard_input(encoding: str | None) -> str:
    try:
        return decode(standard_input().buffer.read(), encoding or "utf-8")
    except Unreadable as error:
        raise InvalidDocument(f"standard input must be text in {encoding or 'UTF-8'}: {error}") from None


def _splitter(leaf_words: int) -> HierarchicalSplitter:
    """Return the default splitter for leaves of up to this many words."""
    parent_words = HierarchicalSplitter().parent_words[0]
    if not 0 < leaf_words < parent_words:
        rule = f"--leaf-words must be from 1 to {parent_words - 1}, as parents have {parent_words}"
        raise InvalidArgument(f"{rule}, got {leaf_words}")
    return HierarchicalSplitter(leaf_words)


def _has_files(files: Files) -> bool:
    return any(isinstance(file, Path) for named in files.named for file in files_at(named, files))


def _check_not_empty(files: Files) -> None:
    """Check that all paths exist, and that there is at least one file."""
    check_paths(files)
    if not _has_files(files):
        if files.glob:
            raise InvalidDocument(no_match(files))
        folders = ", ".join(map(str, files.named))
        raise InvalidDocument(f"there are no files of a known kind ({', '.join(SUFFIXES)}) in {folders}")


def _print_counts(kb: str, counts: str, done: Added | Synced, stats: Stats) -> None:
    skipped = f", {len(done.skipped)} skipped" if done.skipped else ""
    now = f"now {stats.documents} documents, {stats.leaves} leaves, {stats.words} words"
    console().print(plain(f"{kb}: {counts}{skipped}; "), plain(now, "dim"), sep="")
    _print_skipped(done.skipped)
    _print_left_out(done.left_out)


def _print_skipped(skipped: Sequence[Skipped]) -> None:
    """Print to standard error which files could not be read, grouped by reason."""
    by_reason = defaultdict(list)
    for each in skipped:
        by_reason[each.reason].append(each.path)
    for reason, paths in by_reason.items():
        console(stderr=True).print(plain(f"skipped {first_names(paths)}: {' '.join(reason.split())}", "yellow"))


def _print_left_out(left_out: Mapping[str, int]) -> None:
    """Print to standard error how many files are of kinds that are not read."""
    if left_out:
        indexes_first = sorted(left_out.items(), key=lambda each: not each[0].startswith("index "))
        kinds = [f"{count:,} {kind}" for kind, count in indexes_first]
        others = f" and {len(kinds) - _KINDS} other kinds" if len(kinds) > _KINDS else ""
        counts = f"left out, since they are not read: {', '.join(kinds[:_KINDS])}{others}"
        console(stderr=True).print(plain(counts, "dim"))

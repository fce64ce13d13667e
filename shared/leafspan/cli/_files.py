"""The options of commands that read files, and their reports of unreadable files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from leafspan.cli._console import console, plain
from leafspan.cli._options import named_path
from leafspan.errors import InvalidDocument
from leafspan.files import SUFFIXES, Files, Skipped, check_paths, files_at, no_match

_KINDS = 6  # named kinds of unread files
_SHOWN = 3  # named files for each reason

Paths = Annotated[
    list[Path],
    typer.Argument(
        help=f"Files ({', '.join(SUFFIXES)}), or folders of them.",
        show_default=False,
        parser=named_path,
        metavar="PATHS...",
    ),
]
Glob = Annotated[
    list[str] | None,
    typer.Option("--glob", help="Read only files that match, such as '*.md' or 'guide/**/*.md'. May be repeated."),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", help="Leave out files and folders that match, such as 'drafts'. May be repeated."),
]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", help="Encoding of files that are not valid UTF-8."),
]
TextField = Annotated[str, typer.Option("--text-field", help="Field with the text, in .jsonl files.")]
IdField = Annotated[
    str | None,
    typer.Option("--id-field", help="Field with the id, in .jsonl files. By default, the id has the line's number."),
]
TitleField = Annotated[str | None, typer.Option("--title-field", help="Field with the title, in .jsonl files.")]
Root = Annotated[
    Path | None,
    typer.Option(
        "--root", help="Document ids are paths relative to this folder. By default the folder that contains the index."
    ),
]
Outputs = Annotated[bool, typer.Option("--outputs", help="Also read the printed output of notebooks.")]
Checksum = Annotated[
    bool, typer.Option("--checksum", help="Also read files whose size and times have not changed since the last sync.")
]
Strict = Annotated[
    bool, typer.Option("--strict", help="End with an error at the first file that cannot be read, instead of skipping it.")
]


def has_files(files: Files) -> bool:
    """Whether there is a file to read."""
    return any(isinstance(found, Path) for named in files.named for found in files_at(named, files))


def check_not_empty(files: Files) -> None:
    """Check that all paths exist, and that there is at least one file.

    Raises:
        InvalidDocument: if a path does not exist, or there is no file.
    """
    check_paths(files)
    if not has_files(files):
        if files.glob:
            raise InvalidDocument(no_match(files))
        folders = ", ".join(map(str, files.named))
        raise InvalidDocument(f"there are no files of a known kind ({', '.join(SUFFIXES)}) in {folders}")


def print_skipped(skipped: Sequence[Skipped]) -> None:
    """Print to standard error which files could not be read, grouped by reason."""
    by_reason = defaultdict(list)
    for each in skipped:
        by_reason[each.reason].append(each.path)
    for reason, paths in by_reason.items():
        names = ", ".join(paths[:_SHOWN]) + (f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else "")
        console(stderr=True).print(plain(f"skipped {names}: {' '.join(reason.split())}", "yellow"))


def print_left_out(left_out: Mapping[str, int]) -> None:
    """Print to standard error how many files are of kinds that are not read."""
    if left_out:
        indexes_first = sorted(left_out.items(), key=lambda each: not each[0].startswith("index "))
        kinds = [f"{count:,} {kind}" for kind, count in indexes_first]
        others = f" and {len(kinds) - _KINDS} other kinds" if len(kinds) > _KINDS else ""
        counts = f"left out, since they are not read: {', '.join(kinds[:_KINDS])}{others}"
        console(stderr=True).print(plain(counts, "dim"))


def skipped_as_json(skipped: Sequence[Skipped]) -> list[dict[str, str]]:
    """Return the unreadable files for JSON."""
    return [{"path": each.path, "reason": each.reason} for each in skipped]

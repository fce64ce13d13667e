"""``leafspan tree build``: build the trees of an index."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from leafspan.cli._console import console, plain
from leafspan.cli._json import print_json
from leafspan.cli._options import DEFAULT_FOLDER, AsJson, EmbedderName, KnowledgeBase, open_index
from leafspan.indexing import summaries_of
from leafspan.trees import Abstractive, Extractive, TreesBuilt

_SHOWN = 20  # printed failed summaries


def build(
    kb: KnowledgeBase = DEFAULT_FOLDER,
    embedder: EmbedderName = None,
    across_documents: Annotated[
        bool,
        typer.Option("--across-documents", help="Also build layers of summaries above the trees, over all documents."),
    ] = False,
    partition_by: Annotated[
        str | None,
        typer.Option(
            help="Also build layers above the trees, one group for each value of this metadata key.", metavar="KEY"
        ),
    ] = None,
    max_layers: Annotated[int, typer.Option(help="Most layers of a document's tree, and most layers above the trees.")] = 5,
    max_words: Annotated[
        int | None,
        typer.Option(help="Most words of a summary, 75 by default. If given, trees with other summaries are built again."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be done, and change nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Build a tree of summaries over each document. Trees that are up to date are skipped.

    A summary consists of sentences from the texts. No language model is asked. The exit code is 1 if a summary failed.
    """
    # Without --max-words no summarizer is named, so that a language model's trees are not replaced by mistake.
    summarizer = None if max_words is None else Extractive(max_words=max_words)
    with open_index(kb, embedder, create=False) as opened:

        def build_with(summarizer: object) -> TreesBuilt:
            return opened.build_tree(
                summarizer=summarizer,
                max_layers=max_layers,
                across_documents=across_documents,
                partition_by=partition_by,
                dry_run=dry_run,
            )

        result = build_with(summarizer)
        if as_json:
            print_json({"dry_run": dry_run, **_as_json(result)})
            raise typer.Exit(1 if result.failed else 0)
        if dry_run:
            language_model = Abstractive(generate="".join, max_words=max_words or Extractive().max_words)
            _print_dry_run(str(kb), result, build_with(language_model), console())
            return
        stats = opened.stats()
    now = f"now {stats.trees} {'tree' if stats.trees == 1 else 'trees'}, {summaries_of(stats)}"
    console().print(plain(f"{kb}: {_counts(result)}; "), plain(now, "dim"), sep="")
    for failed in result.failed[:_SHOWN]:
        console(stderr=True).print(plain(f"failed: {failed.tree}, layer {failed.layer}: {failed.error}", "red"))
    if len(result.failed) > _SHOWN:
        console(stderr=True).print(plain(f"and {len(result.failed) - _SHOWN:,} more failed", "red"))
    if result.failed:
        raise typer.Exit(1)


def _as_json(result: TreesBuilt) -> dict[str, Any]:
    failed = [{"tree": each.tree, "layer": each.layer, "error": str(each.error)} for each in result.failed]
    counts = {name: getattr(result, name) for name in ("built", "unchanged", "summaries", "asked")}
    return {**counts, "failed": failed}


def _counts(result: TreesBuilt) -> str:
    return (
        f"trees: {len(result.built)} built, {result.unchanged} unchanged; "
        f"summaries: {result.summaries} written, {result.share_asked:.0%} newly made, {len(result.failed)} failed"
    )


def _print_dry_run(kb: str, result: TreesBuilt, with_model: TreesBuilt, out: Console) -> None:
    """Print what a build would do, and what it would cost with a language model.

    Args:
        kb: Folder of the index.
        result: Result of the dry run.
        with_model: Result of a dry run with a language model.
        out: Where to print.
    """
    trees = f"trees: {len(result.built)} to build, {result.unchanged} unchanged"
    out.print(plain(f"{kb}: {trees}; summaries: {result.summaries}, extracted, so no call and no tokens"))
    tokens = f"about {_tokens(with_model.words_sent):,} tokens sent and {_tokens(with_model.words_received):,} received"
    out.print(plain(f"all {with_model.summaries} by a language model instead: {with_model.asked} calls, {tokens}", "dim"))


def _tokens(words: int) -> int:
    """Estimate the tokens of these words: a token is about three quarters of an English word."""
    return round(words * 4 / 3)

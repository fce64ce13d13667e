"""``leafspan report``: write what strategies find for questions as one HTML file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from leafspan.checks import check_number
from leafspan.cli import (
    DEFAULT_FOLDER,
    STRATEGIES,
    AsJson,
    ConfigFile,
    EmbedderName,
    KnowledgeBase,
    Where,
    console,
    is_standard_output,
    named_path,
    open_index,
    parse_filter,
    plain,
    print_json,
    strategy_named,
    with_answer_probability,
    with_standard_input,
    worth_printing,
)
from leafspan.config import config_name
from leafspan.errors import InvalidArgument
from leafspan.files import is_report
from leafspan.index import Index
from leafspan.lab.commands._files import check_output
from leafspan.retrieval import Passages
from leafspan.values import Passage


def report(
    questions: Annotated[
        list[str] | None,
        typer.Argument(help="Questions, or - to read one from each line of standard input.", show_default=False),
    ] = None,
    kb: KnowledgeBase = DEFAULT_FOLDER,
    embedder: EmbedderName = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The file to write, or - for standard output. Only an earlier report is replaced.",
            parser=named_path,
        ),
    ] = Path("report.html"),
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            "--strategy",
            "-s",
            help=f"One of {', '.join(STRATEGIES)}. May be repeated. By default the configuration's strategy, or "
            "relevant-segments.",
            autocompletion=lambda: [*STRATEGIES],
        ),
    ] = None,
    config: ConfigFile = None,
    questions_file: Annotated[
        Path | None, typer.Option("--questions", help="A file with a question on each line.", parser=named_path)
    ] = None,
    k: Annotated[int | None, typer.Option("-k", help="Most passages. By default 5; no limit with --budget.")] = None,
    budget: Annotated[int | None, typer.Option(help="Most words in all passages together.")] = None,
    where: Where = None,
    min_score: Annotated[
        float | None,
        typer.Option(
            help="Lowest score of a passage. By default probabilities below 0.0005 are left out, unless all are so low."
        ),
    ] = None,
    min_answer_probability: Annotated[
        float | None,
        typer.Option(
            help="Show no passage if an answer in the index is less probable, in [0, 1]. For strategies over hybrid."
        ),
    ] = None,
    trees: Annotated[bool, typer.Option("--trees", help="Also show the trees of the documents that were found.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file that is not a report.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the passages for questions into an HTML file, with their places in the documents, and why they were found.

    The file needs no other files, and runs no script. Several strategies are shown side by side.
    """
    from leafspan.lab.pictures import Answered  # not at the top: other commands need not load it

    check_output(output, force=force or (output.is_file() and is_report(output)))
    wanted = _all_questions(questions or [], questions_file)
    chosen = {each: strategy_named(each) for each in strategy or []}
    options: dict[str, Any] = {"k": k, "budget": budget, "where": parse_filter(where)}
    answers = []
    if min_score is not None:
        check_number("min_score", min_score)
    with open_index(kb, embedder, create=False, config=config) as opened:
        if not chosen:
            chosen = {config_name(type(opened.default_strategy)): opened.default_strategy}
        if min_answer_probability is not None:
            chosen = {name: with_answer_probability(each, min_answer_probability, name) for name, each in chosen.items()}
        # If it replaces one in the configuration. Else all passages are found, to say how many are left out.
        options["min_score"] = None if opened.default_limits.min_score is None else min_score
        for question in wanted:
            results = {name: opened.retrieve(question, each, **options) for name, each in chosen.items()}
            kept = {name: worth_printing(row, min_score) for name, row in results.items()}
            answers.append(Answered(question, kept, _places(results.values())))
        page = _page(opened, answers, trees=trees, strategies=", ".join(chosen))
    if is_standard_output(output):
        typer.get_binary_stream("stdout").write(page.encode())
        return
    output.write_text(page, encoding="utf-8")
    passages = sum(len(row) for each in answers for row in each.results.values())
    if as_json:
        print_json({"output": str(output), "questions": len(answers), "strategies": [*chosen], "passages": passages})
    else:
        many = "1 question" if len(answers) == 1 else f"{len(answers)} questions"
        console().print(plain(f"wrote {output}: {many}, passages: {passages}"))


def _all_questions(questions: list[str], file: Path | None) -> list[str]:
    """Return the questions, each once."""
    lines = [*with_standard_input(questions)]
    if file is not None:
        try:
            lines += file.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError:
            raise InvalidArgument(f"the file of --questions must be text in UTF-8, got {str(file)!r}") from None
    questions = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not questions:
        raise InvalidArgument("there must be at least one question, as an argument, on standard input or by --questions")
    return questions


def _places(results: Iterable[list[Passage]]) -> Callable[[str], list[tuple[int, int]]] | None:
    """A function that finds the question's words in a text. It is the same for all of the question's results."""
    return next((each.words for each in results if isinstance(each, Passages)), None)


def _page(index: Index, answers: list[Any], *, trees: bool, strategies: str) -> str:
    from leafspan.lab.pictures import facts_of, index_picture, tree_picture
    from leafspan.lab.pictures import report as report_page

    appendix: dict[str, Any] = {}
    if trees:
        passages = [passage for each in answers for row in each.results.values() for passage in row]
        ids = dict.fromkeys(passage.document_id for passage in passages if passage.document_id)
        listed = [summaries for id_ in ids if (summaries := index.summaries(id_, leaves=True))]
        appendix["Trees"] = [tree_picture(each) for each in listed or [[]]]
    appendix["Index"] = index_picture(repr(index), facts_of(index.stats()), index.documents())
    return report_page(f"{index!r}, {strategies}", answers, appendix)

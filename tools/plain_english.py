"""Finds phrases and names that have to be read twice: python tools/plain_english.py [PATH ...]

It looks in pages, docstrings, comments and messages (strings of more than a word), and at the names of functions, classes,
variables and parameters. It exits with 1 if it finds one. ``ALLOWED`` and ``OLD_NAMES`` have the exceptions.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
WHERE = (
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "docs",
    "examples",
    "shared",
    "langchain_ext",
    "llamaindex_ext",
    "tests",
    "tools",
    "benchmarks",
)

PHRASES = {  # a phrase, and what to write instead
    r"\b(?:that|those) of\b": "the noun again",
    r"(?<!each\s)(?<!one\s)\bof (?:which|whom)\b": "two sentences",
    r"\b(?:is|are|was|were|has|have|if|gives?|returns?|found) (?-i:none)\b": "a verb with not, or no and the noun",
    r"\b(?-i:none) (?:is|are|was|were|has|have|if)\b": "a verb with no and the noun",
    r"\bmend(?:s|ed|ing)?\b": "repair",
    r"\b(?:is|are|was|were|be|been) told\b": "the actor and what it passes",
    r"\bwhatever\b": "even if, or the noun",
    r"\banew\b": "again",
    r"\bgo(?:es)? by\b": "uses, or follows",
    r"\bstands? (?:in|at|above|below|under|there|here|beside|behind|once)\b": "is, or the field's verb",
    r"\bin place of\b": "instead of",
    r"\bbut for\b": "except",
    r"\bfor good\b": "permanently",
    r"\b(?:its|the|a) begin\b": "start",
    r"\bhas \d\.\d+ of\b": "is N % faster or slower than",
    r"\bso many\b|\bas many .{1,40}? as there are\b": "the number of",
    r"\bmirrors?\b": "segments",
    r"\bwhosoever|whichever|wherefrom|therein|thereof|hence|thus\b": "a plain word",
    r"\bsuch as (?:are|is)\b": "a plain clause",
    r"\bis to be\b|\bare to be\b": "must be, or the actor and its verb",
    r"\bas it were\b": "leave it out",
    r"\bsimply\b|\bnote that (?:the|this|you|it|a|an)\b": "leave it out",
}
PATTERN = re.compile("|".join(f"({phrase})" for phrase in PHRASES).replace(" ", r"\s+"), re.IGNORECASE)

REFUSED = {  # a word of a name, and what to write instead
    "whatever": "at_least, any, or the noun",
    "whichever": "any, or the noun",
    "anew": "again, or rebuild",
    "mend": "repair",
    "mends": "repair",
    "mended": "repair",
    "doubt": "suspect, or uncertain",
    "doubts": "suspicions, or the number",
}
PARTICIPLES = {"found", "given", "known", "asked", "met", "told", "there", "at_hand"}
"""Whole names for which the noun of what they hold is better."""

OLD_NAMES = (
    "examples/",
    "tests/",
    "tools/",
    "benchmarks/",
)
"""Rooms whose names are not checked yet; of the tests, tools and benchmarks, only participles are left."""

ALLOWED = {
    ("shared/leafspan/lab/explaining/_explanation.py", "found"),  # an attribute of a public class
    ("shared/leafspan/lab/evaluation/_tuning.py", "given"),  # an argument of public methods
    ("shared/leafspan/private/pseudonyms/_entities.py", "Found"),  # a public class
    ("shared/leafspan/private/views/_private_view.py", "known"),  # an argument of a public function
    ("shared/leafspan/trees/_plan.py", "asked"),  # an attribute of a public class
    ("shared/leafspan/lexical/_analysis.py", "asked"),  # an argument of a public class
    ("shared/leafspan/store/_folder_store.py", "anew"),  # the name of an argument
    ("shared/leafspan/segments/__init__.py", "mirror"),  # the name of a class
    ("shared/leafspan/configuration.py", "given"),  # a parameter of public methods
    ("shared/leafspan/hosting/_retriever.py", "given"),
    ("shared/leafspan/strategies/_strategy.py", "given"),
    ("tests/durability/test_forks.py", "mirror"),
    ("tests/cli/test_cli.py", "stands in"),  # a sentence of traces
    ("tests/strategies/test_hybrid.py", "stands beside"),
    ("shared/leafspan/trace.py", "stands in"),  # a sentence of traces, which stored results contain
    ("shared/leafspan/trace.py", "stands beside"),
    ("shared/leafspan/trace.py", "stands below"),
}
"""Files and phrases, or public names, that stay."""


def main(paths: list[str]) -> int:
    """Print the findings."""
    findings = 0
    for path in files([Path(each) for each in paths] or [ROOT / each for each in WHERE]):
        if path == Path(__file__):
            continue  # it quotes the phrases
        name = str(path.resolve().relative_to(ROOT)) if path.resolve().is_relative_to(ROOT) else str(path)
        for line, said in sorted([*phrases(path, name), *names(path, name)]):
            findings += 1
            print(f"{name}:{line}: {said}")
    if findings:
        print(f"{findings} phrases and names that have to be read twice")
    return 1 if findings else 0


def files(paths: list[Path]) -> Iterator[Path]:
    """The pages and modules below the paths."""
    for path in paths:
        yield from sorted(each for each in path.rglob("*") if each.suffix in (".md", ".py")) if path.is_dir() else [path]


def phrases(path: Path, name: str) -> Iterator[tuple[int, str]]:
    """Each phrase that ``PHRASES`` has, with its line."""
    for line, text in texts(path):
        for match in PATTERN.finditer(text):
            if (name, match[0].lower()) not in ALLOWED:
                around = " ".join(text[max(0, match.start() - 30) : match.end() + 30].split())
                better = list(PHRASES.values())[(match.lastindex or 1) - 1]
                yield line + text.count("\n", 0, match.start()), f"{match[0]!r} in “{around}”: write {better}"


def names(path: Path, name: str) -> Iterator[tuple[int, str]]:
    """Each name that ``REFUSED`` or ``PARTICIPLES`` has, with its line."""
    is_old = name.startswith(OLD_NAMES)
    for line, each in named(path) if path.suffix == ".py" else ():
        plain = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", each).lower().strip("_")
        for word in sorted(REFUSED.keys() & set(plain.split("_"))):
            if not is_old or name.startswith(("tests/", "tools/", "benchmarks/")):
                yield line, f"the name {each}: write {REFUSED[word]}"
        if plain in PARTICIPLES and not is_old and (name, each) not in ALLOWED:
            yield line, f"the name {each}: write the noun"


def named(path: Path) -> Iterator[tuple[int, str]]:
    """The names that a module gives, with their lines."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """A page's prose, or a module's strings and comments, each with the number of its first line."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        prose = re.sub(r"(?ms)^```.*?^```", lambda block: re.sub(r"[^\n]", " ", block[0]), text)
        yield 1, re.sub(r"`[^`\n]*`|\]\([^)\n]*\)", lambda code: "·" * len(code[0]), prose)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING, FSTRING) and " " in token.string:
            yield token.start[0], re.sub(r"``[^`]*``", lambda code: "·" * len(code[0]), token.string)


FSTRING = getattr(tokenize, "FSTRING_MIDDLE", -1)  # from Python 3.12 on

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Writes the ``Args:`` of every retriever of both adapters, so that an editor shows each option with its range and default.

    python tools/adapter_docs.py            rewrites the docstrings in place
    python tools/adapter_docs.py --check    names the files that are out of date, and exits with 1 if there are any

A strategy's own options are described by the core's docstring of the strategy, and those of a call by that of
``View.retrieve``. What the hosts add is described below. What stands before ``Args:`` in a docstring is written by hand.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import langchain_ext
import llamaindex_ext
from leafspan import View

WIDTH = 124


@dataclass(frozen=True)
class Host:
    """A host, with what is said of options there.

    Attributes:
        name: Its name.
        package: The adapter for it.
        k: Its name for ``k``.
        common: Entries of the options that every retriever has behind those of its strategy; an empty one is the core's.
        llm: What a language model is there.
        chooser: What else can choose there.
        transformer: What else can say there what is searched.
        reranker: What reorders results there.
        raises: The ``Raises:`` of every retriever.
    """

    name: str
    package: ModuleType
    k: str
    common: dict[str, str]
    llm: str
    chooser: str
    transformer: str
    reranker: str
    raises: str


_OF_A_CALL = ("k", "candidates", "budget", "where", "min_score")
_TIMEOUT = (
    "Seconds, > 0, after which a call ends with a ``RetrievalTimeout``, whatever it waits for: ``timeout`` of the core's "
    "``retrieve``. Default: none."
)

LANGCHAIN = Host(
    "LangChain",
    langchain_ext,
    "k",
    {
        **dict.fromkeys(_OF_A_CALL, ""),
        "retrieval_timeout": _TIMEOUT,
        "filter_policy": 'Which filter holds if a call brings one, too: ``"replace"`` for that of the call, ``"merge"`` '
        'for both. Only ``"merge"`` can guard the documents of a tenant. Default: ``"replace"``.',
        "explain": "Whether each Document has a ``trace`` in its metadata: sentences that say how it was found. "
        "Default: False.",
    },
    "LangChain chat model, LLM, or any other Runnable from a prompt to a message or a text, which is asked for {task}. "
    "Default: none is asked.",
    "A Runnable from a question to these can take its place.",
    "A Runnable can be the function.",
    "LangChain document compressor",
    "ValidationError: if an option is unknown or out of its range. It is pydantic's, and holds the core's InvalidArgument.",
)
LLAMAINDEX = Host(
    "LlamaIndex",
    llamaindex_ext,
    "similarity_top_k",
    {
        **dict.fromkeys(_OF_A_CALL, ""),
        "retrieval_timeout": _TIMEOUT,
        "filter_policy": 'Which filter holds if a call brings one, too: ``"replace"`` for that of the call, ``"merge"`` '
        'for both. Only ``"merge"`` can guard the documents of a tenant. Default: ``"replace"``.',
        "explain": "Whether each result is a ``NodeWithTrace``, with sentences that say how it was found. Default: False.",
        "callback_manager": "Callback manager of LlamaIndex. Default: one without handlers.",
        "object_map": "Objects that index nodes stand for, by id, as in any retriever of LlamaIndex. Default: none.",
        "objects": "Index nodes with their objects, in place of ``object_map``. Default: none.",
        "verbose": "Whether LlamaIndex prints from which objects it retrieves. Default: False.",
    },
    "LlamaIndex LLM that is asked for {task}; never the one of ``Settings``. Default: none is asked.",
    "A selector of LlamaIndex can take its place.",
    "A query transform of LlamaIndex can be the function.",
    "LlamaIndex node postprocessor",
    "InvalidArgument: if an option is unknown or out of its range.",
)
HOSTS = (LANGCHAIN, LLAMAINDEX)

_PHRASINGS = "more phrasings"
_TASKS = {  # by strategy: what its language model is asked for
    "PropertyGraph": "keywords",
    "Router": "names of retrievers",
    "SQL": "SQL",
    "RewriteQuery": "what to search, unless ``how`` is a function",
}
_INDEX = "Index to search, or a view of one."
_STRATEGY = (
    'Strategy of the core, or one of your own; its name, such as ``"hybrid"``; or a mapping such as ``Strategy.to_config`` '
    "gives. Default: that of the index's configuration, or ``RelevantSegments()``."
)
_BASE = (
    "A {host} retriever can take its place: one of this package over the same index counts as its strategy, and any other "
    "has to return leaves of the index."
)
_OPEN_BASE = (
    "A {host} retriever can take its place: one of this package over the same index counts as its strategy. What others "
    "return are passages of their own kind, unless they have the ids of leaves of the index."
)
_RERANKER = "Or a {host}: what it leaves out is left out, and its order is kept."
_MANY = ("A {host} retriever can take its", "{host} retrievers can take their")
_NO_INDEX = "Default: none, for what searches other sources only."
_BASE_OF_TREES = "A retriever of this package over the same index can take its place."
_K_OF = {
    "Tree": "Default: 5, or any number if a budget is given, in a traversal, and with ``top_k`` or ``min_score``.",
    "SQL": "Default: any number, up to ``row_limit``.",
}


def entries_of(docstring: str) -> dict[str, str]:
    """The entries of the ``Args:`` of a docstring, each in one line, by the names of the options."""
    _, _, rest = inspect.cleandoc(docstring).partition("\nArgs:\n")
    section = re.split(r"\n(?=\S)", rest, maxsplit=1)[0]
    entries = re.findall(r"^    (\w+): (.*(?:\n {8,}.*)*)", section, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in entries}


def entries_for(retriever: type, host: Host) -> dict[str, str]:
    """The entries of a retriever, by the names of its options: the index, those of its strategy, and the common ones."""
    strategy: type | None = getattr(retriever, "kind", None)
    entries = {"index": _INDEX if needs_index(retriever) else f"{_INDEX} {_NO_INDEX}"}
    own = {"strategy": _STRATEGY} if strategy is None else entries_of(strategy.__doc__ or "")
    for name, text in own.items():
        if name == "generate":
            entries["llm"] = host.llm.format(task=_TASKS.get(strategy.__name__, _PHRASINGS) if strategy else _PHRASINGS)
        elif name == "min_score" or name not in (*_OF_A_CALL, "agenerate"):
            entries[name] = _for_host(name, text, retriever, host)
    of_a_call = entries_of(View.retrieve.__doc__ or "")
    for name, text in host.common.items():
        entries.setdefault(host.k if name == "k" else name, text or _for_host(name, of_a_call[name], retriever, host))
    return entries


def needs_index(retriever: type) -> bool:
    """Whether a retriever cannot do without an index, since it finds leaves or merges or widens them."""
    return any(each.__name__ in ("LeafRetriever", "BasedLeafRetriever") for each in retriever.__mro__)


def _for_host(name: str, text: str, retriever: type, host: Host) -> str:
    """An entry of the core's as it holds for a retriever."""
    kind = retriever.kind.__name__ if hasattr(retriever, "kind") else ""
    bases = _BASE if needs_index(retriever) else _OPEN_BASE
    before, _, default = text.partition(" Default:")
    if name == "base":
        text = f"{before} {_BASE_OF_TREES if kind == 'Tree' else bases} Default:{default}"
    elif name == "rerank":
        text = f"{before} {_RERANKER.replace('{host}', host.reranker)} Default:{default}"
    elif name == "choose":
        text = f"{before} {host.chooser} Default:{default}"
    elif name == "how":
        text = f"{before} {host.transformer} Default:{default}"
    elif name in ("retrievers", "targets"):
        text = f"{text} {bases.replace(*_MANY)}"
    elif name == "k" and kind in _K_OF:
        text = f"{before} {_K_OF[kind]}"
    words = {"see above": f"see the core's ``{kind}``", "4 * k": f"4 * {host.k}", "``k``": f"``{host.k}``"}
    for word, here in {**words, "{host}": host.name}.items():
        text = text.replace(word, here)
    return text


def docstring_for(retriever: type, host: Host) -> str:
    """The docstring of a retriever as it stands in its file, with what was written by hand as it is."""
    by_hand, _, _ = inspect.cleandoc(retriever.__doc__ or "").partition("\n\nArgs:\n")
    lines = [*by_hand.splitlines(), "", "Args:"]
    for name, text in entries_for(retriever, host).items():
        lines += _wrapped(f"{name}: {text}")
    lines += ["", "Raises:", *_wrapped(host.raises)]
    return textwrap.indent("\n".join(['"""' + lines[0], *lines[1:], '"""']), " " * 4) + "\n"


def _wrapped(entry: str) -> list[str]:
    """An entry in lines, with no break in what stands between backticks."""
    whole = re.sub(r"``.*?``", lambda code: code[0].replace(" ", "\0"), entry)
    lines = textwrap.wrap(
        whole,
        WIDTH - 4,
        initial_indent=" " * 4,
        subsequent_indent=" " * 8,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\0", " ") for line in lines]


def retrievers_of(host: Host) -> list[type]:
    """The retrievers that an adapter lists."""
    return [getattr(host.package, name) for name in host.package.__all__ if name.endswith("Retriever")]


def source_with_docs(retriever: type, host: Host) -> tuple[Path, str, str]:
    """The file of a retriever, its text, and its text as it should be."""
    path = Path(inspect.getfile(retriever))
    text = path.read_text(encoding="utf-8")
    [node] = [each for each in ast.parse(text).body if isinstance(each, ast.ClassDef) and each.name == retriever.__name__]
    docstring = node.body[0]
    assert docstring.end_lineno is not None
    lines = text.splitlines(keepends=True)
    lines[docstring.lineno - 1 : docstring.end_lineno] = [docstring_for(retriever, host)]
    return path, text, "".join(lines)


def main(arguments: list[str]) -> int:
    """Write the docstrings, or check them; the exit code."""
    if arguments not in ([], ["--check"]):
        sys.stderr.write("usage: python tools/adapter_docs.py [--check]\n")
        return 2
    outdated = 0
    for host in HOSTS:
        for retriever in retrievers_of(host):
            path, text, expected = source_with_docs(retriever, host)
            if text == expected:
                continue
            outdated += 1
            if arguments:
                sys.stdout.write(f"{path.parent.name}/{path.name} is out of date: run python tools/adapter_docs.py\n")
            else:
                path.write_text(expected, encoding="utf-8")
                sys.stdout.write(f"{path.parent.name}/{path.name} was rewritten\n")
    return 1 if arguments and outdated else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The docstrings of a host's retrievers: the class's own text, and the core's description of each option."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from leafspan.hosting._options import CALL_OPTIONS
from leafspan.view import View

T = TypeVar("T", bound=type)
F = TypeVar("F", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class HostWords:
    """A host's descriptions of the options that it adds, or that take other values there."""

    name: str
    k: str  # its name for ``k``
    llm: str  # its description of a language model; ``{task}`` is what leafspan asks the model for
    chooser: str
    transformer: str  # other ways to rewrite a query in this host
    reranker: str  # its kind of reranker
    own: Mapping[str, str]  # entries of the options that only its retrievers have
    raises: str  # what a wrong option raises in this host
    prompts: str = ""  # another way to read and change a prompt in this host


_WIDTH = 120
_OF_ALL = {
    **dict.fromkeys(CALL_OPTIONS, ""),  # as the core describes them
    "retrieval_timeout": "Seconds, > 0, after which a call ends with a ``RetrievalTimeout``, as with "
    "``timeout`` of the core's ``retrieve``. Default: no limit.",
    "filter_policy": 'Which filter holds if a call has one, too: ``"replace"``: only the call\'s filter, ``"merge"``: '
    'both. Only ``"merge"`` can guard the documents of a tenant. Default: ``"replace"``.',
}
_TASKS = {  # by strategy: what leafspan asks its language model for
    "PropertyGraph": "keywords",
    "Router": "names of retrievers",
    "SQL": "SQL",
    "RewriteQuery": "what to search, unless ``how`` is a function",
}
_INDEX = "Index to search, or a view of one."
_NO_INDEX = "Default: none, for a retriever that searches other sources only."
_STRATEGY = (
    'Strategy of the core, or one of your own; its name, such as ``"hybrid"``; or a mapping such as ``Strategy.to_config`` '
    "returns. Default: the strategy of the index's configuration, or ``RelevantSegments()``."
)
_BASE = "Or {host} {retrievers}: leafspan treats a retriever of this package over the same index as its strategy. "
_OF_LEAVES = "Any other has to return leaves of the index."
_OF_ANYTHING = "Results of others are passages of their own kind, unless they have the ids of leaves of the index."
_ONLY = {  # by strategy and option: differences from the core
    ("Tree", "base"): "Or a retriever of this package over the same index.",
    ("Tree", "k"): "Default: 5, or any number if a budget is given, in a traversal, and with ``top_k`` or ``min_score``.",
    ("SQL", "k"): "Default: any number, up to ``row_limit``.",
}


class _Docstring:
    """A class's docstring, composed when it is read."""

    def __init__(self, by_hand: str, words: HostWords) -> None:
        self._by_hand = by_hand
        self._words = words

    def __get__(self, instance: object, owner: type) -> str:
        lines = [*inspect.cleandoc(self._by_hand).splitlines(), "", "Args:"]
        for name, text in entries_for(owner, self._words).items():
            lines += _wrapped(f"{name}: {text}")
        return "\n".join([*lines, "", "Raises:", *_wrapped(self._words.raises)])


def described(words: HostWords) -> Callable[[T], T]:
    """A decorator that gives a host's retriever a docstring with all of its options."""

    def decorate(retriever: T) -> T:
        retriever.__doc__ = _Docstring(retriever.__doc__ or "", words)  # type: ignore[assignment]
        return retriever

    return decorate


def described_as(like: Callable[..., object], **own: str) -> Callable[[F], F]:
    """A decorator that adds the docstring entries of ``like`` to a host's function, after its own entries."""

    def decorate(function: F) -> F:
        before, raises, after = inspect.cleandoc(function.__doc__ or "").partition("\n\nRaises:")
        entries = entries_of(like.__doc__ or "")
        entries = own | {name: text for name, text in entries.items() if name not in ("view", "limits")}
        lines = [line for name, text in entries.items() for line in _wrapped(f"{name}: {text}")]
        function.__doc__ = "\n".join([before, "", "Args:", *lines]) + raises + after
        return function

    return decorate


def entries_of(docstring: str) -> dict[str, str]:
    """The ``Args:`` entries of a docstring by option, each in one line."""
    _, _, rest = inspect.cleandoc(docstring).partition("\nArgs:\n")
    section = re.split(r"\n(?=\S)", rest, maxsplit=1)[0]
    entries = re.findall(r"^    (\w+): (.*(?:\n {8,}.*)*)", section, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in entries}


def entries_for(retriever: type, words: HostWords) -> dict[str, str]:
    """The entries of a retriever's options: the index, the strategy's options, then the options of all retrievers."""
    strategy: type | None = getattr(retriever, "kind", None)
    entries = {"index": _INDEX if _needs_index(retriever) else f"{_INDEX} {_NO_INDEX}"}
    of_strategy = {"strategy": _STRATEGY} if strategy is None else entries_of(strategy.__doc__ or "")
    for name, text in of_strategy.items():
        if name == "generate":
            entries["llm"] = words.llm.format(task=_TASKS.get(getattr(strategy, "__name__", ""), "more phrasings"))
        elif name == "min_score" or name not in (*CALL_OPTIONS, "agenerate"):
            entries[name] = _here(name, text, retriever, words)
    of_a_call = entries_of(View.retrieve.__doc__ or "")
    for name, text in {**_OF_ALL, **words.own}.items():
        shown_as = words.k if name == "k" else name
        entries.setdefault(shown_as, text or _here(name, of_a_call[name], retriever, words))
    return entries


def _needs_index(retriever: type) -> bool:
    return any(each.__name__ == "LeafRetriever" for each in retriever.__mro__)


def _here(name: str, text: str, retriever: type, words: HostWords) -> str:
    """A core entry, adapted to a retriever of the host."""
    kind = retriever.kind.__name__ if hasattr(retriever, "kind") else ""
    bases = _BASE + (_OF_LEAVES if _needs_index(retriever) else _OF_ANYTHING)
    before, _, default = text.partition(" Default:")
    more = {
        "base": bases.format(host=f"a {words.name}", retrievers="retriever"),
        "rerank": f"Or a {words.reranker}: its order is kept, and results that it leaves out are left out.",
        "choose": words.chooser,
        "how": words.transformer,
        "prompt": words.prompts,
        "repair_prompt": words.prompts,
    }.get(name, "")
    if name == "k":
        text = f"{before} {_ONLY.get((kind, name), f'Default:{default}')}"
    elif more:
        text = f"{before} {_ONLY.get((kind, name), more)}" + (f" Default:{default}" if default else "")
    elif name in ("retrievers", "targets"):
        text = f"{text} {bases.format(host=words.name, retrievers='retrievers')}"
    replaced = {"see above": f"see the core's ``{kind}``", "4 * k": f"4 * {words.k}", "``k``": f"``{words.k}``"}
    for word, here in replaced.items():
        text = text.replace(word, here)
    return text


def _wrapped(entry: str) -> list[str]:
    """An entry in lines, without a break between backticks."""
    whole = re.sub(r"``.*?``", lambda code: code[0].replace(" ", "\0"), entry)
    options = {"break_long_words": False, "break_on_hyphens": False}
    lines = textwrap.wrap(whole, _WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8, **options)  # type: ignore[arg-type]
    return [line.replace("\0", " ") for line in lines]

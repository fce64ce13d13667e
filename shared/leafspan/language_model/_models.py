"""Language models of any library behind one interface, with a name that is the same in every process."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any, TypedDict

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_DEEPEST = 4


def identity_of(thing: object) -> str:
    """The name of a function or an object, and a digest of its content, such as ``answer#1a2b3c4d``.

    The content is:

    - of a function: the texts and names in its code, its defaults, and the outer variables that it uses;
    - of a ``functools.partial`` or a bound method: the bound values as well;
    - of a number, a text, a tuple or a frozen dataclass: its value;
    - of any other object: its attributes that are texts. Other attributes may be counters or connections.

    So two functions that one factory made from different values differ, and so do two lambdas with different texts. A
    function whose statements only change their order stays the same. The content may be secret: the digest does not reveal
    it.
    """
    content = "\n".join(_content(thing, 0))
    return f"{_name(thing)}#{hashlib.sha256(content.encode(errors='surrogatepass')).hexdigest()[:8]}"


def _name(thing: object) -> str:
    if isinstance(thing, partial):
        return _name(thing.func)
    if isinstance(thing, FunctionType | MethodType):
        return f"{thing.__module__}.{thing.__qualname__}"
    return type(thing).__qualname__


def _content(thing: object, depth: int) -> Iterator[str]:
    """The content of a thing, piece by piece, down to a limited depth, since a thing may contain itself."""
    yield _name(thing)
    if depth > _DEEPEST:
        return
    if isinstance(thing, partial):
        yield from _content(thing.func, depth + 1)
        for value in thing.args:
            yield from _content(value, depth + 1)
        yield from _named_content(thing.keywords, depth)
    elif isinstance(thing, MethodType):
        yield from _content(thing.__self__, depth + 1)
    elif isinstance(thing, FunctionType):
        yield from _function_content(thing, depth)
    elif isinstance(thing, tuple):
        for value in thing:
            yield from _content(value, depth + 1)
    elif isinstance(thing, str | bytes | int | float | type | Enum | None) or _is_frozen(thing):
        yield _ADDRESS.sub("", repr(thing))
    else:
        attributes = getattr(thing, "__dict__", {})
        yield from _named_content({name: value for name, value in attributes.items() if isinstance(value, str)}, depth)


def _function_content(function: FunctionType, depth: int) -> Iterator[str]:
    """The texts and names in a function's code, its defaults, and the outer variables that it uses."""
    yield from _code_content(function.__code__, function.__doc__)
    for value in function.__defaults__ or ():
        yield from _content(value, depth + 1)
    yield from _named_content(function.__kwdefaults__ or {}, depth)
    for cell in function.__closure__ or ():
        try:
            yield from _content(cell.cell_contents, depth + 1)
        except ValueError:  # the variable has no value yet
            continue


def _is_frozen(thing: object) -> bool:
    options: Any = getattr(type(thing), "__dataclass_params__", None)
    return options is not None and bool(options.frozen)


def _named_content(values: Mapping[str, object], depth: int) -> Iterator[str]:
    """Names and values, sorted by name."""
    for name, value in sorted(values.items()):
        yield name
        yield from _content(value, depth + 1)


def _code_content(code: CodeType, doc: str | None = None) -> Iterator[str]:
    """The names and texts in compiled code, without its docstring. The bytecode itself differs between Python versions."""
    yield " ".join(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_content(constant)
        elif isinstance(constant, str | bytes | float) and constant != doc:
            yield repr(constant)


class GenerateOptions(TypedDict, total=False):
    """The options that pass a language model to a strategy."""

    generate: Callable[[str], str]  # function from a prompt to a text
    agenerate: Callable[[str], Awaitable[str]] | None  # coroutine function like ``generate``, or None


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A language model as a function from a prompt to a text."""

    name: str
    generate: Callable[[str], str]
    agenerate: Callable[[str], Awaitable[str]] | None = None

    @property
    def options(self) -> GenerateOptions:
        """The options that pass this model to a strategy."""
        return {"generate": self.generate, "agenerate": self.agenerate}


def find_language_model(thing: object) -> LanguageModel | None:
    """A ``LanguageModel`` from a model of LangChain or LlamaIndex, or None if ``thing`` is neither."""
    if isinstance(thing, LanguageModel):
        return thing
    if isinstance(thing, type):
        return None
    if _has(thing, "invoke", "ainvoke"):
        return from_langchain(thing)
    if _has(thing, "complete", "acomplete"):
        return from_llamaindex(thing)
    return None


def from_langchain(model: Any, config: Any = None) -> LanguageModel:
    arguments = () if config is None else (config,)

    def generate(prompt: str) -> str:
        return text_of(model.invoke(prompt, *arguments))

    async def agenerate(prompt: str) -> str:
        return text_of(await model.ainvoke(prompt, *arguments))

    return LanguageModel(model_name(model), generate, agenerate)


def from_llamaindex(model: Any) -> LanguageModel:
    def generate(prompt: str) -> str:
        return text_of(model.complete(prompt))

    async def agenerate(prompt: str) -> str:
        return text_of(await model.acomplete(prompt))

    # Models in this process inherit a coroutine function that blocks the event loop, so they run in a thread.
    blocks = getattr(type(model).acomplete, "__module__", None) == "llama_index.core.llms.custom"
    return LanguageModel(model_name(model), generate, None if blocks else agenerate)


def text_of(answer: Any) -> str:
    """The text of a message, a completion or a list of content blocks. Other answers, such as texts, stay unchanged."""
    text: Any = getattr(answer, "text", None)
    if not isinstance(text, str):
        text = getattr(answer, "content", answer)
    if isinstance(text, list):
        blocks = [block.get("text") if isinstance(block, dict) else block for block in text]
        return "".join(block for block in blocks if isinstance(block, str))
    # The text of a LangChain message is a subclass of str, which pickles and compares differently.
    return str(text) if isinstance(text, str) else text


def model_name(thing: Any) -> str:
    """A name for a model or a function that is the same in every process.

    A model's name is its class with its label, such as ``ChatOpenAI(gpt-4o)``. A LangChain wrapper around a model (retries,
    bound options) has the model's name, and a chain the names of its parts. A function's name is its ``identity_of``.
    """
    if isinstance(thing, FunctionType | MethodType | partial):
        return identity_of(thing)
    if (bound := getattr(thing, "bound", None)) is not None:
        return model_name(bound)
    if isinstance(steps := getattr(thing, "steps", None), list):
        return " | ".join(map(model_name, steps))
    labels = (getattr(thing, key, None) for key in ("model_name", "model", "model_id"))
    label = next((label for label in labels if isinstance(label, str)), None)
    kind = type(thing).__qualname__
    if label:
        return f"{kind}({label})"
    # A model's state changes, so its digest would differ from call to call.
    return kind if _has(thing, "invoke") or _has(thing, "complete") else identity_of(thing)


def _has(thing: object, *methods: str) -> bool:
    return all(callable(getattr(thing, method, None)) for method in methods)

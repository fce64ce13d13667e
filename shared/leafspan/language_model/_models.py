"""Language models of any library behind one interface."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from types import FunctionType, MethodType
from typing import Any, TypedDict

from leafspan.language_model._identity import identity_of


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
    """A ``LanguageModel`` from a LangChain model."""
    arguments = () if config is None else (config,)

    def generate(prompt: str) -> str:
        return text_of(model.invoke(prompt, *arguments))

    async def agenerate(prompt: str) -> str:
        return text_of(await model.ainvoke(prompt, *arguments))

    return LanguageModel(model_name(model), generate, agenerate)


def from_llamaindex(model: Any) -> LanguageModel:
    """A ``LanguageModel`` from a LlamaIndex ``LLM``."""

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
    """Whether a thing has all of these methods."""
    return all(callable(getattr(thing, method, None)) for method in methods)

"""Language models of any kind behind one face."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from types import FunctionType, MethodType
from typing import Any, TypedDict

from leafspan.language_model._identity import identity_of


class GenerateOptions(TypedDict, total=False):
    """The options of a strategy that asks a language model."""

    generate: Callable[[str], str]
    agenerate: Callable[[str], Awaitable[str]] | None


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A function from a prompt to a text, and its coroutine twin, where the model has one that does not block."""

    name: str
    generate: Callable[[str], str]
    agenerate: Callable[[str], Awaitable[str]] | None = None

    @property
    def options(self) -> GenerateOptions:
        """What a strategy is given, to ask this model."""
        return {"generate": self.generate, "agenerate": self.agenerate}


def find_language_model(thing: object) -> LanguageModel | None:
    """A language model recognised by its shape, LangChain's chat models and LLMs or LlamaIndex's ``LLM``, else None."""
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
    """What asks a chat model, an LLM or another Runnable of LangChain's, with this ``config``."""
    more = () if config is None else (config,)

    def generate(prompt: str) -> str:
        return text_of(model.invoke(prompt, *more))

    async def agenerate(prompt: str) -> str:
        return text_of(await model.ainvoke(prompt, *more))

    return LanguageModel(model_name(model), generate, agenerate)


def from_llamaindex(model: Any) -> LanguageModel:
    """What asks a LlamaIndex LLM."""

    def generate(prompt: str) -> str:
        return text_of(model.complete(prompt))

    async def agenerate(prompt: str) -> str:
        return text_of(await model.acomplete(prompt))

    # Models that run in this process inherit a coroutine that blocks the event loop: those go into a thread.
    blocks = getattr(type(model).acomplete, "__module__", None) == "llama_index.core.llms.custom"
    return LanguageModel(model_name(model), generate, None if blocks else agenerate)


def text_of(answer: Any) -> str:
    """The text of a message, a completion, or a list of content blocks; anything else, such as a text, as it is."""
    text: Any = getattr(answer, "text", None)
    if not isinstance(text, str):
        text = getattr(answer, "content", answer)
    if isinstance(text, list):
        blocks = [block.get("text") if isinstance(block, dict) else block for block in text]
        return "".join(block for block in blocks if isinstance(block, str))
    # LangChain's message has a subclass of str, which pickles and compares in its own way.
    return str(text) if isinstance(text, str) else text


def model_name(thing: Any) -> str:
    """A name that is the same in another process: of a function what it is known by, of a model its kind with its label.

    What LangChain wraps around a model (retries, bound options) has the model's name; of a chain all parts count.
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
    # A model has settings and state, of which a digest would be another at every turn.
    return kind if _has(thing, "invoke") or _has(thing, "complete") else identity_of(thing)


def _has(thing: object, *methods: str) -> bool:
    return all(callable(getattr(thing, method, None)) for method in methods)

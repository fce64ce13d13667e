"""Embedders of any library, or by name, behind one interface, and the identity that an index stores of its embedder."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from inspect import iscoroutinefunction
from operator import attrgetter
from typing import Any, TypeAlias

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.flows import Call, Flow, NDArray, np

Vectors: TypeAlias = "NDArray[np.float32]"


PROBE = "The quick brown fox jumps over the lazy dog."  # the text whose vector identifies an embedder
SAME = 0.999  # two embedders are treated as the same if the cosine of their vectors of the probe text is above this
_NAMED = {"wordllama": "default_embedder", "minilm": "minilm", "e5": "e5"}  # functions of the module _named
_BATCH = 128  # texts per call of the embedder: a failure may lose this many, and a progress bar moves by this many
_ATTRIBUTE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")

_BGE = "Represent this sentence for searching relevant passages: "
_INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "
_DOES_SO_ITSELF = ("query_instruction", "text_instruction", "embed_instruction", "task_type", "input_type")
_PREFIXES = [  # name, prefix of texts, prefix of questions
    (r"(multilingual-)?e5-.*instruct", "", _INSTRUCT),
    (r"(multilingual-)?e5-(small|base|large)", "passage: ", "query: "),
    (r"bge-(small|base|large)-en", "", _BGE),
    (r"bge-(small|base|large)-zh", "", "为这个句子生成表示以用于检索相关文章："),
    (r"mxbai-embed-large", "", _BGE),
    (r"snowflake-arctic-embed2|snowflake-arctic-embed-[a-z]+-v2", "", "query: "),
    (r"snowflake-arctic-embed", "", _BGE),
    (r"nomic-embed-text", "search_document: ", "search_query: "),
]


@dataclass(frozen=True, slots=True)
class Embedder:
    """The functions that embed texts and questions. Each takes a list of texts and returns a vector for each.

    Args:
        name: Name of the model, for messages and for the index.
        documents: Function that embeds texts to be stored.
        queries: Function that embeds questions.
        adocuments: Coroutine function like ``documents``. Default: None, ``documents`` runs in a thread.
        aqueries: Coroutine function like ``queries``. Default: None, ``queries`` runs in a thread.
        local: Whether the model runs on this machine. If not, calls may cost money or fail: leafspan keeps its vectors
            in the embedding cache, and retries after a rate limit or a timeout. Default: False.
        model: Name of the model. With it, other indexes can reuse the model's vectors from the embedding cache.
            Default: None, only the same index reuses them, since leafspan cannot notice that a function has changed.
        settings: Text that names the model's settings, such as the length at which it cuts texts. The embedding cache
            returns only vectors that were made with the same settings. Default: none.
    """

    name: str
    documents: Callable[[list[str]], Any]
    queries: Callable[[list[str]], Any]
    adocuments: Callable[[list[str]], Any] | None = None
    aqueries: Callable[[list[str]], Any] | None = None
    local: bool = False
    model: str | None = None
    settings: str = ""

    @classmethod
    def of(cls, model: object, *, document_prefix: str = "", query_prefix: str = "") -> Embedder:
        """An embedder of a library, with your own text before each stored text and each question.

        A known model (e5, bge, nomic, mxbai, arctic) of another library that you give as ``embedder=`` directly gets the
        prefixes that it was trained with. ``of`` turns them off.

        Args:
            model: An embedder that ``Index.open`` accepts, or its name. ``"e5"`` keeps the prefixes that come with it.
            document_prefix: Text before each text that is stored. Default: none.
            query_prefix: Text before each question. Default: none.

        Raises:
            InvalidArgument: if it is no such embedder.
        """
        return to_embedder(model, prefixes=False).with_prefixes(document_prefix, query_prefix)

    def with_prefixes(self, documents: str, queries: str) -> Embedder:
        """Return the same embedder with these prefixes for texts and queries. Its name contains them."""
        if not documents and not queries:
            return self
        return Embedder(
            f"{self.name} with {documents!r} before texts and {queries!r} before questions",
            _with_prefix(documents, self.documents),
            _with_prefix(queries, self.queries),
            self.adocuments and _with_prefix_async(documents, self.adocuments),
            self.aqueries and _with_prefix_async(queries, self.aqueries),
            local=self.local,
            model=self.model,
            settings=f"{self.settings} {documents!r}",
        )

    def embed_documents(self, texts: Sequence[str]) -> Call:
        """Return the call that embeds texts to be stored."""
        return Call(self.documents, (list(texts),), native=self.adocuments, what=f"the embedder {self.name}")

    def embed_queries(self, texts: Sequence[str]) -> Call:
        """Return the call that embeds queries."""
        return Call(self.queries, (list(texts),), native=self.aqueries, what=f"the embedder {self.name}")


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """The identity of an index's embedder, as the index stores it."""

    name: str  # name of the embedder
    dimension: int  # length of its vectors
    probe: str  # its vector for the probe text: little-endian float32, in base64

    @classmethod
    def of(cls, name: str, vector: Vectors) -> EmbedderIdentity:
        return cls(name, len(vector), base64.b64encode(vector.astype("<f4").tobytes()).decode())

    @property
    def vector(self) -> Vectors:
        """The vector for the probe text."""
        return np.frombuffer(base64.b64decode(self.probe), dtype="<f4")

    def is_same(self, vector: Vectors) -> bool:
        """Whether a vector for the probe text has the stored dimension, and a cosine above 0.999 with the stored vector."""
        stored = self.vector
        if len(stored) != len(vector):
            return False
        lengths = float(np.linalg.norm(stored) * np.linalg.norm(vector))
        if not lengths:  # an embedder with its own vocabulary may know no word of the probe text
            return bool(not stored.any() and not vector.any())
        return float(stored @ vector) / lengths > SAME


Embed = Callable[[Sequence[str]], Flow[Any]]  # a function from texts to a flow of their vectors, one row for each text


def embed_in_batches(embed: Embed, texts: Sequence[str], done: Callable[[int], None] = lambda _: None) -> Flow[list[Any]]:
    vectors: list[Any] = []
    for start in range(0, len(texts), _BATCH):
        batch = texts[start : start + _BATCH]
        vectors.extend((yield from embed(batch)))
        done(len(batch))
    return vectors


def _with_prefix(prefix: str, embed: Callable[[list[str]], Any]) -> Callable[[list[str]], Any]:
    return lambda texts: embed([prefix + text for text in texts])


def _with_prefix_async(prefix: str, embed: Callable[[list[str]], Any]) -> Callable[[list[str]], Any]:
    async def embedded(texts: list[str]) -> Any:
        return await embed([prefix + text for text in texts])

    return embedded


def to_embedder(thing: object, *, prefixes: bool = True) -> Embedder:
    """Return an ``Embedder`` from a name, or from any library's embedder, which is recognised by its methods.

    Without ``prefixes``, a known model of another library does not get the prefixes that it was trained with.
    """
    if not isinstance(thing, str):
        return _recognized(thing, prefixes=prefixes)
    if thing in _NAMED:
        return _named(thing)
    if _ATTRIBUTE.fullmatch(thing):
        return replace(_recognized(_imported(thing), prefixes=prefixes), name=thing)
    raise InvalidArgument(
        f"an embedder's name must be one of {', '.join(map(repr, _NAMED))}, or 'package.module:attribute', got "
        f"{shown(thing)}; for another model give an object that embeds with it, such as LangChain's "
        "OpenAIEmbeddings(model=...) for a model of OpenAI's, or SentenceTransformer(...) for one from Hugging Face"
    )


def recorded_embedder(recorded: EmbedderIdentity | None) -> Embedder:
    """Return the index's embedder if it has a name here, or else the default one."""
    name = next((name for name in _NAMED if recorded is not None and _named(name).name == recorded.name), "wordllama")
    return _named(name)


def _named(name: str) -> Embedder:
    made: Embedder = getattr(import_module("leafspan.embedding._named"), _NAMED[name])()
    return made


def _imported(place: str) -> object:
    """Return the object at ``package.module:attribute``."""
    module, _, attributes = place.partition(":")
    try:
        return attrgetter(attributes)(import_module(module))
    except Exception as error:
        raise InvalidArgument(
            f"the embedder {shown(place)} must be an object that can be imported, got {type(error).__name__}: {error}"
        ) from error


def _recognized(thing: object, *, prefixes: bool = True) -> Embedder:
    """Return an ``Embedder`` from any library's embedder, which is recognised by its methods."""
    if isinstance(thing, Embedder):
        return thing
    if isinstance(thing, type):
        raise InvalidArgument(f"an embedder must be an object, got the class {thing.__name__}: call it first")
    model: Any = thing
    trained_with = _known_prefixes(model) if prefixes else ("", "")
    if hasattr(model, "embed_documents") and hasattr(model, "embed_query"):
        return _from_langchain(model).with_prefixes(*trained_with)
    if hasattr(model, "get_text_embedding_batch") and hasattr(model, "get_query_embedding"):
        return _from_llamaindex(model).with_prefixes(*trained_with)
    if hasattr(model, "encode") and not hasattr(model, "embed_query") and not isinstance(model, str | bytes):
        return _from_sentence_transformer(model)
    if iscoroutinefunction(model):
        raise InvalidArgument(
            f"an embedder must not be a coroutine function alone, got {_name(model)}: pass leafspan.Embedder(name, "
            "documents, queries, adocuments=..., aqueries=...)"
        )
    if callable(model):
        queries = getattr(model, "embed_query", model)  # Chroma's method of this name takes a list
        return Embedder(_name(model), model, queries, model=_model(model), settings=_settings(model))
    raise InvalidArgument(
        "an embedder must be a name, a LangChain Embeddings, a LlamaIndex BaseEmbedding, a Chroma EmbeddingFunction, a "
        f"SentenceTransformer, or a function from texts to vectors, got {type(thing).__name__}"
    )


def _name(model: Any) -> str:
    """Return a model's class or function name, with the model's own name in brackets if it has one."""
    kind = getattr(model, "__qualname__", type(model).__qualname__)
    label = _model(model)
    return f"{kind}({label})" if label else str(kind)


def _model(model: Any) -> str | None:
    """Return the model's name, or None if unknown. LlamaIndex calls models without a name "unknown"."""
    names = (getattr(model, key, None) for key in ("model_name", "model"))
    return next((name for name in names if isinstance(name, str) and name not in ("", "unknown")), None)


# Parts of attribute names that say how a service is reached, not what it answers.
_NOT_OF_THE_MODEL = re.compile(
    "key|token|secret|password|auth|header|timeout|retr|batch|callback|progress|cache|worker|concurren|client|show"
)


def _settings(model: Any) -> str:
    """Return a hash of a named model's numbers, texts and other settings, to tell vectors of different settings apart."""
    if _model(model) is None:
        return ""
    declared = getattr(type(model), "model_fields", None)  # of pydantic
    own = {
        name: value
        for name, value in getattr(model, "__dict__", {}).items()
        if not name.startswith("_") and (declared is None or name in declared) and not _NOT_OF_THE_MODEL.search(name)
    }
    plain = json.dumps(own, default=lambda value: type(value).__qualname__, sort_keys=True, skipkeys=True)
    return hashlib.sha256(plain.encode()).hexdigest()[:16]


def _from_langchain(model: Any) -> Embedder:
    def queries(texts: list[str]) -> list[Any]:
        return [model.embed_query(text) for text in texts]

    async def aqueries(texts: list[str]) -> list[Any]:
        return [await model.aembed_query(text) for text in texts]

    return Embedder(
        _name(model),
        model.embed_documents,
        queries,
        model.aembed_documents if _overrides(model, "aembed_documents") else None,
        aqueries if _overrides(model, "aembed_query") else None,
        model=_model(model),
        settings=_settings(model),
    )


def _from_llamaindex(model: Any) -> Embedder:
    def queries(texts: list[str]) -> list[Any]:
        return [model.get_query_embedding(text) for text in texts]

    # Most asynchronous methods of LlamaIndex embedders block, so leafspan runs the synchronous ones in a thread.
    documents = partial(model.get_text_embedding_batch, show_progress=False)
    return Embedder(_name(model), documents, queries, model=_model(model), settings=_settings(model))


def _from_sentence_transformer(model: Any) -> Embedder:
    """Models before version 5 have no separate methods for texts and queries, but may have prompts for them."""
    prompts = getattr(model, "prompts", None) or {}

    def encoder(method: str, *names: str) -> Callable[[list[str]], Any]:
        encode = getattr(model, method, None)
        if encode is None:
            prompt = next((name for name in names if prompts.get(name)), None)
            encode = partial(model.encode, prompt_name=prompt) if prompt else model.encode
        return lambda texts: _array(encode(texts))

    base = getattr(getattr(model, "model_card_data", None), "base_model", None)
    kind = type(model).__qualname__
    name = f"{kind}({base})" if isinstance(base, str) and base else kind
    documents = encoder("encode_document", "document", "passage", "corpus")
    return Embedder(name, documents, encoder("encode_query", "query"), local=True)


def _array(vectors: Any) -> Any:
    """Return an array from a PyTorch tensor, or a list of tensors, perhaps on a graphics card."""
    if isinstance(vectors, list | tuple):
        return [_array(vector) for vector in vectors]
    return vectors.detach().cpu().float().numpy() if hasattr(vectors, "detach") else vectors


def _overrides(model: Any, method: str) -> bool:
    """Whether the model has its own coroutine function, not LangChain's, which only uses a thread."""
    function = getattr(type(model), method, None)
    return function is not None and not getattr(function, "__module__", "").startswith("langchain_core.embeddings")


def _known_prefixes(model: Any) -> Sequence[str]:
    """Return a model's prefixes by its name, such as ``nomic-embed-text:latest``.

    They are empty if the name is unknown, or if the model's class adds them itself.
    """
    name = _model(model)
    if name is None or any(hasattr(model, each) for each in _DOES_SO_ITSELF) or _has_prompts(model):
        return "", ""
    label = name.lower().split("/")[-1]
    return next((prefixes for pattern, *prefixes in _PREFIXES if re.match(pattern, label)), ("", ""))


def _has_prompts(model: Any) -> bool:
    """Whether the user gave LangChain's class for Hugging Face models its own prefixes."""
    options = {**(getattr(model, "encode_kwargs", None) or {}), **(getattr(model, "query_encode_kwargs", None) or {})}
    return bool({"prompt", "prompt_name"} & options.keys())

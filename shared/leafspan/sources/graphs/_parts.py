"""What a LightRAG needs to be made without a network, and to be filled from an index."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Protocol

from leafspan.checks import check_flag, check_whole, shown
from leafspan.embedding import Embedder, check_vectors, default_embedder, to_embedder
from leafspan.errors import InvalidArgument, MissingExtra
from leafspan.flows import acall_within
from leafspan.values import Passage


class HasLeaves(Protocol):
    """An index, or a view of one."""

    def leaves(self) -> Iterable[Passage]:
        """All leaves."""
        ...


def lightrag_inputs(index: HasLeaves, *, whole: bool = False) -> dict[str, list[str]]:
    """The leaves or documents of an index as arguments of ``LightRAG.ainsert``; what LightRAG finds in them leads back.

    LightRAG asks its language model about each chunk. It makes a chunk of each leaf, which leads back exactly; of whole
    documents it makes fewer and larger ones, which costs less, and each of which leads back to the span that holds it.
    LightRAG keeps one of several texts that are the same.

    Args:
        index: The index, or a view of one.
        whole: Whether to give whole documents. Default: False, the leaves.

    Raises:
        InvalidArgument: if ``whole`` is no bool.
    """
    check_flag("whole", whole)
    texts: dict[str, str] = {}
    for leaf in index.leaves():
        id_ = leaf.document_id if whole else leaf.id
        texts[id_] = texts.get(id_, "") + leaf.text
    texts = {id_: text for id_, text in texts.items() if text.strip()}  # LightRAG refuses blank texts
    return {"input": list(texts.values()), "ids": list(texts), "file_paths": list(texts)}


def lightrag_options(
    *,
    embedder: object = None,
    generate: Callable[[str], str] | None = None,
    agenerate: Callable[[str], Awaitable[str]] | None = None,
    max_tokens: int = 8192,
) -> dict[str, Any]:
    """Options of ``lightrag.LightRAG`` with which it needs no network: ``embedding_func`` and ``tokenizer``.

    Without a tokenizer, LightRAG downloads one. This one counts about as many tokens in English as a language model does.
    With ``generate`` or ``agenerate`` there is also ``llm_model_func``.

    Args:
        embedder: An embedder of any kind that ``Index.open`` takes. It embeds one text now, to tell the length of its
            vectors. Default: the one that is part of leafspan.
        generate: Function from a prompt to a text: the language model that finds entities and relations, and answers.
            Default: none.
        agenerate: Its coroutine function. Default: ``generate`` in a thread.
        max_tokens: Most tokens of a text to embed, >= 1. Default: 8192.

    Raises:
        InvalidArgument: if ``embedder`` is none, or an option is out of its range.
        MissingExtra: if lightrag-hku is not installed.
    """
    max_tokens = check_whole("max_tokens", max_tokens, 1)
    for name, function in (("generate", generate), ("agenerate", agenerate)):
        if function is not None and not callable(function):
            raise InvalidArgument(f"{name} must be a function from a prompt to a text, got {shown(function)}")
    try:
        from lightrag.utils import EmbeddingFunc, Tokenizer
    except ImportError as error:
        raise MissingExtra.of("LightRAG needs lightrag-hku", "lightrag") from error
    model = default_embedder() if embedder is None else to_embedder(embedder)
    dimension = check_vectors(model.documents(["dimension"]), ["dimension"], name=model.name).shape[1]
    options: dict[str, Any] = {
        "embedding_func": EmbeddingFunc(
            embedding_dim=dimension,
            func=_embedding(model),
            max_token_size=max_tokens,
            model_name=model.name,
            supports_asymmetric=True,
        ),
        "tokenizer": Tokenizer("leafspan", PieceTokenizer()),
    }
    if generate is not None or agenerate is not None:
        options["llm_model_func"] = _language_model(generate, agenerate)
    return options


_PIECES = re.compile(r"[^\W_]{1,5}|\s+|.", re.DOTALL)


class PieceTokenizer:
    """Cuts texts into pieces of words. A token is the number that the bytes of its piece make, so nothing is looked up."""

    def encode(self, content: str) -> list[int]:
        """The tokens of a text."""
        # A leading 1 keeps bytes that are 0.
        return [int.from_bytes(b"\x01" + piece.encode(errors="surrogatepass")) for piece in _PIECES.findall(content)]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens."""
        pieces = (token.to_bytes((token.bit_length() + 7) // 8)[1:] for token in tokens)
        return "".join(piece.decode(errors="surrogatepass") for piece in pieces)


_LONGEST = 900.0  # seconds: LightRAG itself waits less


async def _in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    # Not asyncio.to_thread: a thread of its pool that hangs keeps the program from ending.
    return await acall_within(_LONGEST, "a function of a LightRAG", function, *arguments)


def _embedding(model: Embedder) -> Callable[..., Awaitable[Any]]:
    async def embed(texts: Sequence[str], context: str = "document", **_: Any) -> Any:
        call = (model.embed_queries if context == "query" else model.embed_documents)(texts)
        assert call.function is not None
        vectors = await (call.native(*call.arguments) if call.native else _in_thread(call.function, *call.arguments))
        return check_vectors(vectors, texts, name=model.name)

    return embed


def _language_model(
    generate: Callable[[str], str] | None, agenerate: Callable[[str], Awaitable[str]] | None
) -> Callable[..., Awaitable[str]]:
    async def ask(
        prompt: str,
        system_prompt: str | None = None,
        history_messages: Sequence[dict[str, str]] | None = None,
        **_: Any,  # such as hashing_kv and keyword_extraction, which are for LightRAG's own models
    ) -> str:
        history = [f"{each.get('role', 'user')}: {each.get('content', '')}" for each in history_messages or ()]
        whole = "\n\n".join(part for part in (system_prompt, *history, prompt) if part)
        if agenerate is not None:
            return await agenerate(whole)
        assert generate is not None
        return str(await _in_thread(generate, whole))

    return ask

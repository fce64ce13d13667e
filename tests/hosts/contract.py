"""One interface to both hosts, so that one test can check both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

import pytest
from langchain_chroma import Chroma
from langchain_classic.retrievers import EnsembleRetriever as LangChainsEnsembleRetriever
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever as LangChainRetriever
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_text_splitters import RecursiveCharacterTextSplitter
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexRetriever
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata, MockLLM
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.node_parser import HierarchicalNodeParser, SentenceSplitter
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.vector_stores.chroma import ChromaVectorStore
from pydantic import ValidationError

import langchain_ext
import llamaindex_ext
from leafspan import BM25, Index, InvalidArgument, Splitter, Vector, View
from leafspan.embedding import default_embedder

RETRIEVERS = [
    "SpanRetriever",
    "VectorRetriever",
    "BM25Retriever",
    "HybridRetriever",
    "ParentDocumentRetriever",
    "SentenceWindowRetriever",
    "AutoMergingRetriever",
    "RelevantSegmentsRetriever",
    "EnsembleRetriever",
    "MultiQueryRetriever",
    "RouterRetriever",
    "FollowReferencesRetriever",
    "RewriteQueryRetriever",
    "RerankRetriever",
    "DecayRetriever",
    "BrowseRetriever",
    "TreeRetriever",
]
WITHOUT_INDEX = {
    "SpanRetriever",
    "EnsembleRetriever",
    "MultiQueryRetriever",
    "RouterRetriever",
    "FollowReferencesRetriever",
    "SQLRetriever",
    "RewriteQueryRetriever",
    "RerankRetriever",
    "DecayRetriever",
}
"""What builds on strategies and retrievers of any source, and so can do without an index."""


def by_first_letter(question: str) -> str:
    """A rule for a router."""
    return "words" if question.startswith("W") else "meaning"


def needed(retriever: str) -> dict[str, Any]:
    """The options without which there is no such retriever."""
    options: dict[str, dict[str, Any]] = {
        "EnsembleRetriever": {"retrievers": [BM25(), Vector()]},
        "RouterRetriever": {"retrievers": {"words": BM25(), "meaning": Vector()}, "choose": by_first_letter},
        "MultiQueryRetriever": {"phrasings": ["What do bees do?"]},
        "RewriteQueryRetriever": {"how": without_question_mark},
        "RerankRetriever": {"rerank": words_in_common},
    }
    return options.get(retriever, {})


def without_question_mark(question: str) -> str:
    """In the place of a rewriting."""
    return question.rstrip("?")


def words_in_common(question: str, texts: list[str]) -> list[float]:
    """In the place of a cross-encoder."""
    wanted = set(question.lower().split())
    return [len(wanted.intersection(text.lower().split())) / len(wanted) for text in texts]


@dataclass(frozen=True)
class Result:
    """A result of a retriever.

    Attributes:
        id: Its id.
        text: Its text.
        score: Its score.
        metadata: All of its metadata, less a score and a trace.
        trace: How it came about, None if that was not asked for.
    """

    id: str
    text: str
    score: float | None
    metadata: dict[str, Any]
    trace: list[str] | None

    @property
    def document(self) -> str | None:
        return self.metadata.get("doc_id")


class Host(ABC):
    """A host framework, with what a test needs of it.

    Attributes:
        name: Its name in messages.
        package: The adapter for it.
        words: The host's name of an option, by the core's name, where the two differ.
    """

    name: ClassVar[str]
    package: ClassVar[ModuleType]
    words: ClassVar[Mapping[str, str]] = {}

    def make(self, retriever: str | type, index: object, **options: Any) -> Any:
        """A retriever of the adapter, by its name or class. Options have the core's names."""
        kind = getattr(self.package, retriever) if isinstance(retriever, str) else retriever
        return kind(**{"index": index, **{self.words.get(name, name): value for name, value in options.items()}})

    async def both(self, retriever: Any, question: str) -> list[Result]:
        """What is found by blocking, which must also be found asynchronously."""
        found = self.ask(retriever, question)
        assert await self.aask(retriever, question) == found
        return found

    def ask(self, retriever: Any, question: str) -> list[Result]:
        """What it finds."""
        return [self.seen(result) for result in self.raw(retriever, question)]

    @abstractmethod
    def raw(self, retriever: Any, question: str) -> list[Any]:
        """What it finds, as results of the host's own."""

    @abstractmethod
    def seen(self, result: Any) -> Result:
        """What there is of a result of the host's own."""

    @abstractmethod
    async def aask(self, retriever: Any, question: str) -> list[Result]:
        """What it finds, asynchronously."""

    @abstractmethod
    def refusal(self, make: Callable[[], object]) -> InvalidArgument:
        """The error that making a retriever raises."""

    @abstractmethod
    def retriever(
        self,
        name: str,
        ask: Callable[[str], Sequence[Any]],
        aask: Callable[[str], Coroutine[Any, Any, Sequence[Any]]] | None = None,
    ) -> Any:
        """A retriever of the host's own, whose class has this name. It gives the host's own results for a question."""

    @abstractmethod
    def result(self, id_: str, text: str, score: float | None = None) -> Any:
        """A result of the host's own."""

    @abstractmethod
    def leaves(self, index: View) -> list[Any]:
        """The leaves of an index as results of the host's own, as the adapter gives them."""

    @abstractmethod
    def vector_search(self, index: Index, k: int) -> Any:
        """The host's own vector search over the leaves in Chroma."""

    @abstractmethod
    def model(self, write: Callable[[str], str]) -> Any:
        """A language model of the host's that answers prompts like this function."""

    @property
    @abstractmethod
    def fusions(self) -> Mapping[str, Callable[[list[Any]], Any]]:
        """The host's own ways of making one retriever of several."""

    @property
    @abstractmethod
    def splitters(self) -> Mapping[str, Splitter]:
        """Splitters of the host's own, as the adapter makes them splitters of an index."""

    @abstractmethod
    def backwards(self, retriever: str) -> type:
        """A subclass of the adapter's whose results come in the opposite order."""

    @abstractmethod
    def labelled(self, retriever: str) -> type:
        """A subclass of the adapter's with an option ``label`` of its own, a text that is ``"none"`` by default."""

    def __repr__(self) -> str:
        return self.name


class LangChain(Host):
    name = "LangChain"
    package = langchain_ext

    def raw(self, retriever: Any, question: str) -> list[Document]:
        return retriever.invoke(question)

    async def aask(self, retriever: Any, question: str) -> list[Result]:
        return [self.seen(document) for document in await retriever.ainvoke(question)]

    def seen(self, result: Document) -> Result:
        metadata = dict(result.metadata)
        score, trace = metadata.pop("score", None), metadata.pop("trace", None)
        return Result(result.id, result.page_content, score, metadata, trace)

    def refusal(self, make: Callable[[], object]) -> InvalidArgument:
        with pytest.raises(ValidationError) as caught:
            make()
        [error] = caught.value.errors()
        assert isinstance(error["ctx"]["error"], InvalidArgument)
        return error["ctx"]["error"]

    def retriever(self, name, ask, aask=None):
        methods: dict[str, Any] = {"_get_relevant_documents": lambda self, query, *, run_manager: ask(query)}
        if aask is not None:

            async def aget(self, query, *, run_manager):
                return await aask(query)

            methods["_aget_relevant_documents"] = aget
        return type(name, (LangChainRetriever,), methods)()

    def result(self, id_, text, score=None):
        return Document(id=id_, page_content=text, metadata={} if score is None else {"score": score})

    def leaves(self, index):
        return langchain_ext.leaf_documents(index)

    def vector_search(self, index, k):
        store = Chroma(client=index.client, collection_name="kb.leaves", embedding_function=_EmbeddingsOfLangChain())
        return store.as_retriever(search_kwargs={"k": k})

    def model(self, write) -> Runnable:
        return RunnableLambda(write)

    @property
    def fusions(self):
        return {"EnsembleRetriever": lambda retrievers: LangChainsEnsembleRetriever(retrievers=retrievers)}

    @property
    def splitters(self):
        splitter = RecursiveCharacterTextSplitter(chunk_size=150, chunk_overlap=30)
        return {"recursive": langchain_ext.splitter_from(splitter)}

    def backwards(self, retriever):
        kind = getattr(langchain_ext, retriever)

        class Backwards(kind):
            def _get_relevant_documents(self, query, *, run_manager, **options):
                return super()._get_relevant_documents(query, run_manager=run_manager, **options)[::-1]

            async def _aget_relevant_documents(self, query, *, run_manager, **options):
                return (await super()._aget_relevant_documents(query, run_manager=run_manager, **options))[::-1]

        return Backwards

    def labelled(self, retriever):
        class Labelled(getattr(langchain_ext, retriever)):
            label: str = "none"

        return Labelled


class LlamaIndex(Host):
    name = "LlamaIndex"
    package = llamaindex_ext
    words: ClassVar[Mapping[str, str]] = {"k": "similarity_top_k"}

    def raw(self, retriever: Any, question: str) -> list[NodeWithScore]:
        return retriever.retrieve(question)

    async def aask(self, retriever: Any, question: str) -> list[Result]:
        return [self.seen(node) for node in await retriever.aretrieve(question)]

    def seen(self, result: NodeWithScore) -> Result:
        return Result(result.node_id, result.text, result.score, dict(result.metadata), getattr(result, "trace", None))

    def refusal(self, make: Callable[[], object]) -> InvalidArgument:
        with pytest.raises(InvalidArgument) as caught:
            make()
        return caught.value

    def retriever(self, name, ask, aask=None):
        methods: dict[str, Any] = {"_retrieve": lambda self, query_bundle: ask(query_bundle.query_str)}
        if aask is not None:

            async def aretrieve(self, query_bundle):
                return await aask(query_bundle.query_str)

            methods["_aretrieve"] = aretrieve
        return type(name, (LlamaIndexRetriever,), methods)()

    def result(self, id_, text, score=None):
        return NodeWithScore(node=TextNode(id_=id_, text=text), score=score)

    def leaves(self, index):
        return [NodeWithScore(node=node) for node in llamaindex_ext.leaf_nodes(index)]

    def vector_search(self, index, k):
        leaves = index.client.get_collection("kb.leaves", embedding_function=None)
        store = ChromaVectorStore(chroma_collection=leaves)
        over = VectorStoreIndex.from_vector_store(store, embed_model=_EmbeddingOfLlamaIndex())
        return over.as_retriever(similarity_top_k=k)

    def model(self, write) -> WritingLLM:
        return WritingLLM(write=write)

    @property
    def fusions(self):
        def fusion(mode):
            return lambda retrievers: QueryFusionRetriever(
                retrievers, llm=MockLLM(), mode=mode, num_queries=1, use_async=False, similarity_top_k=4
            )

        return {mode: fusion(mode) for mode in ("reciprocal_rerank", "relative_score", "dist_based_score", "simple")}

    @property
    def splitters(self):
        parsers = {
            "flat": SentenceSplitter(chunk_size=40, chunk_overlap=10),
            "hierarchical": HierarchicalNodeParser.from_defaults([200, 80, 40], chunk_overlap=0),
        }
        return {name: llamaindex_ext.splitter_from(parser) for name, parser in parsers.items()}

    def backwards(self, retriever):
        kind = getattr(llamaindex_ext, retriever)

        class Backwards(kind):
            def _retrieve(self, query_bundle):
                return super()._retrieve(query_bundle)[::-1]

            async def _aretrieve(self, query_bundle):
                return (await super()._aretrieve(query_bundle))[::-1]

        return Backwards

    def labelled(self, retriever):
        @dataclass(kw_only=True, eq=False, repr=False)
        class Labelled(getattr(llamaindex_ext, retriever)):
            label: str = "none"

        return Labelled


class WritingLLM(CustomLLM):
    """A model of LlamaIndex's that answers prompts like a function."""

    write: Callable[[str], str]

    @property
    def metadata(self):
        return LLMMetadata()

    @llm_completion_callback()
    def complete(self, prompt, formatted=False, **kwargs):
        return CompletionResponse(text=self.write(prompt))

    def stream_complete(self, prompt, formatted=False, **kwargs):
        raise AssertionError("nobody asked for a stream")


class _EmbeddingsOfLangChain(Embeddings):
    def embed_documents(self, texts):
        return default_embedder().documents(texts).tolist()

    def embed_query(self, text):
        return self.embed_documents([text])[0]


class _EmbeddingOfLlamaIndex(BaseEmbedding):
    def _get_text_embedding(self, text):
        return default_embedder().documents([text])[0].tolist()

    def _get_query_embedding(self, query):
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query):
        return self._get_text_embedding(query)


HOSTS = [LangChain(), LlamaIndex()]

"""The program of a new process that answers a question, for each system that can be opened from a folder.

A program imports, then opens the folder ``sys.argv[1]``, and defines ``ask``, which returns the number of results. All
embed the question with WordLlama.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

EMBED = "from leafspan.embedding import default_embedder\nembed = default_embedder().queries\n"


@dataclass(frozen=True)
class Program:
    """The source of a program.

    Attributes:
        imports: Its imports.
        opening: Opens the folder, and defines ``ask``.
    """

    imports: str
    opening: str


LEAFSPAN = {
    name: Program(
        f"from leafspan import Index, {name}",
        f"index = Index.open(sys.argv[1])\nask = lambda question: len(index.retrieve(question, {name}(), k=5))",
    )
    for name in ("Vector", "Hybrid")
}

PLAIN_CHROMA = Program(
    "import chromadb\n" + EMBED,
    """
collection = chromadb.PersistentClient(sys.argv[1]).get_collection("plain", embedding_function=None)
included = ["documents", "metadatas", "distances"]
def ask(question):
    return len(collection.query(query_embeddings=embed([question]), n_results=24, include=included)["ids"][0])
""",
)

PLAIN_AS_WRITTEN = Program(
    """
import chromadb
import wordllama
from pathlib import Path
""",
    """
model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
embed = lambda texts: model.embed(texts, norm=True)
"""
    + PLAIN_CHROMA.opening,
)
"""The same with the model's package, as users of Chroma write it."""

LANGCHAIN_CHROMA = Program(
    "from langchain_chroma import Chroma\nfrom langchain_core.embeddings import Embeddings\n" + EMBED,
    """
class InLangChain(Embeddings):
    def embed_documents(self, texts):
        return embed(texts).tolist()
    def embed_query(self, text):
        return self.embed_documents([text])[0]
retriever = Chroma("langchain", InLangChain(), persist_directory=sys.argv[1]).as_retriever(search_kwargs={"k": 5})
ask = lambda question: len(retriever.invoke(question))
""",
)

LLAMAINDEX_CHROMA = Program(
    "import chromadb\n"
    "from llama_index.core import VectorStoreIndex\n"
    "from llama_index.core.embeddings import BaseEmbedding\n"
    "from llama_index.vector_stores.chroma import ChromaVectorStore\n" + EMBED,
    """
class InLlamaIndex(BaseEmbedding):
    def _get_text_embedding(self, text):
        return embed([text])[0].tolist()
    _get_query_embedding = _get_text_embedding
    async def _aget_query_embedding(self, text):
        return self._get_text_embedding(text)
collection = chromadb.PersistentClient(sys.argv[1]).get_collection("llamaindex", embedding_function=None)
store = ChromaVectorStore(chroma_collection=collection)
retriever = VectorStoreIndex.from_vector_store(store, embed_model=InLlamaIndex()).as_retriever(similarity_top_k=5)
ask = lambda question: len(retriever.retrieve(question))
""",
)

ZVEC = Program(
    "import zvec\n" + EMBED,
    """
collection = zvec.open(sys.argv[1] + "/leaves", zvec.CollectionOption(read_only=True, enable_mmap=True))
ask = lambda question: len(collection.query(zvec.Query("vector", vector=embed([question])[0]), topk=24))
""",
)

LANCEDB = Program(
    "import lancedb\n" + EMBED,
    """
table = lancedb.connect(sys.argv[1]).open_table("leaves")
def ask(question):
    found = table.search(embed([question])[0], vector_column_name="vector").distance_type("cosine")
    return len(found.bypass_vector_index().limit(24).select(["id", "text", "book", "_distance"]).to_list())
""",
)

FIRST_ANSWER = "\nassert ask(sys.argv[2]) in (5, 24)\n"


def run_program(source: str, *arguments: str) -> str:
    """Run a program in a new process with these arguments, and return what it prints.

    Raises:
        RuntimeError: if the program fails, with its traceback.
    """
    command = [sys.executable, "-W", "ignore", "-c", source, *arguments]
    # Modules are compiled first, as by an installer.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def first_answer(program: Program, folder: Path, question: str) -> None:
    """Run a new process from its start to its first answer."""
    run_program(f"import sys\n{program.imports}\n{program.opening}\n{FIRST_ANSWER}", str(folder), question)


class Seconds(NamedTuple):
    """The seconds of a new process after it begins to open a folder: until it is open, and until the first answer."""

    opened: float
    answered: float


def seconds_to_answer(program: Program, folder: Path, question: str) -> Seconds:
    """The seconds that a new process takes, after all imports, to open a folder and to answer a question."""
    warm = (
        "import Stemmer, simsimd\nfrom leafspan.embedding import default_embedder\ndefault_embedder().queries(['warm'])\n"
    )
    now = "time.perf_counter()"
    clocked = (
        f"started = {now}\n{program.opening}\nopened = {now}\n{FIRST_ANSWER}\nprint(opened - started, {now} - started)"
    )
    printed = run_program(f"import sys, time\n{program.imports}\n{warm}\n{clocked}", str(folder), question)
    opened, answered = printed.split()[-2:]
    return Seconds(float(opened), float(answered))


MEMORY = """
import json
for question in json.loads(sys.argv[2]):
    ask(question)
with open("/proc/self/status") as file:
    status = dict(line.split(":", 1) for line in file)
kilobytes = {name: int(status[field].split()[0]) for name, field in (("resident", "VmRSS"), ("own", "RssAnon"))}
print(json.dumps(kilobytes))
"""


def memory_of(program: Program, folder: Path, questions: Sequence[str]) -> dict[str, int]:
    """The kilobytes of a new process after it has answered questions: ``resident``, and its ``own`` (Linux)."""
    source = f"import sys\n{program.imports}\n{program.opening}\n{MEMORY}"
    printed = run_program(source, str(folder), json.dumps(list(questions)))
    kilobytes: dict[str, int] = json.loads(printed.splitlines()[-1])
    return kilobytes

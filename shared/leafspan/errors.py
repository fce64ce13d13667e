"""The exceptions of leafspan, one tree.

LeafspanError
├── InvalidArgument     (also a ValueError)     an option is out of its range, or of a wrong type
├── InvalidDocument     (also a ValueError)     a document cannot be stored as it is
├── EmptySource         (also a ValueError)     a sync would delete everything, since its source has nothing
├── NotALeaf            (also a ValueError)     a base retriever returned something that is no leaf of the index
├── DocumentNotFound    (also a KeyError)       no document has that id
├── IndexNotFound       (also a FileNotFoundError)  there is nothing to open, and ``create`` is off
├── IndexMismatch                               the index was made with another embedder or other options
├── DamagedIndex                                what is stored is not as it was written
├── StorageFailed       (also an OSError)       Chroma, its server or the disk failed
│   ├── StorageFull                             no space is left
│   ├── StorageReadOnly                         the folder cannot be written
│   └── ServerTimeout   (also a TimeoutError)   a Chroma server did not answer in time
├── ForkedProcess       (also a RuntimeError)   a forked process uses what its parent had opened
├── RefusedQuery        (also a ValueError)     a query for a database does more than read what it may read
├── WriterBusy          (also a TimeoutError)   another writer holds the index
├── WrongKey                                    a vault was locked with another key
├── DamagedVault                                a vault's file is not whole, or is none
├── VaultNotFound       (also a FileNotFoundError)  there is no vault, and ``create`` is off
├── FunctionFailed      (also a RuntimeError)   a function of the user's raised, or returned something unusable
│   ├── UnusableResult  (also an InvalidArgument)  it returned something else than it must
│   └── FinderFailed                            a finder of names did
├── RetrievalTimeout    (also a TimeoutError)   a retrieval took longer than its own timeout
├── ConcurrentUpdate    (also a RuntimeError)   writers replaced what was being read, again and again
├── SourceTimeout       (also a TimeoutError)   a source outside the index, such as a graph, did not answer in time
├── SourceFailed        (also a RuntimeError)   a source outside the index failed on a question
│   └── QueryFailed                             a database gave an error or was late, or a model wrote no SQL
│       ├── QueryTimeout                        a database was late; also a SourceTimeout
│       └── DatabaseUnavailable                 a database cannot be reached
└── MissingExtra        (also an ImportError)   an optional part is not installed
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any


class LeafspanError(Exception):
    """Everything that leafspan raises by itself. Catch it to handle all of the below."""


class InvalidArgument(LeafspanError, ValueError):
    """An option breaks its rule; the message gives the rule and the value. Catch it where options come from users."""


class InvalidDocument(LeafspanError, ValueError):
    """A document cannot be stored; the message names it. Catch it to skip such documents in an ingestion."""


class EmptySource(LeafspanError, ValueError):
    """A sync would delete documents because its source has none, such as a folder that is not mounted. Catch it to warn."""


class NotALeaf(LeafspanError, ValueError):
    """A host's retriever, used as a base, returned a result that is no leaf of this index."""


class DocumentNotFound(LeafspanError, KeyError):
    """No document of that id is in the index. Catch it where ids come from users."""

    def __str__(self) -> str:  # a KeyError would show the repr of its message
        return str(self.args[0]) if self.args else ""


class IndexNotFound(LeafspanError, FileNotFoundError):
    """There is no index at that place, and ``create`` was off."""


class IndexMismatch(LeafspanError):
    """The index was made with another embedder, splitter, weight or format; the message names both."""


class DamagedIndex(LeafspanError):
    """What is stored of a document, or of the whole index, is not as it was written. The message has a remedy.

    Attributes:
        document_id: Id of the document; None if it is not about one document.
    """

    def __init__(self, message: str, document_id: str | None = None) -> None:
        super().__init__(message)
        self.document_id = document_id


class StorageFailed(LeafspanError, OSError):
    """Chroma, its server or the disk failed; the message has their own words. Catch it to try again later."""


class StorageFull(StorageFailed):
    """There is no space left on the disk. What was written before is whole. Catch it to make space, then try again."""


class StorageReadOnly(StorageFailed):
    """The folder, or a file in it, cannot be written by this process. Reading it may work."""


class ServerTimeout(StorageFailed, TimeoutError):
    """A Chroma server did not answer in time. Catch it to try again later."""


class ForkedProcess(LeafspanError, RuntimeError):
    """A forked process uses or opens an index while its parent had one open. Open indexes after the fork, or spawn."""


class RefusedQuery(LeafspanError, ValueError):
    """SQL that was not run, since it may do more than read, or reads what is not allowed; the message names the part."""


class WriterBusy(LeafspanError, TimeoutError):
    """Another writer held the index for longer than the timeout. Catch it to try again later."""


class WrongKey(LeafspanError):
    """A vault was locked with another key, or its key was rotated meanwhile. Nothing was changed. Catch it to ask again."""


class DamagedVault(LeafspanError):
    """The file of a vault was changed without its key, is older than it was, cut off, or no vault. Restore a backup."""


class VaultNotFound(LeafspanError, FileNotFoundError):
    """There is no vault at that place, and ``create`` was off."""


class FunctionFailed(LeafspanError, RuntimeError):
    """A function of yours (splitter, analyzer, embedder, counter, clusterer) raised, or returned something unusable.

    The message names it and what it was given; its own error is the cause.

    Attributes:
        quoting_nothing: The message without anything of a text, for where that must not be seen.
    """

    def __init__(self, message: str = "", quoting_nothing: str = "") -> None:
        super().__init__(message)
        self.quoting_nothing = quoting_nothing


class UnusableResult(FunctionFailed, InvalidArgument):
    """A function of yours returned something else than it must; the message gives the rule and what it returned."""


class FinderFailed(FunctionFailed):
    """A finder of a private view failed, or returned something else than entities. The message quotes nothing of a text.

    The document was not written, or the question not asked. Catch it to try again where the finder asks a service.
    """


class ConcurrentUpdate(LeafspanError, RuntimeError):
    """Another process replaced the same documents during every attempt to read or write them. Catch it to try again."""


class RetrievalTimeout(LeafspanError, TimeoutError):
    """A retrieval took longer than its ``timeout``. Catch it to ask for less, or to allow more time."""


class SourceTimeout(LeafspanError, TimeoutError):
    """A source outside the index, such as a graph, did not answer in time. Catch it to try again, or to go on without."""


@cache
def _both(ours: Any, theirs: Any) -> Any:
    """A subclass of an error of ours and of another one."""
    if issubclass(theirs, StopIteration | StopAsyncIteration):  # which mean something else where they are raised
        return ours

    def init(self: SourceFailed, message: str) -> None:
        self.args = (message,)

    def get(self: SourceFailed, name: str) -> Any:
        if name.startswith("__") or self.__cause__ is None:
            raise AttributeError(name)
        return getattr(self.__cause__, name)

    def reduce(self: SourceFailed) -> Any:
        is_known = vars(sys.modules.get(theirs.__module__, sys)).get(theirs.__qualname__) is theirs
        return _remade, (ours, theirs if is_known else None, *self.args), vars(self)

    own = {"__init__": init, "__str__": LeafspanError.__str__, "__getattr__": get, "__reduce__": reduce}
    return type(ours.__name__, (ours, theirs), {**own, "__module__": ours.__module__})


def _remade(ours: Any, theirs: Any, message: str) -> Any:
    """A copy of an error that was both, of ours alone where the other class cannot be imported."""
    return (ours if theirs is None else _both(ours, theirs))(message)


class SourceFailed(LeafspanError, RuntimeError):
    """A source outside the index failed on a question; the message has its own error. Catch it to go on without it."""

    @classmethod
    def by(cls, message: str, cause: Exception) -> SourceFailed:
        """The error for a source that raised ``cause``. It is of the class of ``cause`` as well, and has its attributes.

        So what catches that class, such as LangChain's ``with_retry`` and ``with_fallbacks``, catches this error, too. It
        is a ``SourceFailed`` alone if there can be no class that is both.
        """
        try:
            error: SourceFailed = _both(cls, type(cause))(message)  # type: ignore[arg-type]
        except TypeError:
            error = cls(message)
        error.__cause__ = cause
        return error


class QueryFailed(SourceFailed):
    """A database gave an error or was too slow, or a language model wrote no SQL. The message can be shown to a user."""


class QueryTimeout(QueryFailed, SourceTimeout):
    """A database did not answer in time. Catch it to ask for less, or to allow more time."""


class DatabaseUnavailable(QueryFailed):
    """A database took no connection, or dropped it. Catch it to try again later."""


class MissingExtra(LeafspanError, ImportError):
    """An optional part is not installed; the message gives the command that installs it."""

    @classmethod
    def of(cls, lack: str, extra: str, otherwise: str = "") -> MissingExtra:
        """The error for an extra of leafspan, which is on no package index yet, so that its name there is anybody's.

        Args:
            lack: What needs which package, such as ``"PDF needs pypdf"``.
            extra: Name of the extra.
            otherwise: What would do as well. Default: "", nothing.
        """
        command = f'pip install ".[{extra}]" in the clone of leafspan'
        return cls(f"{lack}: {command}{'; ' if otherwise else ''}{otherwise}")

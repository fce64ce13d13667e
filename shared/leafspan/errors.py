"""The exceptions of leafspan, one tree.

LeafspanError
├── InvalidArgument     (also a ValueError)     an option is out of its range, or of a wrong type
├── InvalidDocument     (also a ValueError)     a document cannot be stored as it is
├── EmptySource         (also a ValueError)     a sync would delete everything, since its source is empty
├── NotALeaf            (also a ValueError)     a base retriever returned a result that is no leaf of the index
├── DocumentNotFound    (also a KeyError)       no document has that id
├── IndexNotFound       (also a FileNotFoundError)  there is no index, and ``create`` is False
├── IndexMismatch                               the index was made with another embedder or other options
├── DamagedIndex                                stored data is damaged
├── StorageFailed       (also an OSError)       Chroma, its server or the disk failed
│   ├── StorageFull                             no space is left
│   ├── StorageReadOnly                         the folder cannot be written
│   └── ServerTimeout   (also a TimeoutError)   a Chroma server did not answer in time
├── ForkedProcess       (also a RuntimeError)   a forked process uses what its parent had opened
├── RefusedQuery        (also a ValueError)     a database query may do more than read, or reads something forbidden
├── WriterBusy          (also a TimeoutError)   another writer holds the index
├── WrongKey                                    a vault was locked with another key
├── DamagedVault                                a vault's file is damaged, or is no vault
├── VaultNotFound       (also a FileNotFoundError)  there is no vault, and ``create`` is False
├── FunctionFailed      (also a RuntimeError)   your function raised an error, or returned a wrong value
│   ├── UnusableResult  (also an InvalidArgument)  it returned a wrong value
│   └── FinderFailed                            a finder of names failed
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
    """The base of all errors that leafspan raises. Catch it to handle all of them."""


class InvalidArgument(LeafspanError, ValueError):
    """An option has a wrong value. The message has the rule and the value. Catch it where options come from users."""


class InvalidDocument(LeafspanError, ValueError):
    """A document cannot be stored. The message names the document. Catch it to skip such documents."""


class EmptySource(LeafspanError, ValueError):
    """A sync would delete documents because its source is empty, such as a folder that is not mounted. Catch it to warn."""


class NotALeaf(LeafspanError, ValueError):
    """A base (a retriever of LangChain or LlamaIndex, or a graph) returned a result that is not a leaf of this index."""


class DocumentNotFound(LeafspanError, KeyError):
    """The index has no document with that id. Catch it where ids come from users."""

    def __str__(self) -> str:  # a KeyError would show the repr of its message
        return str(self.args[0]) if self.args else ""


class IndexNotFound(LeafspanError, FileNotFoundError):
    """There is no index in that folder or on that server, and ``create`` is False."""


class IndexMismatch(LeafspanError):
    """The index was made with another embedder, splitter, weight or format. The message has both values."""


class DamagedIndex(LeafspanError):
    """Stored data of a document, or of the whole index, is damaged. The message says how to repair it.

    Attributes:
        document_id: Id of the document. None if the damage is not in one document.
    """

    def __init__(self, message: str, document_id: str | None = None) -> None:
        super().__init__(message)
        self.document_id = document_id


class StorageFailed(LeafspanError, OSError):
    """Chroma, its server or the disk failed; the message quotes their error. Catch it to try again later."""


class StorageFull(StorageFailed):
    """The disk is full. Documents that were written before are complete. Make space, then try again."""


class StorageReadOnly(StorageFailed):
    """The folder, or a file in it, cannot be written by this process. Reading it may work."""


class ServerTimeout(StorageFailed, TimeoutError):
    """A Chroma server did not answer in time. Catch it to try again later."""


class ForkedProcess(LeafspanError, RuntimeError):
    """A forked process uses or opens an index, and its parent had one open. Open indexes after the fork, or use spawn."""


class RefusedQuery(LeafspanError, ValueError):
    """SQL was not run, because it may do more than read, or reads something forbidden. The message names the part."""


class WriterBusy(LeafspanError, TimeoutError):
    """Another writer held the index for longer than the timeout. Catch it to try again later."""


class WrongKey(LeafspanError):
    """A vault was locked with another key, or its key was rotated. The vault is unchanged. Open it with the right key."""


class DamagedVault(LeafspanError):
    """A vault's file was changed without its key, is an old copy, is cut off, or is no vault. Restore a backup."""


class VaultNotFound(LeafspanError, FileNotFoundError):
    """There is no vault file at that path, and ``create`` is False."""


class FunctionFailed(LeafspanError, RuntimeError):
    """A function of yours (splitter, analyzer, embedder, counter, clusterer) raised, or returned something unusable.

    The message names the function and its input. The function's own error is the ``__cause__``.

    Attributes:
        quoting_nothing: The message without quoted text, for logs that must not show texts of documents.
    """

    def __init__(self, message: str = "", quoting_nothing: str = "") -> None:
        super().__init__(message)
        self.quoting_nothing = quoting_nothing


class UnusableResult(FunctionFailed, InvalidArgument):
    """A function of yours returned a wrong value. The message has the rule and the value."""


class FinderFailed(FunctionFailed):
    """A finder of a private view failed, or did not return entities. The message quotes no text.

    The document was not written, or the question was not asked. If the finder calls a service, catch it to try again.
    """


class ConcurrentUpdate(LeafspanError, RuntimeError):
    """Another process replaced the same documents during every attempt to read or write them. Catch it to try again."""


class RetrievalTimeout(LeafspanError, TimeoutError):
    """A retrieval took longer than its ``timeout``. Catch it to ask for less, or to allow more time."""


class SourceTimeout(LeafspanError, TimeoutError):
    """A source outside the index, such as a graph, did not answer in time. Catch it to try again or to go on without it."""


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
    """A source outside the index, such as a graph, failed. The message has its error. Catch it to go on without it."""

    @classmethod
    def by(cls, message: str, cause: Exception) -> SourceFailed:
        """The error for a source that raised ``cause``. It is of the class of ``cause`` as well, and has its attributes.

        So what catches that class, such as LangChain's ``with_retry`` and ``with_fallbacks``, catches this error, too.
        If no class can be both, the error is only a ``SourceFailed``.
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
    """A database refused or closed the connection. Catch it to try again later."""


class MissingExtra(LeafspanError, ImportError):
    """An optional part is not installed; the message gives the command that installs it."""

    @classmethod
    def of(cls, lack: str, extra: str, otherwise: str = "") -> MissingExtra:
        """The error for a missing extra, to be installed from a clone: leafspan is on no package index yet.

        Args:
            lack: What needs which package, such as ``"PDF needs pypdf"``.
            extra: Name of the extra.
            otherwise: What else would help. Default: "", nothing.
        """
        command = f'pip install ".[{extra}]" in the clone of leafspan'
        return cls(f"{lack}: {command}{'; ' if otherwise else ''}{otherwise}")

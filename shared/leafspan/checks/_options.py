"""Checks of options and their names, which raise ``InvalidArgument`` with the rule and the wrong value.

A bool is not a number, and neither are nan and infinity.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import MISSING, Field, fields
from difflib import get_close_matches
from functools import wraps
from inspect import iscoroutinefunction, unwrap
from json import JSONDecodeError
from math import isfinite
from numbers import Real
from operator import index
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

from leafspan.errors import InvalidArgument

F = TypeVar("F", bound=Callable[..., Any])

_MOST = 2**63
_LONGEST_NAME = 255  # bytes of a file name
_LONGEST_WAIT = 1e9  # seconds: operating systems allow little more
_SHOWN = 100  # characters of a value in a message
_ADDRESS = re.compile(
    r"\s*([a-z][\w+.-]+:/+)|.*(?:://|(?:password|passwd|pwd)\s*=)|[^/\\@:]{2,}:[^\\@]*@", re.IGNORECASE | re.DOTALL
)  # such as mysql://..., host=db password=secret and anna:secret@db
_WITHOUT_SECRETS = re.compile(r"[\w+.-]+:/+[\w.-]*(:\d+)?(/[\w./-]*)?")


def is_number(value: object) -> bool:
    """Whether ``value`` is a finite real number, but not a bool."""
    try:
        return isinstance(value, float | int | Real) and not isinstance(value, bool) and isfinite(value)
    except OverflowError:  # an int that no float can hold
        return False


def whole_number(value: object) -> int | None:
    """``value`` as a plain int, also from a numpy number. None for a bool, or if it is not a whole number."""
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        return None
    try:
        return int(index(value))  # type: ignore[arg-type]
    except TypeError:  # an array, or a numpy bool
        return None


def check_whole(name: str, value: object, least: int) -> int:
    """Return a whole number >= ``least``, of at most 64 bits, such as an int or a numpy number, as a plain int."""
    number = whole_number(value)
    if number is not None and number >= _MOST:
        raise InvalidArgument(f"{name} must be a whole number in [{least}, {_MOST}), got one of {number.bit_length()} bits")
    if number is None or number < least:
        raise InvalidArgument(f"{name} must be a whole number >= {least}, got {shown(value)}")
    return number


def keep_whole(owner: object, name: str, least: int, *, optional: bool = False) -> None:
    """Check an option of a frozen dataclass as ``check_whole`` does, or that it is None, and keep it as a plain int."""
    value = getattr(owner, name)
    if value is not None or not optional:
        object.__setattr__(owner, name, check_whole(name, value, least))


def check_number(
    name: str,
    value: object,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
    unit: str = "",
    optional: bool = False,
) -> None:
    """Check that ``value`` is a finite number of ``unit`` within the bounds, or None if ``optional``."""
    if value is None and optional:
        return
    low, high = at_least if above is None else above, at_most if below is None else below
    within = (
        is_number(value)
        and (low is None or value > low or (value == low and above is None))  # type: ignore[operator]
        and (high is None or value < high or (value == high and below is None))  # type: ignore[operator]
    )
    if within and unit == "seconds" and value > _LONGEST_WAIT:  # type: ignore[operator]
        raise InvalidArgument(f"{name} must be a number of seconds <= {_LONGEST_WAIT:g}, got {shown(value)}")
    if not within:
        range_ = ""
        if low is not None and high is not None:
            range_ = f" in {'[' if above is None else '('}{low:g}, {high:g}{']' if below is None else ')'}"
        elif low is not None:
            range_ = f" {'>=' if above is None else '>'} {low:g}"
        elif high is not None:
            range_ = f" {'<=' if below is None else '<'} {high:g}"
        of = f" of {unit}" if unit else ""
        raise InvalidArgument(f"{name} must be a number{of}{range_}, got {shown(value)}")


def check_flag(name: str, value: object) -> None:
    """Check that ``value`` is True or False."""
    if not isinstance(value, bool):
        raise InvalidArgument(f"{name} must be True or False, got {shown(value)}")


def check_text(name: str, value: object) -> None:
    """Check that ``value`` is a string."""
    if not isinstance(value, str):
        raise InvalidArgument(f"{name} must be a string, got {shown(value)}")


def is_unicode(text: str) -> bool:
    """Whether a text can be encoded: a lone surrogate is not a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def checked_id(name: str, value: object) -> str:
    """The id of a document, as a plain str. The id may be impossible for a document."""
    if not isinstance(value, str):
        raise InvalidArgument(f"{name} must be the id of a document, a string, got {shown(value)}")
    return str.__str__(value)


def check_path(name: str, path: object) -> None:
    """Check that ``path`` is possible in a file system, and no address, whose password would be the name of a folder."""
    if not isinstance(path, str | Path):
        raise InvalidArgument(f"{name} must be a string or a pathlib.Path, got {shown(path)}")
    if _ADDRESS.match(str(path)):
        raise InvalidArgument(
            f"{name} must be a folder or a file, got an address ({shown(path)}): an index, as a text, has the addresses "
            "http://host:port/name of a Chroma server and postgresql://user@host/database; others are opened by client="
        )
    if path == "":  # mostly an unset variable
        raise InvalidArgument(f"{name} must be a path, got an empty text; '.' is the current folder")
    try:
        names = [os.fsencode(name) for name in Path(path).parts]
        possible = not any(b"\0" in name or len(name) > _LONGEST_NAME for name in names)
    except UnicodeEncodeError:  # a lone surrogate without a byte
        possible = False
    if not possible:
        raise InvalidArgument(f"{name} must be a path that a file system can have, got {shown(path)}")


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Check that ``value`` is one of the choices; the message suggests a choice with a similar spelling."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidArgument(
            f"{name} must be one of {', '.join(map(repr, choices))}, got {shown(value)}{did_you_mean(value, choices)}"
        )


def did_you_mean(value: object, choices: Iterable[str]) -> str:
    """A question that ends an error message, such as ``; did you mean 'hybrid'?``, or "" if no name is close.

    Long values are not compared, since the time grows with the square of their length.
    """
    close: list[str] = []
    if isinstance(value, str) and len(value) <= _LONGEST_NAME:
        close = get_close_matches(value, [each for each in choices if len(each) <= _LONGEST_NAME], n=1)
    return f"; did you mean {shown(close[0])}?" if close else ""


def shown(value: object) -> str:
    """The value as an error message shows it: its repr, with the middle cut out if it is too long.

    Of an address that may have a password, it is only the scheme.
    """
    place = str(value) if isinstance(value, str | Path) else ""
    if (like := _ADDRESS.match(place)) and not _WITHOUT_SECRETS.fullmatch(place):
        return repr(f"{like[1] or ''}...")
    try:
        text = repr(value)
    except Exception as error:  # a user's own repr, or a value nested too deep
        return f"a {type(value).__qualname__} whose repr fails with {type(error).__name__}"
    if len(text) <= _SHOWN:
        return text
    half = (_SHOWN - 3) // 2
    return f"{text[:half]}...{text[-half:]}"


def shown_below(value: float, limit: float) -> str:
    """A number below the limit with three digits, or with as many as it needs to look lower."""
    return next((text for text in (f"{value:.{digits}g}" for digits in range(3, 17)) if float(text) < limit), repr(value))


def what_makes_one(value: object, methods: Iterable[str]) -> str:
    """The end of an error about a value of a wrong type, such as ``; its as_strategy() makes one``."""
    makers = [] if isinstance(value, type) else [name for name in methods if callable(getattr(value, name, None))]
    return f"; its {makers[0]}() makes one" if makers else ""


def reason_of(error: BaseException) -> str:
    """The end of an error message: why a file cannot be read, or a text is not JSON."""
    if isinstance(error, OSError) and error.strerror:
        return _lower(error.strerror)
    if isinstance(error, UnicodeDecodeError):
        return f"the byte at place {error.start} is no {error.encoding.upper()}"
    if isinstance(error, JSONDecodeError):
        line = "" if error.lineno == 1 else f" of line {error.lineno}"
        return f"{_lower(error.msg)} at character {error.colno}{line}"
    if isinstance(error, SyntaxError):
        return _lower(error.msg)
    return str(error)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def check_can_be_written(path: str | Path) -> None:
    """Check that a file can be written, as far as possible without writing it."""
    check_path("a file that is written", path)
    file = Path(path)
    if file.is_dir():
        raise _unwritable(file, "it is a folder")
    if file.is_symlink() and not file.exists():  # otherwise the link's author would choose the file to create
        raise _unwritable(file, "it is a link to a file that does not exist")
    if not file.parent.is_dir():
        raise _unwritable(file, "its folder does not exist; create it first")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise _unwritable(file, "permission denied")


def write_file(path: str | Path, text: str) -> None:
    """Write a text to a file in UTF-8. An existing file is replaced."""
    check_can_be_written(path)
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise _unwritable(Path(path), reason_of(error)) from error


def _unwritable(file: Path, why: str) -> InvalidArgument:
    return InvalidArgument(f"cannot write to {str(file)!r}: {why}")


_SAME = (
    ("k", "similarity_top_k", "top_k", "n_results"),
    ("where", "filter", "filters"),
    ("candidates", "fetch_k", "mmr_prefetch_k"),
    ("strategy", "search_type", "vector_store_query_mode"),
    ("index", "vectorstore", "vector_store"),
    ("min_score", "score_threshold", "similarity_cutoff"),
    ("llm", "generate", "agenerate"),
    ("retrieval_timeout", "timeout"),
    ("path", "persist_directory", "persist_dir"),
    ("name", "collection_name"),
    ("embedder", "embedding", "embeddings", "embedding_function", "embed_model"),
    ("splitter", "chunk_size", "chunk_overlap", "text_splitter", "node_parser", "transformations"),
    ("weights", "alpha"),
    ("base", "retriever", "base_retriever"),
    ("strategies", "retrievers"),
    ("phrasings", "queries"),
    ("instance", "rag", "lightrag"),
    ("graph", "store", "graph_store", "property_graph_store", "property_graph_index"),
    ("database", "engine"),
    ("database", "db", "url", "uri", "database_uri", "sql_database"),
    ("rerank", "compressor", "base_compressor", "postprocessor", "node_postprocessors"),
)
"""Groups of host and leafspan names for the same option."""

_CONVERTED = {"mmr_threshold": "diversity", "lambda_mult": "diversity"}  # host names for one minus an option of leafspan

_KINDS_OF_SEARCH = ("search_type", "vector_store_query_mode")


def check_option_names(
    owner: str, names: Collection[str], own: Collection[str], *, of_a_call: Collection[str] = ()
) -> None:
    """Check that ``owner`` has options with these names: ``own`` are the names of its options."""
    for name in names:
        if name not in own:
            raise InvalidArgument(f"{owner} has no option {name!r}{_hint(owner, name, own, of_a_call)}")


def _hint(owner: str, name: str, own: Collection[str], of_a_call: Collection[str]) -> str:
    """The end of an error message: the option that was probably meant."""
    if name in ("search_kwargs", "vector_store_kwargs") and (
        limits := [word for word in ("k", "similarity_top_k") if word in own]
    ):
        itself = f"{limits[0]}=2"
        return f"; give its content, such as {f'{owner}(index=index, {itself})' if 'index' in own else itself}"
    if name == "where_document":
        return "; no filter reads texts: find words with BM25Retriever, search_type='bm25' or the tool grep"
    if name in _KINDS_OF_SEARCH and "index" in own and "strategy" not in own:
        return "; each kind of search has a retriever of its own, such as HybridRetriever or BM25Retriever"
    if (ours := _CONVERTED.get(name)) in own:
        return f"; here it is {ours!r}, which is 1 - {name}"
    same = {name: None, **{word: None for words in _SAME if name in words for word in words}}
    if here := [word for word in same if word in own]:
        return f"; here it is {here[0]!r}"
    if elsewhere := [word for word in same if word in of_a_call]:
        return f"; it is an option of the call: retrieve(question, strategy, {elsewhere[0]}=...)"
    return did_you_mean(name, own)


def with_option_names(function: F, *, of_a_call: Collection[str] = (), more: Collection[str] = ()) -> F:
    """The function, with a leafspan error for an option that is neither its own nor among ``more``."""
    assert isinstance(function, FunctionType)
    code = unwrap(function).__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    is_method = names[:1] in (("self",), ("cls",))
    name, own = function.__name__, dict.fromkeys((*names[is_method:], *more))

    def check(arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        if options.keys() <= own.keys():
            return
        owner = name
        if is_method and arguments:
            kind = arguments[0] if isinstance(arguments[0], type) else type(arguments[0])
            owner = kind.__name__ if name == "__init__" else f"{kind.__name__}.{name}"
        check_option_names(owner, options, own, of_a_call=of_a_call)

    if iscoroutinefunction(function):

        @wraps(function)
        async def awaited(*arguments: Any, **options: Any) -> Any:
            check(arguments, options)
            return await function(*arguments, **options)

        return awaited  # type: ignore[return-value]

    @wraps(function)
    def called(*arguments: Any, **options: Any) -> Any:
        check(arguments, options)
        return function(*arguments, **options)

    return called  # type: ignore[return-value]


def changed_options(value: Any) -> list[Field[Any]]:
    """The fields of a dataclass that differ from their defaults, in order, without fields that ``repr`` leaves out."""
    return [each for each in fields(value) if each.repr and not _is_default(getattr(value, each.name), each)]


def short_repr(value: Any) -> str:
    """The ``repr`` of a dataclass with the options that differ from their defaults, such as ``Hybrid(references=0)``."""
    options = (f"{each.name}={getattr(value, each.name)!r}" for each in changed_options(value))
    return f"{type(value).__qualname__}({', '.join(options)})"


def _is_default(value: object, option: Field[Any]) -> bool:
    default = option.default if option.default_factory is MISSING else option.default_factory()
    try:
        return value is default or (type(value) is type(default) and bool(value == default))
    except Exception:  # such as an array's, which has no single truth value
        return False

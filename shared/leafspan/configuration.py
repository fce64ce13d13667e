"""The configuration of an index and its retrievals, which can be a YAML or JSON file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Self

from leafspan.checks import check_text, short_repr, shown, write_file
from leafspan.config import Location, config_text, load_config, read_config, register, schema_of, write_config
from leafspan.documents import OpenOptions
from leafspan.errors import InvalidArgument
from leafspan.lexical import Analysis, Analyzer, BM25Settings
from leafspan.retrieval import Defaults
from leafspan.spans import Budget
from leafspan.splitting import HierarchicalSplitter, Splitter
from leafspan.strategies import DEFAULT, Strategy, to_strategy

for each in (HierarchicalSplitter, Analyzer, Budget):
    register(each)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Options for ``Index.open``, and defaults for each ``retrieve``.

    An option that is None has the same default as without a configuration. The first six are fixed when an index is made.

    Args:
        embedder: Name of the embedder: ``"minilm"``, ``"e5"``, ``"wordllama"`` or ``"package.module:attribute"``.
            Default: None.
        splitter: How documents are cut into leaves. Default: None.
        context_sentences: Number of sentences from the previous and the next leaf to index with each leaf, >= 0.
            Default: None.
        title_weight: Weight, >= 0, of the title and the headings in a leaf's vector, beside 1 for its text. Default: None.
        analyzer: How texts become the terms that BM25 counts. Default: None.
        bm25: k1, b and the variant of BM25. Default: None.
        strategy: Strategy for calls that do not name one. Default: None.
        k: Most passages, >= 1, if a call gives neither ``k`` nor ``budget``. Default: None.
        candidates: Leaves to look at before merging, in [1, 10000]. Default: None.
        budget: Most words in all passages together, >= 1, if a call gives neither ``k`` nor ``budget``; or tokens with
            ``Budget(512, count=...)``. Default: None.
        min_score: Lowest score of a passage. Default: None.
        per_document: Most passages of one document, >= 1. Default: None.
        as_of: Moment at which documents must be valid, as in ``retrieve``. Default: None.

    Raises:
        InvalidArgument: if an option is out of its range.
    """

    embedder: str | None = None
    splitter: HierarchicalSplitter | Splitter | None = None
    context_sentences: int | None = None
    title_weight: float | None = None
    analyzer: Analyzer | Analysis | None = None
    bm25: BM25Settings | None = None
    strategy: Strategy | None = None
    k: int | None = None
    candidates: int | None = None
    budget: int | Budget | None = None
    min_score: float | None = None
    per_document: int | None = None
    as_of: datetime | date | str | None = None

    def __repr__(self) -> str:
        return short_repr(self)

    def __post_init__(self) -> None:
        if self.embedder is not None:
            check_text("embedder", self.embedder)
        self.options()
        object.__setattr__(self, "as_of", self.defaults().limits_of({}).as_of)  # which checks all limits
        if self.strategy is not None:
            object.__setattr__(self, "strategy", to_strategy("strategy", self.strategy))

    @classmethod
    def of(cls, given: object) -> Config:
        """The configuration from a ``Config``, the path of a file, a mapping, or None.

        Raises:
            InvalidArgument: if it is something else, or something in it is wrong; the message says where.
        """
        if given is None:
            return cls()
        if isinstance(given, Config):
            return given
        if isinstance(given, str | Path):
            return cls.load(given)
        if isinstance(given, Mapping):
            return cls.from_dict(given)
        raise InvalidArgument(f"config must be a Config, the path of a file, or a mapping, got {shown(given)}")

    @classmethod
    def load(cls, path: str | Path, *, given: Mapping[str, object] | None = None) -> Self:
        """The configuration in a file in YAML or JSON.

        Args:
            path: The file.
            given: Objects by name; each one replaces ``{"given": name}``. Default: none.

        Raises:
            InvalidArgument: if it cannot be read, or something in it is wrong; the message says in which line.
        """
        plain, place = load_config(path)
        return cls._read({} if plain is None else plain, given, place)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], *, given: Mapping[str, object] | None = None) -> Self:
        """The configuration from the plain values that ``to_dict`` returns.

        Args:
            plain: The plain values.
            given: Objects by name; each one replaces ``{"given": name}``. Default: none.

        Raises:
            InvalidArgument: if something in it is wrong; the message says where.
        """
        return cls._read(plain, given, Location())

    @classmethod
    def _read(cls, plain: object, given: Mapping[str, object] | None, place: Location) -> Self:
        if not isinstance(plain, Mapping):
            raise place.error(f"a configuration must be a mapping with options such as strategy, got {shown(plain)}")
        made: Self = read_config(plain, cls, given or {}, place)
        return made

    def to_dict(self, *, given: Mapping[str, object] | None = None, full: bool = False) -> dict[str, Any]:
        """The configuration as plain values, from which ``from_dict`` makes an equal one.

        Args:
            given: Objects that cannot be written, such as functions, by name. The name is written in their place.
                Default: none.
            full: Whether to write options that have their default, too. Default: False.

        Raises:
            InvalidArgument: if an option cannot be written, such as a function that is not among ``given``.
        """
        written: dict[str, Any] = write_config(self, given or {}, full=full, base=Config)
        return written

    def save(self, path: str | Path, *, given: Mapping[str, object] | None = None) -> None:
        """Write it to a file, as JSON if its name ends with ``.json``, else as YAML. An existing file is replaced.

        Args:
            path: The file.
            given: Objects that cannot be written, such as functions, by name. The name is written in their place.
                Default: none.

        Raises:
            InvalidArgument: if an option cannot be written, such as a function that is not among ``given``, or the file
                cannot be written.
        """
        text = config_text(self.to_dict(given=given), json_text=Path(path).suffix == ".json")
        write_file(path, text)

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """The JSON schema of configurations, by which editors complete and check them."""
        return schema_of(cls)

    def options(self) -> OpenOptions:
        """The options that are fixed when an index is made."""
        return OpenOptions(self.splitter, self.context_sentences, self.title_weight, self.analyzer, self.bm25)

    def options_with(self, given: OpenOptions) -> OpenOptions:
        """These options, except those that a call of ``Index.open`` gives itself."""
        return self.options().with_others(given)

    def defaults(self) -> Defaults:
        """The strategy and limits for calls of ``retrieve`` without these options."""
        strategy = DEFAULT if self.strategy is None else self.strategy
        return Defaults(strategy, self.k, self.candidates, self.budget, self.min_score, self.per_document, self.as_of)


register(Config)

"""The options of a build of trees."""

from __future__ import annotations

import json
from dataclasses import dataclass

from leafspan.checks import check_flag, keep_whole, shown
from leafspan.errors import InvalidArgument
from leafspan.language_model import identity_of
from leafspan.trees._clusters import Clusterer
from leafspan.trees._summarizer import Summarizer


@dataclass(frozen=True, slots=True)
class Plan:
    """How trees are built: see ``Index.build_tree``.

    Raises:
        InvalidArgument: if an option is out of its range.
    """

    clusterer: Clusterer
    summarizer: Summarizer
    summarizer_was_given: bool = True
    max_layers: int = 5
    across_documents: bool = False
    partition_by: str | None = None

    def __post_init__(self) -> None:
        keep_whole(self, "max_layers", 1)
        check_flag("across_documents", self.across_documents)
        if not callable(self.clusterer) or isinstance(self.clusterer, type):
            raise InvalidArgument(f"clusterer must be a function such as Bisecting(), got {shown(self.clusterer)}")
        if self.partition_by is not None and (not isinstance(self.partition_by, str) or not self.partition_by):
            raise InvalidArgument(f"partition_by must be a metadata key, got {shown(self.partition_by)}")

    @property
    def has_upper_layers(self) -> bool:
        """Whether to build layers above the documents' trees."""
        return self.across_documents or self.partition_by is not None

    @property
    def identity(self) -> str:
        """Text that differs if a build would make another tree of the same document."""
        clusterer = identity_of(self.clusterer)
        return json.dumps([self.summarizer.identity, self.summarizer.max_input_words, clusterer, self.max_layers])

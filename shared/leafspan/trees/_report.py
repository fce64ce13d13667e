"""The result of a build of trees."""

from __future__ import annotations

from dataclasses import dataclass, field

from leafspan.trees._growing import Tally, TreeDraft


@dataclass(frozen=True, slots=True)
class FailedSummary:
    """A summary that could not be made.

    Attributes:
        tree: Id of the document whose tree has the summary. For a layer above the documents' trees, a text that names its
            documents.
        layer: Layer of the summary, >= 1. 0 if leaves of the document are missing.
        error: A ``FunctionFailed`` whose cause is the last error of the summarizer, or an error that says what is wrong
            with the document.
    """

    tree: str
    layer: int
    error: Exception


@dataclass(frozen=True, slots=True)
class TreesBuilt:
    """What ``build_tree`` did, or with ``dry_run`` would do.

    Attributes:
        built: Ids of the documents whose trees are new.
        unchanged: Number of documents whose trees are up to date.
        summaries: Number of summaries written.
        asked: Number of different summaries that the summarizer had to make.
        reused: Number of different summaries that had been made before, from the same texts.
        words_sent: In a dry run, about how many words would be sent to a language model. Otherwise 0.
        words_received: In a dry run, about how many words would come back. Otherwise 0.
        failed: Summaries that failed. Their trees were not written; build again.
    """

    built: tuple[str, ...]
    unchanged: int
    summaries: int
    asked: int
    reused: int
    words_sent: int
    words_received: int
    failed: tuple[FailedSummary, ...]

    def __repr__(self) -> str:
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"TreesBuilt({len(self.built)} built, {self.unchanged} unchanged, {self.summaries} summaries{failed})"

    @property
    def share_asked(self) -> float:
        """The share of the needed summaries that the summarizer was asked for, in [0, 1]. 0 if no summary was needed."""
        needed = self.asked + self.reused
        return self.asked / needed if needed else 0.0


@dataclass(slots=True)
class Report:
    """What a build has done so far. Ids are shown ids.

    Attributes:
        tally: Counts of the summaries.
        built: Ids of the documents whose trees are new.
        unchanged: Ids of the documents whose trees are up to date.
        summaries: Number of summaries written.
        failed: Summaries that failed.
        failed_owners: Stored ids of the documents whose trees failed; ``UPPER_LAYERS`` if layers above them did.
    """

    tally: Tally = field(default_factory=Tally)
    built: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    summaries: int = 0
    failed: list[FailedSummary] = field(default_factory=list)
    failed_owners: set[str] = field(default_factory=set)

    def add_failures(self, draft: TreeDraft) -> None:
        """Add the failures of a tree."""
        self.failed += [FailedSummary(draft.name, layer, error) for layer, error in draft.failures]
        self.failed_owners.add(draft.owner)

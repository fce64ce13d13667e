"""What a build of trees did."""

from __future__ import annotations

from dataclasses import dataclass, field

from leafspan.tree._growing import Tally, TreeDraft


@dataclass(frozen=True, slots=True)
class FailedSummary:
    """A summary that could not be made.

    Attributes:
        tree: Id of the document whose tree it belongs to, or which documents the layers above are about.
        layer: Its layer.
        error: What went wrong.
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
        asked: Number of different summaries that were made.
        reused: Number of different summaries that had been made before for the same texts.
        words_sent: In a dry run, about how many words would go to a language model.
        words_received: In a dry run, about how many words would come back.
        failed: Summaries that failed. Their trees are not there; build again.
    """

    built: tuple[str, ...]
    unchanged: int
    summaries: int
    asked: int
    reused: int
    words_sent: int
    words_received: int
    failed: tuple[FailedSummary, ...]

    @property
    def share_asked(self) -> float:
        """The share of the summaries needed that had to be made, in [0, 1]; 0 if none was needed."""
        needed = self.asked + self.reused
        return self.asked / needed if needed else 0.0


@dataclass(slots=True)
class Report:
    """What a build has done so far, by the ids that the view shows."""

    tally: Tally = field(default_factory=Tally)
    built: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    summaries: int = 0
    failed: list[FailedSummary] = field(default_factory=list)
    failed_owners: set[str] = field(default_factory=set)  # stored ids

    def add_failures(self, draft: TreeDraft) -> None:
        """Note what went wrong with a tree."""
        self.failed += [FailedSummary(draft.name, layer, error) for layer, error in draft.failures]
        self.failed_owners.add(draft.owner)

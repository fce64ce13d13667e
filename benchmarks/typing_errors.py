"""What do strategies still find if each longer word of a question has a typing error?

    python benchmarks/typing_errors.py

In each word of five letters and more of the questions in benchmarks/sample, a letter is left out, added, replaced or
swapped with the next one. ``Hybrid as written`` has the option ``spelling=False``. A figure is the share of questions whose
answer is in the first 150, 300, 600 and 1,200 words; for scifact, nDCG@10.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

from quality import NAMES, SAMPLE, measured, read

from leafspan import Hybrid, Index

STRATEGIES = {**NAMES, "Hybrid as written": Hybrid(spelling=False)}
_WORD = re.compile(r"\b[a-z]{5,}\b", re.IGNORECASE)


def with_errors(text: str, chance: random.Random) -> str:
    """The text with an error in each longer word, but not in its first and last letter."""

    def misspelt(match: re.Match[str]) -> str:
        word = match[0]
        place = chance.randrange(1, len(word) - 2)
        before, letter, following, after = word[:place], word[place], word[place + 1], word[place + 2 :]
        other = chance.choice("abcdefghijklmnopqrstuvwxyz")
        return (
            before + chance.choice([following, other + letter + following, other + following, following + letter]) + after
        )

    return _WORD.sub(misspelt, text)


def main() -> None:
    """Print two rows for each strategy and set, and how many foreign questions are refused."""
    print(f"{'set':<12}{'strategy':<20}{'errors':<8}recall at 150, 300, 600 and 1,200 words, or nDCG@10")
    for path in sorted(SAMPLE.glob("*.jsonl.gz")):
        documents, questions = read(path)
        chance = random.Random(5)
        wrong = [replace(each, text=with_errors(each.text, chance)) for each in questions]
        without, with_them = measured(documents, questions, STRATEGIES), measured(documents, wrong, STRATEGIES)
        for name in STRATEGIES:
            for errors, figures in (("no", without[name]), ("yes", with_them[name])):
                shown = " ".join(f"{each:.3f}" for each in figures)
                print(f"{path.name.split('.')[0]:<12}{name:<20}{errors:<8}{shown}", flush=True)
    for spelling in (True, False):
        print(f"of questions of other sets, {spelling=} refuses {refused(spelling):.3f} with min_answer_probability=0.5")


def refused(spelling: bool) -> float:
    """The share of each English set's questions for which an index of another one returns nothing."""
    sets = [read(path) for path in sorted(SAMPLE.glob("*.jsonl.gz")) if "xquad" not in path.name]
    strategy = Hybrid(min_answer_probability=0.5, spelling=spelling)
    answers = []
    for documents, _ in sets:
        with tempfile.TemporaryDirectory() as folder, Index.open(folder, embedding_cache=False) as index:
            index.add(documents, progress=False)
            questions = [each.text for others, foreign in sets if others is not documents for each in foreign]
            answers += index.retrieve_many(questions, strategy, k=1)
    return sum(not each for each in answers) / len(answers)


if __name__ == "__main__":
    main()

"""Texts and questions from the words of the example articles, so that nothing is downloaded."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from leafspan.examples import example_documents


def shuffled_texts(count: int, generator: random.Random) -> list[str]:
    """Texts of about 30 leaves, with sentences drawn at random, so that no two leaves are alike.

    In a sentence, another word of the articles replaces every fourth word. There are only a few hundred sentences: without
    the replacement, half of 100,000 leaves would have a twin, and the nearest leaves would be ambiguous.
    """
    sentences = [s for d in example_documents() for s in re.split(r"(?<=[.!?])\s+", d.text) if 5 < len(s.split()) < 40]
    words = [word for document in example_documents() for word in document.text.split() if word.isalpha()]

    def sentence() -> str:
        drawn = generator.choice(sentences).split()
        places = range(2, len(drawn) - 1, 4)
        for place, word in zip(places, generator.choices(words, k=len(places)), strict=True):
            drawn[place] = word
        return " ".join(drawn)

    return ["\n\n".join(" ".join(sentence() for _ in range(6)) for _ in range(8)) for _ in range(count)]


def made_up_words(count: int, generator: random.Random) -> list[str]:
    """Words of two to four syllables that do not exist."""
    syllables = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
    return ["".join(generator.choices(syllables, k=generator.randint(2, 4))) for _ in range(count)]


def made_up_texts(count: int, words: Sequence[str], generator: random.Random) -> list[str]:
    """Texts of about 30 leaves, of sentences of made-up words.

    An embedder that does not know these words gives all leaves similar vectors.
    """

    def sentence() -> str:
        return " ".join(generator.choices(words, k=generator.randint(8, 16))).capitalize() + "."

    return ["\n\n".join(" ".join(sentence() for _ in range(8)) for _ in range(8)) for _ in range(count)]


def shuffled_questions(count: int, generator: random.Random) -> list[str]:
    """Questions of seven long words drawn at random."""
    words = [word for document in example_documents() for word in document.text.split() if len(word) > 4]
    return [f"{' '.join(generator.choices(words, k=7))}?" for _ in range(count)]

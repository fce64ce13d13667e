"""Texts and questions made of the words of the example articles, so that nothing is downloaded."""

from __future__ import annotations

import random
import re

from leafspan.examples import example_documents


def shuffled_texts(count: int, generator: random.Random) -> list[str]:
    """Texts of about 30 leaves, of sentences drawn at random."""
    sentences = [s for d in example_documents() for s in re.split(r"(?<=[.!?])\s+", d.text) if 5 < len(s.split()) < 40]
    return ["\n\n".join(" ".join(generator.choices(sentences, k=6)) for _ in range(8)) for _ in range(count)]


def shuffled_questions(count: int, generator: random.Random) -> list[str]:
    """Questions of seven long words drawn at random."""
    words = [word for document in example_documents() for word in document.text.split() if len(word) > 4]
    return [f"{' '.join(generator.choices(words, k=7))}?" for _ in range(count)]

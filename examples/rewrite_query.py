"""Search for another text than the question: an imagined answer, simpler questions, or the result of a function.

A scripted model replaces a language model, so that the example needs none: python examples/rewrite_query.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from leafspan import Document, Index, RewriteQuery

DOCUMENTS = [
    Document("bees", "Workers dance to show where flowers are. Karl von Frisch decoded the dance. He was born in Vienna."),
    Document("vienna", "Vienna lies on the Danube. Its old town is a World Heritage Site. Coffee houses open early."),
    Document("tea", "Green tea is heated soon after picking. Water for it should be below eighty degrees."),
]
ANSWERS = {
    "a document that answers": "Karl von Frisch, who decoded the dance of the bees, was born in Vienna on the Danube.",
    "simpler ones": "1. Who decoded the dance of bees?\n2. Where was Karl von Frisch born?\n3. On which river is Vienna?",
}


def ask_model(prompt: str) -> str:
    """Replaces a language model: any function from a prompt to a text works."""
    return next(answer for words, answer in ANSWERS.items() if words in prompt)


def in_other_words(question: str) -> str:
    """A rule of your own."""
    return question.replace("the man born who understood the bees", "Karl von Frisch born")


def main() -> None:
    """Ask one question in several ways."""
    question = "On which river was the man born who understood the bees?"
    ways = {
        "an imagined answer": RewriteQuery(how="hyde", generate=ask_model),
        "simpler questions": RewriteQuery(how="decompose", generate=ask_model),
        "a function": RewriteQuery(how=in_other_words),
    }
    with tempfile.TemporaryDirectory() as folder, Index.open(Path(folder) / "kb") as index:
        index.add(DOCUMENTS)
        for name, strategy in ways.items():
            print(f"\n{name}:")
            for passage in index.retrieve(question, strategy, k=2):
                print(f"  {passage.score:.3f}  {passage.text.strip()}")
                for sentence in passage.trace.explain()[:4]:
                    print(f"         {sentence}")


if __name__ == "__main__":
    main()

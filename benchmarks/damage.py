"""What users meet if a file of an index is damaged.

    python benchmarks/damage.py [--trials 200] [--seed 1] [--json FILE]

An index in a folder gets 5,500 leaves, and then 5,500 more. Each trial damages one of its files: a flipped bit, a cut file,
zeroes in a part, a deleted file, or its copy from before the second half was added. Then another process opens the index,
gets each document, and asks questions with known answers: by words, by vectors, with a filter, and by both. After that,
``repair`` repairs the index, all documents are added again, and the process checks everything again.

The outcome of a trial is what the user met:

- right: all answers were right. The file was not needed, or it was repaired.
- told: an error of leafspan's, or a warning, and no wrong answer.
- older: the whole index as it was before the second half was added. (An older database is a complete one.)
- loss: something was missing without a message.
- wrong: a passage or document that is not in the documents.
- raw: an error that is not leafspan's.
- crash, hang: the process died, or was not done after a minute.

"Healed" counts the trials after which everything was right again.

Ends with 1 if a trial ends in loss, wrong, raw, crash or hang.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from results import Figure, add_json_option, all_passed, write_results

from leafspan import BM25, AutoMerging, Document, F, Hybrid, Index, LeafspanError, Passage, Vector

HALF = 275  # documents
LEAVES = 20  # a document
QUESTIONS = 12
MINUTE = 60.0
BAD = ("loss", "wrong", "raw", "crash", "hang")
KINDS = ("bit", "cut", "zeroes", "gone", "older")
OUTCOMES = ("right", "told", "older", *BAD)
WORDS = [
    "river",
    "stone",
    "copper",
    "harbour",
    "winter",
    "garden",
    "engine",
    "ledger",
    "meadow",
    "signal",
    "valley",
    "candle",
]
WORDS += ["market", "bridge", "forest", "island", "mirror", "shadow", "thunder", "velvet", "window", "saddle", "orchard"]
WORDS += ["pepper", "quarry", "ribbon", "sailor", "timber", "urchin", "violet", "walnut", "anchor", "basket", "cradle"]


@dataclass
class Look:
    """What a process has met.

    Attributes:
        wrong: Texts that are not in the documents.
        missing: What should have been found.
        told: Errors of leafspan's, and warnings.
        raw: Other errors.
        documents: Number of documents, if it could be counted.
    """

    wrong: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)
    documents: int | None = None

    @property
    def is_right(self) -> bool:
        """Whether nothing was wrong or missing, without any message."""
        return not (self.wrong or self.missing or self.raw or self.told)


def document(number: int) -> Document:
    """A document whose sentences are all different."""
    rng = random.Random(number)
    sentences = [
        f"In case {number}-{place} the {' and the '.join(rng.sample(WORDS, 8))} were counted by {rng.choice(WORDS)}."
        for place in range(LEAVES)
    ]
    return Document(f"doc-{number:04}", " ".join(sentences), metadata={"half": number // HALF})


def build(folder: Path) -> None:
    """The index in ``folder/whole``, and its state after the first half in ``folder/older``."""
    for half, name in enumerate(("older", "whole")):
        with Index.open(folder / "kb") as index:
            index.add([document(number) for number in range(half * HALF, (half + 1) * HALF)], progress=False)
            index.retrieve("copper", BM25())
            index.retrieve("copper", Vector(), where=F("half") == 0)
        with Index.open(folder / "kb") as index:  # so that all work that the next opening does is done
            index.retrieve("copper", Vector())
        shutil.copytree(folder / "kb", folder / name)


def look(index: Index, documents: int) -> Look:
    """Check the index by the benchmark's questions and documents."""
    found = Look()
    texts = {each.id: each.text for each in map(document, range(2 * HALF))}

    @contextmanager
    def noted() -> Iterator[None]:
        try:
            yield
        except LeafspanError as error:
            found.told.append(f"{type(error).__name__}: {error}")
        except Exception as error:
            found.raw.append(f"{type(error).__name__}: {error}")

    with noted():
        found.documents = index.count()
        if found.documents != documents:
            found.missing.append(f"{documents - found.documents} documents")
    for number in range(documents):
        with noted():
            id_ = f"doc-{number:04}"
            if index.get(id_).text != texts[id_]:
                found.wrong.append(id_)
    asks: dict[str, Callable[[str, int], list[Passage]]] = {
        "Vector": lambda asked, _: index.retrieve(asked, Vector(), k=5),
        "BM25": lambda asked, _: index.retrieve(asked, BM25(), k=5),
        "Hybrid": lambda asked, _: index.retrieve(asked, Hybrid(), k=5),
        "AutoMerging": lambda asked, _: index.retrieve(asked, AutoMerging(), k=5),
        "filter": lambda asked, half: index.retrieve(asked, Vector(), k=5, where=F("half") == half),
    }
    for place in range(QUESTIONS):
        number = place * documents // QUESTIONS
        text = texts[f"doc-{number:04}"]
        asked = text.split(". ")[place % (LEAVES - 2)] + "."
        for name, ask in asks.items():
            with noted():
                passages = ask(asked, number // HALF)
                found.wrong += [each.id for each in passages if texts[each.document_id][each.start : each.end] != each.text]
                if not any(asked in each.text for each in passages):
                    found.missing.append(f"{name}: {asked}")
    return found


def trial(folder: Path) -> None:
    """In a separate process: check a damaged index, repair it, check again, and print the findings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        met = _opened(folder, lambda index: look(index, 2 * HALF))
        if met.missing and met.documents == HALF and not (met.wrong or met.raw):
            first = _opened(folder, lambda index: look(index, HALF))
            older = first.is_right
        else:
            older = False
    met.told += [str(each.message) for each in caught]
    print(json.dumps({"met": vars(met), "older": older}), flush=True)

    def repair(index: Index) -> Look:
        index.repair()
        index.add(list(map(document, range(2 * HALF))), progress=False)
        return Look()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        repaired = _opened(folder, repair)
        after = _opened(folder, lambda index: look(index, 2 * HALF))
    print(json.dumps({"after": vars(after), "repairing": vars(repaired), "healed": after.is_right}), flush=True)


def _opened(folder: Path, work: Callable[[Index], Look]) -> Look:
    try:
        with Index.open(folder, timeout=10, create=True) as index:
            return work(index)
    except LeafspanError as error:
        return Look(told=[f"{type(error).__name__}: {error}"])
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return Look(raw=[f"{type(error).__name__}: {error}"])


def files_of(folder: Path) -> dict[str, Path]:
    """The files of an index, by their purpose, as paths within it."""
    named = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            inside = path.relative_to(folder)
            parts = [re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<segment>", part) for part in inside.parts]
            name = "/".join([*parts[:-1], parts[-1] if not parts[-1].endswith(".segment") else "<name>.segment"])
            named[name] = inside
    return named


def do_damage(path: Path, kind: str, older: Path, rng: random.Random) -> bool:
    """Damage a file. False if there is nothing to damage."""
    size = path.stat().st_size
    if kind == "gone":
        path.unlink()
        return True
    if kind == "older":
        if not older.exists() or older.read_bytes() == path.read_bytes():
            return False
        shutil.copyfile(older, path)
        return True
    if size == 0:
        return False
    with path.open("r+b") as file:
        at = rng.randrange(size)
        if kind == "bit":
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ (1 << rng.randrange(8))]))
        elif kind == "cut":
            file.truncate(at)
        else:
            file.seek(at)
            file.write(b"\0" * min(4096, size - at))
    return True


@dataclass
class Row:
    """The trials of one file and kind of damage."""

    outcomes: Counter[str] = field(default_factory=Counter)
    healed: int = 0
    stories: list[str] = field(default_factory=list)


def run_trial(folder: Path) -> tuple[str, bool, str]:
    """The outcome of a trial, whether all was right after the repair, and the findings."""
    command = [sys.executable, __file__, "--look", str(folder)]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            out, err = process.communicate(timeout=2 * MINUTE)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            return ("hang", False, "") if not out.strip() else (*_read(out), "hang while repairing")
    if not out.strip():
        return "crash", False, err.strip()[-300:]
    outcome, healed = _read(out)
    return outcome, healed, _story(out) + ("" if process.returncode == 0 else f" (then {process.returncode}) {err[-200:]}")


def _read(out: str) -> tuple[str, bool]:
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    met = Look(**lines[0]["met"])
    healed = len(lines) > 1 and lines[1]["healed"]
    if met.wrong:
        return "wrong", healed
    if met.raw:
        return "raw", healed
    if met.told:
        return "told", healed
    if lines[0]["older"]:
        return "older", healed
    return ("loss" if met.missing else "right"), healed


def _story(out: str) -> str:
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    met = lines[0]["met"]
    parts = [
        f"{name}: {len(met[name])}, {met[name][0][:160]!r}" for name in ("wrong", "raw", "missing", "told") if met[name]
    ]
    if len(lines) > 1 and not lines[1]["healed"]:
        after, repairing = lines[1]["after"], lines[1]["repairing"]
        for title, each in (("repairing", repairing), ("after", after)):
            parts += [
                f"{title} {name}: {each[name][0][:160]!r}" for name in ("wrong", "raw", "missing", "told") if each[name]
            ]
    return "; ".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--look", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help="part of the names of the files to damage; default: all")
    add_json_option(parser)
    options = parser.parse_args()
    if options.look:
        trial(options.look)
        return 0
    rng = random.Random(options.seed)
    rows: dict[tuple[str, str], Row] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        build(folder)
        files = {name: path for name, path in files_of(folder / "whole").items() if options.only in name}
        plan = [(name, kind) for name in files for kind in KINDS]
        done = 0
        while done < options.trials:
            for name, kind in plan:
                if done == options.trials:
                    break
                damaged = folder / "trial"
                shutil.copytree(folder / "whole", damaged)
                try:
                    if do_damage(damaged / files[name], kind, folder / "older" / files[name], rng):
                        outcome, healed, story = run_trial(damaged)
                        row = rows.setdefault((name, kind), Row())
                        row.outcomes[outcome] += 1
                        row.healed += healed
                        if outcome in BAD or not healed:
                            row.stories.append(story)
                            print(f"{name} {kind}: {outcome}, healed: {healed}; {story}", file=sys.stderr, flush=True)
                        done += 1
                    elif (name, kind) in plan and done == 0 and len(plan) == 1:
                        raise SystemExit("there is nothing to damage")
                finally:
                    shutil.rmtree(damaged, ignore_errors=True)
    return report(rows, options)


def report(rows: dict[tuple[str, str], Row], options: argparse.Namespace) -> int:
    """Print the table, write the figures, and say whether all bounds are kept."""
    print(f"| file | damage | {' | '.join(OUTCOMES)} | healed |\n|---|---|{'---:|' * (len(OUTCOMES) + 1)}")
    total: Counter[str] = Counter()
    healed = 0
    for (name, kind), row in rows.items():
        total.update(row.outcomes)
        healed += row.healed
        cells = " | ".join(str(row.outcomes[outcome] or "") for outcome in OUTCOMES)
        print(f"| {name} | {kind} | {cells} | {row.healed} of {row.outcomes.total()} |")
    print(f"| all | | {' | '.join(str(total[outcome]) for outcome in OUTCOMES)} | {healed} of {total.total()} |")
    figures = [
        Figure(outcome, total[outcome], "<=", 0) if outcome in BAD else Figure(outcome, total[outcome])
        for outcome in OUTCOMES
    ]
    figures.append(Figure("healed", healed))
    write_results("damage", options, figures)
    return 0 if all_passed(figures) else 1


if __name__ == "__main__":
    sys.exit(main())

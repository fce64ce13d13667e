"""Runs all of this for a long time: ``make soak`` (``MINUTES=20``), or ``python -m tests.simulation.soak --minutes 2``.

Simulated runs of random seeds, and then the real thing: writers that are killed, a full disk, a server behind a hostile
proxy, one writer with eight readers, questions while another thread imports Chroma, and damaged files of every kind. What
cannot be done here is left out, and the summary says why.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import chromadb
from chromadb.config import Settings

from leafspan import Document, Index
from leafspan.errors import LeafspanError, ServerTimeout, WriterBusy
from tests.durability.children import Child, ForkServer
from tests.durability.test_kill import BATCH, NEW, OLD, check_whole, versions
from tests.durability.versions import ALL, EMBEDDER, SPLITTER, broken, document, open_index, records, text_of
from tests.files.mutated import mutated, real_files, wrong
from tests.hostile_proxy import proxy_before
from tests.server import running_server
from tests.simulation.running import run_scenario
from tests.simulation.scenario import scenario_of
from tests.simulation.shrinking import described, shrunk

KILLS = 200
READERS = 8
_AT_ONCE = 20  # files
_REPETITIONS = 20
_MOST_FINDINGS = 5
_HANGS = 60.0  # seconds after which a process that does a second's work hangs
_ROOT = Path(__file__).parents[2]


@dataclass
class Stage:
    """A part of the soak.

    Attributes:
        name: Its name.
        deadline: Time, by ``time.monotonic``, at which it must end.
        folder: A folder for what it writes.
        chance: What all that is random in it comes from.
        counts: What was done, and how often.
        findings: What must not have been.
        skipped: Why it was left out, empty if it was not.
    """

    name: str
    deadline: float
    folder: Path
    chance: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    skipped: str = ""

    @property
    def goes_on(self) -> bool:
        """Whether there is time left, and not too much was found."""
        return time.monotonic() < self.deadline and len(self.findings) < _MOST_FINDINGS

    def check(self, holds: bool, what: str) -> None:
        """Note a finding unless something holds."""
        if not holds:
            self.findings.append(what)


def simulate(stage: Stage) -> None:
    """Simulated runs of random seeds."""
    while stage.goes_on:
        seed = stage.chance.randrange(10**9)
        report = run_scenario(scenario_of(seed))
        stage.counts += Counter({"runs": 1}) + report.counts
        if report.problems:
            stage.findings.append(f"python -m tests.simulation --seed {seed}\n{described(shrunk(report))}")


def kill_writers(stage: Stage) -> None:
    """Kill writers at any call and at any time: the text stays whole, and the next ``add`` finishes what they began."""
    before, calm = stage.folder / "before", stage.folder / "calm"
    with open_index({"path": str(before)}) as index:
        index.add([document(*each) for each in OLD])
    with open_index({"path": str(shutil.copytree(before, calm))}) as index:
        index._store.batch = BATCH
        index.add([document(*each) for each in NEW])
        undisturbed = records(index)
    fork_server = ForkServer()
    try:
        while stage.goes_on and stage.counts["writers killed"] < KILLS:
            place = {"path": str(shutil.copytree(before, stage.folder / "killed"))}
            if stage.chance.random() < 0.7:
                how = {"die": stage.chance.randrange(30)}
                code = fork_server.write(place, add=NEW, batch=BATCH, **how)
            else:
                how = {"seconds": stage.chance.random() * 2}
                code = fork_server.write(place, add=NEW, batch=BATCH, until=partial(time.sleep, how["seconds"]))
            stage.counts["writers killed" if code == -signal.SIGKILL else "writers that were done first"] += 1
            try:
                with open_index(place) as index:
                    check_whole(index, versions(OLD, NEW))
                    index.add([document(*each) for each in NEW])
                    stage.check(records(index) == undisturbed, f"after {how} other records are there")
                    stage.check(index.repair(verify=True) == [], f"after {how} the doctor finds something")
            except Exception as error:
                stage.findings.append(f"after {how}: {error!r}")
            shutil.rmtree(place["path"])
    finally:
        fork_server.close()


def fill_the_disk(stage: Stage) -> None:
    """Add until the disk is full: an error of ours, no hang, and with space again all that was stored is whole."""
    while stage.goes_on and not stage.skipped:
        size = stage.chance.randrange(1_500, 12_000)
        with _small_disk(stage, stage.folder / "disk", size) as grow:
            if grow is None:
                return
            path = str(stage.folder / "disk" / "kb")
            told = _full_disk_child(stage, path, "fill", size)
            grow()
            if told is None:
                continue
            stage.counts["full disks"] += 1
            error = told["error"]
            stage.check(error is None or error["ours"], f"{size} KiB: raw error {error}")
            stage.check(told["again"] is None or told["again"]["ours"], f"{size} KiB: then raw error {told['again']}")
            found = _full_disk_child(stage, path, "look", size, stored=told["stored"])
            if found is not None:
                stage.counts["documents found again"] += len(told["stored"])
                stage.check(found["wrong"] == [], f"{size} KiB, with space again: {found['wrong']}")


@contextmanager
def _small_disk(stage: Stage, folder: Path, kibibytes: int) -> Iterator[Callable[[], None] | None]:
    """A file system of this size, and a function that makes it large; None where none can be mounted."""
    folder.mkdir(exist_ok=True)
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={kibibytes}k", "tmpfs", str(folder)],
        check=False,
        capture_output=True,
        text=True,
    )
    if made.returncode:
        stage.skipped = f"no file system can be mounted here: {made.stderr.strip()}"
        yield None
        return
    try:
        yield lambda: subprocess.run(["mount", "-o", "remount,size=512m", str(folder)], check=True) and None
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _full_disk_child(stage: Stage, path: str, job: str, size: int, **options: Any) -> Any:
    """What a process says that fills a disk or looks at it afterwards; None if it hangs or crashes, which is a finding."""
    return _child(stage, f"{size} KiB, {job}", "tests.simulation.full_disk", {"path": path, "job": job, **options})


def _child(stage: Stage, what: str, module: str, told: Mapping[str, Any]) -> Any:
    """What a process says; None if it hangs or crashes, which is a finding."""
    command = [sys.executable, "-m", module, json.dumps(told)]
    try:
        done = subprocess.run(command, check=False, cwd=_ROOT, capture_output=True, text=True, timeout=_HANGS)
    except subprocess.TimeoutExpired:
        stage.findings.append(f"{what}: hangs")
        return None
    if done.returncode:
        stage.findings.append(f"{what}: ends with {done.returncode}: {done.stderr[-1000:]}")
        return None
    return json.loads(done.stdout.splitlines()[-1])


def disturb_a_server(stage: Stage) -> None:
    """Write through a proxy that loses, cuts and garbles: readers see whole documents, and a repetition repairs all."""
    modes = ("cut", "lose", "failure", "html", "garbage", "broken", "other", "stall")
    with running_server(stage.folder) as address, proxy_before(address) as proxy:
        settings = Settings(anonymized_telemetry=False)
        reader = open_index({"host": address[0], "port": address[1], "name": "kb-soak"})
        client = chromadb.HttpClient(address[0], proxy.port, settings=settings)
        options: dict[str, Any] = {"name": "kb-soak", "embedder": EMBEDDER, "splitter": SPLITTER, "timeout": 1.0}
        writer = Index.open(client=client, cache_dir=stage.folder / "cache", **options)
        names = ("apple", "pear", "plum")
        state: dict[str, int] = dict.fromkeys(names, 1)
        writer.add([document(name, version) for name, version in state.items()])
        while stage.goes_on:
            new = {name: stage.chance.randrange(1, 6) for name in stage.chance.sample(names, 2)}
            mode, place = stage.chance.choice(modes), stage.chance.randrange(12)
            counted = iter(range(place))
            proxy.do(mode, lambda method, path, counted=counted: next(counted, None) is None)
            began = time.monotonic()
            try:
                with warnings.catch_warnings():  # of segments that could not be stored with the index
                    warnings.simplefilter("ignore", RuntimeWarning)
                    writer.add([document(name, version) for name, version in new.items()])
            except LeafspanError:
                stage.counts["failed requests"] += 1
            except Exception as error:
                stage.findings.append(f"{mode} at request {place}: raw error {error!r}")
            stage.check(time.monotonic() - began < 30, f"{mode} at request {place}: took {time.monotonic() - began:.0f} s")
            texts = {
                name: {version: document(name, version).text for version in {state[name], new.get(name, state[name])}}
                for name in names
            }
            wrong = broken(reader.retrieve("anything", k=ALL, candidates=ALL), texts)
            stage.check(wrong == [], f"{mode} at request {place}: {wrong}")
            proxy.do("pass")
            _add_at_last(stage, writer, [document(name, version) for name, version in new.items()])
            state |= new
            for name, version in state.items():
                stage.check(text_of(reader, name) == document(name, version).text, f"{mode}: {name} is not v{version}")
            found = reader.check(verify=True)
            stage.check(found == [], f"{mode} at request {place}, done again: {found}")
            stage.counts["writes through a hostile proxy"] += 1


def _add_at_last(stage: Stage, writer: Index, documents: Sequence[Document]) -> None:
    """Add documents, again and again where this machine takes longer than the timeout of a second."""
    for left in reversed(range(_REPETITIONS)):
        try:
            writer.add(documents)
            break
        except (ServerTimeout, WriterBusy):
            if not left:
                raise
            stage.counts["repetitions that took too long"] += 1
    # What an unchanged document has left over is not deleted while a request that was given up is still on its way.
    late = writer._store._engine.caller.late_writes  # type: ignore[attr-defined]
    deadline = time.monotonic() + _HANGS
    while late and time.monotonic() < deadline:
        time.sleep(0.02)
    writer.add(documents)


def read_and_write(stage: Stage) -> None:
    """One writer and eight readers, each in a process of its own: whole documents, and what is completed at once."""
    chance, place = stage.chance, {"path": str(stage.folder / "kb")}
    names = ("apple", "pear", "plum", "quince")
    states = [{name: chance.choice((None, 1, 2, 3)) for name in names} for _ in range(500)]
    states[0] = dict.fromkeys(names, 1)
    with open_index(place) as index:
        index.add([document(name, 1) for name in names])
        readers = [Child("read", place, states=states) for _ in range(READERS)]
        try:
            for reader in readers:
                stage.check(reader.hear() == "open", "a reader does not open")
            number = 0
            while stage.goes_on and number + 1 < len(states):
                number += 1
                _tell(readers, f"started {number}", "ready")
                index.add([document(name, version) for name, version in states[number].items() if version is not None])
                index.delete([name for name, version in states[number].items() if version is None])
                _tell(readers, f"completed {number}", "looked")
                stage.counts["states"] += 1
            for reader in readers:
                reader.say("stop")
                report = json.loads(reader.hear())
                stage.counts["looks"] += report["looks"]
                stage.findings += report["failures"]
        except AssertionError as error:
            stage.findings.append(f"a reader ended: {error}")
        finally:
            for reader in readers:
                reader.kill()
        stage.check(index.repair(verify=True) == [], "the doctor finds something")


def _tell(readers: Sequence[Child], word: str, answer: str) -> None:
    for reader in readers:
        reader.say(word)
    for reader in readers:
        heard = reader.hear()
        assert heard == answer, heard


def import_beside_questions(stage: Stage) -> None:
    """Four threads ask while a fifth imports a package for the first time, each time in a new process: no error."""
    path = stage.folder / "kb"
    with Index.open(path) as index:  # by the default embedder, which imports more than others
        index.add([document(name, 1) for name in ("apple", "pear", "plum")])
    while stage.goes_on:
        how = {
            "path": str(path),
            "package": stage.chance.choice(("chromadb", "opentelemetry.trace", "numpy.typing")),
            "delay": stage.chance.random() * 0.5,
            "slowly": stage.chance.choice((0.0, 0.001, 0.003)),
            "open_in_threads": stage.chance.random() < 0.3,
        }
        told = _child(stage, f"{how}", "tests.simulation.first_import", how)
        if told is not None:
            stage.counts["first imports beside questions"] += 1
            stage.counts["questions beside them"] += told["asked"]
            stage.check(told["errors"] == [], f"{how}: {told['errors']}")


def damage_files(stage: Stage) -> None:
    """Sync changed real files of every kind: each is read or skipped with a reason, within the limits."""
    files = real_files(sys.path)
    docs = stage.folder / "docs"
    docs.mkdir()
    with open_index({"path": str(stage.folder / "kb")}) as index:
        while stage.goes_on:
            seed = stage.chance.randrange(10**9)
            chance = random.Random(seed)
            kinds = chance.choices([*files], k=_AT_ONCE)
            batch = {f"{n}{kind}": mutated(chance.choice(files[kind]), chance) for n, kind in enumerate(kinds)}
            if found := wrong(index, docs, batch):
                kept = Path(tempfile.mkdtemp(prefix="damaged-"))
                for name, data in batch.items():
                    (kept / name).write_bytes(data)
                stage.findings.append(f"seed {seed}, files in {kept}: {found}")
            stage.counts["changed files"] += len(batch)


STAGES: tuple[tuple[Callable[[Stage], None], float], ...] = (
    (simulate, 0.3),
    (damage_files, 0.1),
    (kill_writers, 0.2),
    (fill_the_disk, 0.1),
    (disturb_a_server, 0.1),
    (read_and_write, 0.15),
    (import_beside_questions, 0.05),
)
"""What is done, and the share of the time that it gets."""


def soak(minutes: float, seed: int) -> list[Stage]:
    """Do all of it, and print a summary.

    Args:
        minutes: Time in all, > 0.
        seed: What all that is random comes from.
    """
    done = []
    for work, share in STAGES:
        folder = Path(tempfile.mkdtemp(prefix="soak-"))
        deadline = time.monotonic() + minutes * 60 * share
        stage = Stage(work.__name__.replace("_", " "), deadline, folder, random.Random(f"{seed} {work.__name__}"))
        print(f"{stage.name}, for {minutes * 60 * share:.0f} seconds", flush=True)
        try:
            work(stage)
        except Exception as error:
            stage.findings.append(f"ended by {error!r}")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        done.append(stage)
        if stage.skipped:
            print(f"    left out: {stage.skipped}", flush=True)
        for what, count in sorted(stage.counts.items()):
            print(f"{count:12,} {what}", flush=True)
        for finding in stage.findings:
            print(f"    FOUND {finding}", flush=True)
    findings = sum(len(stage.findings) for stage in done)
    print(f"{findings} findings (seed {seed})", flush=True)
    return done


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0, help="time in all (default: 20)")
    parser.add_argument(
        "--seed", type=int, default=None, help="seed of all that is random (default: another one each time)"
    )
    told = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        done = soak(told.minutes, random.SystemRandom().randrange(10**6) if told.seed is None else told.seed)
    return int(any(stage.findings for stage in done))


if __name__ == "__main__":
    sys.exit(main())

"""The experiment: datasets x methods x seeds, one JSON line per suggestion.

Enters: the lines of earlier runs. Leaves: new lines, written as soon as they are known, so that a run may end at any
time.

Each study (dataset, method, seed, penalty) is a process that asks, waits for its value and tells; all of them share
one pool of trainers. The paper's protocol: an invalid suggestion costs the penalty, is not counted, and is reported
as a violation. A study that was begun goes on where it was (`replay.py`), if `--evals` is the same.
"""

import argparse
import gzip
import json
import os
import sys
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import takewhile
from multiprocessing.connection import Connection, wait
from pathlib import Path

from pool import SPAWN, Job, Pool, Setting

sys.path.append(str(Path(__file__).resolve().parents[1] / "comparison"))

PATIENCE = 200  # invalid suggestions in a row before a study gives up
GRACE = 25.0  # seconds that trainings may take after the deadline
REPORT = 30.0  # seconds between two words on progress


@dataclass(frozen=True, order=True)
class Study:
    seed: int
    method: str
    dataset: str
    penalty: float

    @classmethod
    def of(cls, line: dict) -> "Study":
        return cls(line["seed"], line["method"], line["dataset"], line["penalty"])


def main(arguments: list[str] | None = None) -> None:
    args = parse(arguments)
    known = read([*args.known, args.out])
    studies = deque(
        study
        for seed in args.seeds
        for method in args.methods
        for dataset in args.datasets
        for penalty in args.penalties
        if not is_done(known.get(study := Study(seed, method, dataset, penalty), []), args.stop)
    )
    import methods

    print(json.dumps(methods.versions()))
    print(f"{len(studies)} studies to go, {sum(map(len, known.values()))} lines known", flush=True)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    with args.out.open("a") as out:
        Run(args, known, studies, out).run()


class Run:
    """The loop that carries suggestions to trainers and values back. It alone writes."""

    def __init__(self, args: argparse.Namespace, known: dict, studies: deque, out):
        self.args, self.known, self.studies, self.out = args, known, studies, out
        self.start = time.monotonic()
        self.pool = Pool(args.trainers, args.setting)
        self.active: dict[Connection, Study] = {}
        self.processes: list = []
        self.n_valid = self.n_invalid = 0
        self.reported = 0.0

    def run(self) -> None:
        draining = False
        while self.studies or self.active:
            left = self.args.deadline - (time.monotonic() - self.start)
            if left <= 0 and not draining:
                draining = True
                self.pool.drain()
            if draining and (self.pool.n_running == 0 or left < -GRACE):
                break
            if not draining:
                self.begin()
            self.report()
            for connection in wait([*self.active, *self.pool.connections], timeout=1.0):
                if connection in self.active:
                    self.hear(connection, draining)
                elif result := self.pool.receive(connection):
                    self.finish(result)
        for process in self.processes:
            process.kill()
        self.pool.close()
        self.report(every=0.0)

    def report(self, every: float = REPORT) -> None:
        took = time.monotonic() - self.start
        if took - self.reported >= every:
            self.reported = took
            print(
                f"{took:.0f} s: {self.n_valid} valid, {self.n_invalid} invalid; {self.pool.n_running} training, "
                f"{self.pool.n_waiting} waiting; {len(self.active)} studies running, {len(self.studies)} to begin",
                flush=True,
            )

    def begin(self) -> None:
        """Starts studies while there is room."""
        while self.studies and len(self.active) < self.args.active:
            study = self.studies.popleft()
            here, there = SPAWN.Pipe()
            told = self.known.get(study, [])
            budget = (self.args.evals, self.args.stop)
            process = SPAWN.Process(target=ask_and_tell, args=(there, study, told, budget), daemon=True)
            process.start()
            there.close()
            self.processes.append(process)
            self.active[here] = study

    def hear(self, connection: Connection, draining: bool) -> None:
        """A line from a study: a violation is written, a suggestion goes to the trainers."""
        try:
            line = connection.recv()
        except (EOFError, ConnectionError):
            del self.active[connection]
            return
        if not line["feasible"]:
            self.write(line)
        elif not draining:
            seed = 1000 * line["seed"] + line["index"]
            self.pool.submit(Job((connection, line), line["dataset"], line["params"], seed))

    def finish(self, result) -> None:
        connection, line = result.key
        line |= {"value": round(result.nats, 4), "training_seconds": round(result.seconds, 2)}
        if result.error:
            line["error"] = True
        self.write(line)
        if connection in self.active:
            try:
                connection.send(line["value"])
            except ConnectionError:
                del self.active[connection]

    def write(self, line: dict) -> None:
        self.out.write(json.dumps(line) + "\n")
        self.out.flush()
        self.n_valid += line["feasible"]
        self.n_invalid += not line["feasible"]


def ask_and_tell(connection: Connection, study: Study, told: list[dict], budget: tuple[int, int]) -> None:
    """One study, in a process of its own. The budget: evaluations that the method may count on, and those to make."""
    from replay import replay

    os.nice(5)  # the trainers come first
    evals, stop = budget
    task = make_task(study)
    method = make_method(study, task, evals, len(told))
    replay(study.method, method, task.space, told)
    index = sum(line["feasible"] for line in told)
    violations, in_a_row = len(told) - index, invalid_at_the_end(told)
    while index < stop and in_a_row < PATIENCE:
        start = time.perf_counter()
        params = method.ask()
        seconds = time.perf_counter() - start
        feasible = task.is_feasible(params)
        violations += not feasible
        line = asdict(study) | {"index": index, "feasible": feasible, "violations": violations}
        line |= {"value": study.penalty, "seconds": round(seconds, 4), "params": params}
        connection.send(line)
        method.tell(params, connection.recv() if feasible else None)
        in_a_row = 0 if feasible else in_a_row + 1
        index += feasible


def make_task(study: Study):
    """The space and its constraints. The value comes from the trainers, so the task itself has none."""
    from tasks.task import Task
    from tasks.vae import TEXT, excess

    return Task(f"vae-{study.dataset}", study.seed, TEXT, lambda _: float("nan"), excess, fixed=True, budget=32)


def make_method(study: Study, task, evals: int, n_told: int):
    """One of the comparison's methods, or `gp-rounding`."""
    import methods
    import replay

    setting = methods.Setting(task, replay.seed(study.method, study.seed, n_told), evals, study.penalty)
    if study.method == "gp-rounding":
        from gp_rounding import GpRounding

        return GpRounding(setting)
    return methods.make(study.method, setting)


def read(paths: Iterable[Path]) -> dict[Study, list[dict]]:
    """The lines of each study, in order, from files that may be gzipped. A last line that was cut off is left out."""
    known: dict[Study, list[dict]] = {}
    for path in filter(Path.exists, paths):
        raw = path.read_bytes()
        for text in (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode().splitlines():
            try:
                line = json.loads(text)
            except json.JSONDecodeError:
                continue
            known.setdefault(Study.of(line), []).append(line)
    return known


def is_done(lines: list[dict], evals: int) -> bool:
    return sum(line["feasible"] for line in lines) >= evals or invalid_at_the_end(lines) >= PATIENCE


def invalid_at_the_end(lines: list[dict]) -> int:
    """How many invalid suggestions in a row a study ends with."""
    return sum(1 for _ in takewhile(lambda line: not line["feasible"], reversed(lines)))


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with mnist/ and fashion-mnist/")
    parser.add_argument("--out", type=Path, required=True, help="lines are appended here")
    parser.add_argument("--known", type=Path, nargs="*", default=[], help="lines of earlier runs")
    parser.add_argument("--datasets", nargs="+", default=["mnist"])
    parser.add_argument("--methods", nargs="+", required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(8)))
    parser.add_argument("--penalties", type=float, nargs="+", default=[500.0])
    parser.add_argument("--evals", type=int, default=32, help="valid evaluations in a study")
    parser.add_argument("--stop", type=int, help="leave a study after so many of them")
    parser.add_argument("--trainers", type=int, default=12)
    parser.add_argument("--active", type=int, default=20, help="studies at a time")
    parser.add_argument("--deadline", type=float, default=float("inf"), help="seconds")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--epochs", type=int, default=32)
    parser.add_argument("--samples", type=int, default=32)
    parser.add_argument("--limit", type=int, help="images, for a smoke test")
    args = parser.parse_args(arguments)
    args.stop = args.evals if args.stop is None else min(args.evals, args.stop)
    if args.stop < 1:
        parser.error(f"--stop must be at least 1, not {args.stop}")
    args.setting = Setting(args.data, args.device, args.epochs, args.samples, args.limit)
    return args


if __name__ == "__main__":
    main()

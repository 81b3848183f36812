"""The suggestions of a build, as digests: recorded once, checked by every build after.

    python replay.py record --out recorded.jsonl [--tasks a,b] [--seeds 2] [--evals 80]
    python replay.py check recorded.jsonl [--tasks a,b] [--evals 20]

A line holds a task of `../comparison`, a strategy, a seed, and for every ten suggestions a digest of their parameters, exact to the
last bit. A run is told the values of its task without noise, so the digests agree as long as equal tells give equal suggestions.
`vae-512` are 512 suggestions in the space of `examples/vae.toml`, told (7 i mod 10).
"""

import os

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")  # before numpy

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "comparison"))

import mivabo

import tasks

GROUP = 10
STRATEGIES = ("improvement", "thompson")
VAE = "vae-512"


def suggestions(name: str, strategy: str, seed: int, evals: int) -> Iterator[dict]:
    """Parameters of one run after the other, each told before the next is asked for."""
    if name == VAE:
        text = (HERE.parent.parent / "examples" / "vae.toml").read_text()
        value = lambda params, index: float(index * 7 % 10)  # noqa: E731
    else:
        task = tasks.make(name, seed, None)
        text = task.text
        value = lambda params, index: task.value(params)  # noqa: E731
    study = mivabo.Study(mivabo.Space.from_toml(text), strategy=strategy, seed=seed)
    for index in range(evals):
        trial = study.ask()
        params = dict(trial.params)
        yield params
        study.tell(trial, value=value(params, index))


def digests(name: str, strategy: str, seed: int, evals: int) -> list[str]:
    found, text = [], ""
    for index, params in enumerate(suggestions(name, strategy, seed, evals), 1):
        text += json.dumps(params, sort_keys=True) + "\n"
        if index % GROUP == 0:
            found.append(hashlib.sha256(text.encode()).hexdigest()[:12])
            text = ""
    return found


def runs(names: list[str], seeds: int, evals: int) -> Iterator[tuple[str, str, int, int]]:
    for name in names:
        budget = 512 if name == VAE else min(evals, tasks.make(name, 0, None).budget)
        for strategy in STRATEGIES[: 1 if name == VAE else None]:
            for seed in range(1 if name == VAE else seeds):
                yield name, strategy, seed, budget


def record(arguments: argparse.Namespace) -> int:
    names = arguments.tasks.split(",") if arguments.tasks else [VAE, *tasks.CHEAP]
    with arguments.out.open("a") as out:
        for name, strategy, seed, evals in runs(names, arguments.seeds, arguments.evals):
            line = {"task": name, "strategy": strategy, "seed": seed, "digests": digests(name, strategy, seed, evals)}
            out.write(json.dumps(line) + "\n")
            out.flush()
    return 0


def check(arguments: argparse.Namespace) -> int:
    """Says of each run that left its path after how many suggestions it did."""
    n_left = n_runs = 0
    for text in arguments.recorded.read_text().splitlines():
        line = json.loads(text)
        if arguments.tasks and line["task"] not in arguments.tasks.split(","):
            continue
        expected = line["digests"][: arguments.evals // GROUP]
        found = digests(line["task"], line["strategy"], line["seed"], GROUP * len(expected))
        same = next((k for k, (a, b) in enumerate(zip(expected, found, strict=True)) if a != b), None)
        n_runs, n_left = n_runs + 1, n_left + (same is not None)
        if same is not None:
            print(
                f"{line['task']} {line['strategy']} seed {line['seed']}: differs within suggestions {GROUP * same} to {GROUP * (same + 1) - 1}"
            )
    print(f"{n_runs - n_left} of {n_runs} runs are the same")
    return 1 if n_left or not n_runs else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    recording = commands.add_parser("record")
    recording.add_argument("--out", type=Path, required=True)
    recording.add_argument("--seeds", type=int, default=2)
    recording.set_defaults(run=record, default_evals=80)
    checking = commands.add_parser("check")
    checking.add_argument("recorded", type=Path)
    checking.set_defaults(run=check, default_evals=512)
    for command in (recording, checking):
        command.add_argument("--tasks")
        command.add_argument("--evals", type=int)
    arguments = parser.parse_args()
    arguments.evals = arguments.evals or arguments.default_evals
    return arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())

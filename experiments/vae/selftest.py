"""Trains recorded configurations again: the values beside the recorded ones, the times alone and twelve at a time.

Enters: `vae-mnist-evaluations.jsonl` in the data folder. Leaves: a table on standard output.
"""

import argparse
import importlib
import json
import sys
import time
from multiprocessing.connection import wait
from pathlib import Path

from pool import Job, Pool, Setting

sys.path.append(str(Path(__file__).resolve().parents[1] / "comparison"))

# Recorded nats that name one configuration each: linear layers only, two small and two large convolutions, two
# deconvolutions with output padding beyond the stride, much weight decay.
RECORDED = [93.7839, 91.6989, 91.804, 104.0981, 100.4599]
PACKAGES = ["torch", "numpy", "scipy", "sklearn", "botorch", "gpytorch", "hyperopt", "optuna", "ConfigSpace", "smac"]
PACKAGES += ["mivabo"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--trainers", type=int, nargs="+", default=[12])
    parser.add_argument("--epochs", type=int, default=32)
    parser.add_argument("--samples", type=int, default=32)
    parser.add_argument("--limit", type=int, help="images, for a smoke test")
    args = parser.parse_args()
    setting = Setting(args.data, args.device, args.epochs, args.samples, args.limit)
    packages()
    configurations = recorded(args.data / "vae-mnist-evaluations.jsonl")
    train(setting, configurations, 1)
    for n in args.trainers:
        train(setting, (configurations * n)[: 2 * n], n)


def packages() -> None:
    for name in PACKAGES:
        try:
            module = importlib.import_module(name)
            print(f"{name} {getattr(module, '__version__', '?')}")
        except Exception as error:
            print(f"{name} MISSING: {error!r}")
    sys.stdout.flush()


def recorded(path: Path) -> list[tuple[float, dict]]:
    from space import parameters
    from tasks.vae import TEXT, read

    rows, nats = read(path, parameters(TEXT))
    return [(value, rows[list(nats).index(value)]) for value in RECORDED]


def train(setting: Setting, configurations: list[tuple[float, dict]], n: int) -> None:
    """Trains each once with `n` trainers."""
    pool = Pool(n, setting)
    start = time.perf_counter()
    for key, (_, params) in enumerate(configurations):
        pool.submit(Job(key, "mnist", params, seed=key))
    left, began = len(configurations), float("inf")
    while left:
        for connection in wait(pool.connections):
            if result := pool.receive(connection):
                left -= 1
                line = {"trainers": n, "recorded": configurations[result.key][0], "nats": round(result.nats, 2)}
                at = time.perf_counter() - start
                began = min(began, at - result.seconds)
                print(json.dumps(line | {"seconds": round(result.seconds, 2), "at": round(at, 1)}), flush=True)
    pool.close()
    mean = (time.perf_counter() - start - began) / len(configurations)
    times = {"seconds to begin": round(began, 1), "seconds per run": round(mean, 2)}
    print(json.dumps({"trainers": n} | times), flush=True)


if __name__ == "__main__":
    main()

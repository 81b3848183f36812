"""Tables and figures of the experiment, from its result files alone.

    python summary.py results/*.jsonl.gz --out results

Enters: the lines of `run.py`; from `--out`, where they are there, `long.jsonl` (of `long.py`) and `pictures.npz` (of
`pictures.py`). Leaves: `tables.md`, `nats.svg` and `pictures.svg`; the same files give the same bytes. What was not
run is shown as missing.
"""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

import plot
import studies
from studies import DATASETS, EVALS, HALF, METHODS, OURS, PEERS, PENALTIES, SEEDS, Outcomes, select
from table import grid

POINTS = (HALF, EVALS)
MISSING = "not run"


def spread(values: Iterable[float], digits: int = 1) -> str:
    """Mean ± one standard deviation."""
    found = list(values)
    if not found:
        return "-"
    sd = f" ± {np.std(found, ddof=1):.{digits}f}" if len(found) > 1 else ""
    return f"{np.mean(found):.{digits}f}{sd}"


def after(outcomes: Outcomes, what: str, k: int, dataset: str, method: str, penalty: float = PENALTIES[0]) -> str:
    """`best` or `violations` after `k` valid evaluations, and the number of seeds where it is not all of them."""
    found = select(outcomes, dataset, method, penalty)
    if not found:
        return MISSING
    values = [getattr(o, what)[k - 1] for o in found if len(o.best) >= k]
    return spread(values) + (f" ({len(values)} of {SEEDS})" if len(values) < SEEDS else "")


def nats_table(outcomes: Outcomes, dataset: str) -> str:
    """The rows that README.md copies."""
    rows = []
    for method in METHODS:
        found = select(outcomes, dataset, method)
        gave_up = sum(o.gave_up for o in found)
        begun = sum(not o.gave_up and len(o.best) < EVALS for o in found)
        cells = [after(outcomes, "best", k, dataset, method) for k in POINTS]
        least = min((o.best[-1] for o in found if len(o.best)), default=None)
        cells += [f"{least:.1f}" if least else "-", f"{len(found)} of {SEEDS}", str(gave_up), str(begun)]
        seconds = f"{np.concatenate([o.seconds for o in found]).mean():.2f}" if found else "-"
        rows.append([f"`{method}`", *cells, after(outcomes, "violations", EVALS, dataset, method), seconds])
    header = ["method", *(f"@{k}" for k in POINTS), "best", "seeds begun", "gave up", "not finished"]
    header += ["invalid suggestions in a study", "seconds of a suggestion"]
    return grid(header, rows)


def pairs_table(outcomes: Outcomes, dataset: str) -> str:
    """How far others are behind the default strategy on the same seeds, after 16 and as far as all its seeds got."""
    ours = by_seed(outcomes, dataset, OURS[0])
    reached = min(map(len, ours.values()), default=0)
    points = sorted({min(k, reached) for k in POINTS} - {0})
    rows = []
    for method in METHODS[1:]:
        other = by_seed(outcomes, dataset, method)
        rows.append([f"`{method}`", *(above(other, ours, k) for k in points)])
    return grid(["method", *(f"@{k}" for k in points)], rows)


def by_seed(outcomes: Outcomes, dataset: str, method: str, penalty: float = PENALTIES[0]) -> dict[int, np.ndarray]:
    wanted = (dataset, method, penalty)
    return {s.seed: o.best for s, o in outcomes.items() if (s.dataset, s.method, s.penalty) == wanted}


def above(one: dict[int, np.ndarray], other: dict[int, np.ndarray], k: int) -> str:
    """Best nats after `k` of one minus the other on the same seeds: mean ± one standard error, seeds above and below."""
    both = [s for s in one if min(len(one[s]), len(other.get(s, []))) >= k]
    if len(both) < 2:
        return "-"
    found = np.array([one[s][k - 1] - other[s][k - 1] for s in both])
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    return f"{np.mean(found):z.1f} ± {error:.1f} ({(found > 0).sum()} to {(found < 0).sum()})"


def penalty_table(outcomes: Outcomes, what: str) -> str:
    """MNIST. Ours know the constraints and random search learns nothing: one penalty stands for all."""
    rows = []
    for method in METHODS:
        one = method in OURS or method == "random"
        cells = [after(outcomes, what, HALF, DATASETS[0], method, p) for p in PENALTIES[: 1 if one else None]]
        rows.append([f"`{method}`", *cells, *["the same"] * (len(PENALTIES) - len(cells))])
    return grid(["method", *(f"penalty {p:.0f}" for p in PENALTIES)], rows)


def penalty_pairs(outcomes: Outcomes) -> str:
    """MNIST: each peer with a smaller penalty against itself with the first one, and against the default strategy."""
    ours = by_seed(outcomes, DATASETS[0], OURS[0])
    rows = []
    for method in PEERS[1:]:
        first, *smaller = (by_seed(outcomes, DATASETS[0], method, p) for p in PENALTIES)
        rows.append([f"`{method}`", *(above(s, other, HALF) for other in (first, ours) for s in smaller)])
    others = (f"penalty {PENALTIES[0]:.0f}", f"`{OURS[0]}`")
    return grid(["method", *(f"{p:.0f} minus {other}" for other in others for p in PENALTIES[1:])], rows)


def time_table(outcomes: Outcomes) -> str:
    """Valid or not, all suggestions count."""
    rows = []
    for method in METHODS:
        found = [o.seconds for s, o in outcomes.items() if s.method == method]
        if not found:
            rows.append([f"`{method}`", MISSING, "-", "-", "0"])
            continue
        seconds = np.concatenate(found)
        times = [np.mean(seconds), np.median(seconds), np.quantile(seconds, 0.9)]
        rows.append([f"`{method}`", *(f"{t:.3f}" for t in times), str(len(seconds))])
    return grid(["method", "mean s", "median s", "90 % s", "suggestions"], rows)


def long_table(path: Path) -> str:
    entries = [json.loads(text) for text in path.read_text().splitlines()] if path.exists() else []
    if not entries:
        return MISSING + "\n"
    stages = sorted({(e["epochs"], e["samples"]) for e in entries if e["epochs"] % 500 == 0 or e["samples"] > 32})
    found: dict[str, dict[tuple[int, int], str]] = {}
    for e in entries:
        found.setdefault(f"`{e['method']}`, seed {e['seed']}", {})[e["epochs"], e["samples"]] = f"{e['nats']:.2f}"
    rows = [[name, *(nats.get(stage, "-") for stage in stages)] for name, nats in found.items()]
    return grid(["best network of", *(f"{epochs}, {samples}" for epochs, samples in stages)], rows)


def page(outcomes: Outcomes, folder: Path) -> str:
    sections = {f"{d}: best nats, mean ± one standard deviation": nats_table(outcomes, d) for d in DATASETS}
    for d in filter(lambda d: by_seed(outcomes, d, OURS[0]), DATASETS):
        title = f"{d}: nats behind `{OURS[0]}` on the same seeds, mean ± one standard error (seeds won by it to lost)"
        sections[title] = pairs_table(outcomes, d)
    sections[f"Invalid suggestions within {HALF} valid evaluations, by penalty"] = penalty_table(outcomes, "violations")
    sections[f"Best nats after {HALF} valid evaluations, by penalty"] = penalty_table(outcomes, "best")
    title = f"Best nats after {HALF} on the same seeds, by penalty, mean ± one standard error (seeds above to below)"
    sections[title] = penalty_pairs(outcomes)
    sections["Seconds of a suggestion"] = time_table(outcomes)
    sections["The long training: nats by epochs and importance samples"] = long_table(folder / "long.jsonl")
    return "\n".join(f"## {title}\n\n{text}" for title, text in sections.items())


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lines", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True, help="folder")
    args = parser.parse_args(arguments)
    outcomes = studies.read(args.lines)
    unknown = {study.method for study in outcomes} - {*OURS, *PEERS}
    if unknown:
        parser.error(f"methods that no table has a row for: {sorted(unknown)}")
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "tables.md").write_text(page(outcomes, args.out))
    plot.draw_nats(outcomes, args.out / "nats.svg")
    if (args.out / "pictures.npz").exists():
        with np.load(args.out / "pictures.npz") as pictures:
            plot.draw_pictures(dict(pictures), args.out / "pictures.svg")


if __name__ == "__main__":
    main()

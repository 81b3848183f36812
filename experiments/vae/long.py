"""The long training: 3280 epochs by the schedule of Burda et al., then 5000 importance samples (the paper: 84.25 nats).

Enters: the parameters of one line of a run (`--line FILE`: its best valid line is taken), and the state of an earlier
call, if there is one. Each network has a folder of its own. Leaves: `long.jsonl`, a line with the nats after each 100 epochs and one at the end;
state-model.pt, state-mean.pt and state-square.pt (Adam's moments), in three files because one would be too large to
send.
"""

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path

import torch

from run import Study, read
from train import Data, Training, log_likelihood, long_rates

MOMENTS = {"mean": "exp_avg", "square": "exp_avg_sq"}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--line", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder")
    parser.add_argument("--state", type=Path, help="folder with the state of an earlier call")
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--method", help="the best line of this method")
    parser.add_argument("--penalty", type=float, default=500.0, help="of the studies that are looked at")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--deadline", type=float, default=float("inf"), help="seconds")
    parser.add_argument("--epochs", type=int, default=3280, help="fewer only for a smoke test")
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--limit", type=int)
    args = parser.parse_args(arguments)
    start = time.perf_counter()
    torch.set_float32_matmul_precision("high")
    data = Data(args.data / args.dataset, args.device, args.limit)
    line = best(args.line, args.dataset, args.method, args.penalty)
    training = Training(line["params"], data)
    done = load(training, args.state) if args.state else 0
    torch.manual_seed(done)
    rates = long_rates(line["params"]["learning_rate"])[: args.epochs]

    def score(epochs: int, samples: int) -> None:
        nats = -log_likelihood(training.model, data.test, samples)
        print(f"epoch {epochs}: {nats:.2f} nats after {time.perf_counter() - start:.0f} s", flush=True)
        entry = asdict(Study.of(line)) | {"epochs": epochs, "samples": samples, "nats": round(nats, 4)}
        with (args.out / "long.jsonl").open("a") as out:
            out.write(json.dumps(entry) + "\n")

    args.out.mkdir(parents=True, exist_ok=True)
    for epoch in range(done, len(rates)):
        training.epoch(rates[epoch])
        if epoch % 100 == 99:
            score(epoch + 1, 32)
        if time.perf_counter() - start > args.deadline:
            save(training, args.out, epoch + 1)
            print(f"{epoch + 1} epochs done, to be continued", flush=True)
            return
    save(training, args.out, len(rates))
    score(len(rates), args.samples)


def best(paths: list[Path], dataset: str, method: str | None = None, penalty: float | None = None) -> dict:
    """The valid line of least value, of all methods and penalties unless they are named."""

    def fits(line: dict) -> bool:
        is_named = method in (None, line["method"]) and penalty in (None, line["penalty"])
        return line["feasible"] and line["dataset"] == dataset and is_named

    lines = [line for study in read(paths).values() for line in study]
    return min(filter(fits, lines), key=lambda line: line["value"])


def save(training: Training, folder: Path, done: int) -> None:
    torch.save({"done": done, "model": training.model.state_dict()}, folder / "state-model.pt")
    state = training.steps.adam.state
    for name, key in MOMENTS.items():
        values = [state[parameter][key] for parameter in training.model.parameters()]
        steps = [state[parameter]["step"] for parameter in training.model.parameters()]
        torch.save({"values": values, "steps": steps}, folder / f"state-{name}.pt")


def load(training: Training, folder: Path) -> int:
    """Puts the state into the tensors that are there: a graph holds their addresses. Leaves the epochs done."""
    if not training.steps.adam.state:  # without a GPU nothing has been stepped yet
        training.steps.warm()
    saved = torch.load(folder / "state-model.pt", map_location="cpu")
    training.model.load_state_dict(saved["model"])
    state = training.steps.adam.state
    for name, key in MOMENTS.items():
        moments = torch.load(folder / f"state-{name}.pt", map_location="cpu")
        parameters = training.model.parameters()
        for parameter, value, step in zip(parameters, moments["values"], moments["steps"], strict=True):
            state[parameter][key].copy_(value)
            state[parameter]["step"].copy_(step)
    return saved["done"]


if __name__ == "__main__":
    main()

"""Reconstructions and samples of the best network of each method: the paper's Figures 4 and 7.

    python pictures.py results/*.jsonl.gz --data DATA --out results/pictures.npz [--state FOLDER]

Enters: the lines of `run.py`, and with `--state` the network of a long training of their best. Leaves: bytes (rows,
28, 28) under `truth` and, for each network, `NAME/reconstructions` and `NAME/samples`, and `NAME/nats`. A network
whose line is in `--out` is not trained again.

Grey test images go in as they are; what comes out are probabilities, of the mean of q(z | x) or of z ~ N(0, I).
"""

import argparse
from pathlib import Path

import numpy as np
import torch

from long import best
from model import SIDE, Vae
from run import read
from train import Data, fit, log_likelihood, read_images

ROWS = 8
SEED = 7  # of the images and of z


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lines", type=Path, nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--methods", nargs="*", help="all that have a valid line")
    parser.add_argument("--state", type=Path, help="folder with state-model.pt: this network only")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--epochs", type=int, default=32, help="fewer only for a smoke test")
    parser.add_argument("--limit", type=int)
    args = parser.parse_args(arguments)
    torch.set_float32_matmul_precision("high")
    data = Data(args.data / args.dataset, args.device, args.limit)
    grey = chosen(args.data / args.dataset).to(args.device)
    pictures = dict(np.load(args.out)) if args.out.exists() else {}
    pictures["truth"] = as_bytes(grey)
    if args.state:
        saved = torch.load(args.state / "state-model.pt", map_location=args.device)
        model = Vae(best(args.lines, args.dataset)["params"]).to(args.device)
        model.load_state_dict(saved["model"])
        pictures |= show(f"{saved['done']} epochs", model, data, grey)
    else:
        for method in args.methods or valid_methods(args.lines, args.dataset):
            line = best(args.lines, args.dataset, method)
            if pictures.get(f"{method}/line") != line["value"]:
                model = fit(line["params"], data, 1000 * line["seed"] + line["index"], args.epochs)
                pictures |= show(method, model, data, grey) | {f"{method}/line": np.array(line["value"])}
                np.savez_compressed(args.out, **pictures)
    np.savez_compressed(args.out, **pictures)


def valid_methods(paths: list[Path], dataset: str) -> list[str]:
    found = read(paths).items()
    return sorted({s.method for s, lines in found if s.dataset == dataset and any(line["feasible"] for line in lines)})


def chosen(folder: Path) -> torch.Tensor:
    """Some grey test images, (ROWS, 784) in [0, 1]."""
    images = read_images(folder / "t10k-images-idx3-ubyte.gz")
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(SEED))
    return images[order[:ROWS]] / 255


@torch.no_grad()
def show(name: str, model: Vae, data: Data, grey: torch.Tensor) -> dict[str, np.ndarray]:
    """The three arrays of a network; its nats are estimated anew, with 32 samples."""
    z = torch.randn(ROWS, model.d_z, generator=torch.Generator().manual_seed(SEED)).to(grey.device)
    found = {"reconstructions": model.decode(model.encode(grey)[0]), "samples": model.decode(z)}
    nats = -log_likelihood(model, data.test, 32)
    print(f"{name}: {nats:.2f} nats", flush=True)
    drawn = {f"{name}/{what}": as_bytes(logits.sigmoid()) for what, logits in found.items()}
    return drawn | {f"{name}/nats": np.array(nats)}


def as_bytes(images: torch.Tensor) -> np.ndarray:
    return (images.clamp(0, 1) * 255).round().byte().reshape(-1, SIDE, SIDE).cpu().numpy()


if __name__ == "__main__":
    main()

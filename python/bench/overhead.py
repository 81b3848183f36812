"""What Python costs: one ask and tell at n = 100 beside the same in Rust, the size of the wheel, the time of an import.

Both sides need a release build::

    cargo build --release -p mivabo-store --example pace
    pip install maturin && maturin build --release --out wheels && pip install wheels/*.whl
    python bench/overhead.py ../examples/vae.toml
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import mivabo

ROOT = Path(__file__).resolve().parents[2]
PACE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "examples" / "pace"
BEFORE, MEASURED, ROUNDS = 100, 20, 15


def by_rust(path: str) -> list[float]:
    out = subprocess.run([PACE, path, str(BEFORE), str(MEASURED)], check=True, capture_output=True, text=True)
    return [float(line) for line in out.stdout.split()]


def by_python(path: str) -> list[float]:
    study = mivabo.Study(mivabo.Space.from_toml(path), name="pace")
    times = []
    for _ in range(BEFORE + MEASURED):
        began = time.perf_counter()
        trial = study.ask()
        study.tell(trial, float((trial.id * 7) % 10))
        times.append(time.perf_counter() - began)
    return times[BEFORE:]


def importing() -> float:
    """Seconds from the first line of a program to the end of the import."""
    code = "import time; t = time.perf_counter(); import mivabo; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True) for _ in range(11)]
    return statistics.median(float(run.stdout) for run in runs)


def main() -> None:
    path = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "examples" / "vae.toml")
    rust: list[list[float]] = []
    python: list[list[float]] = []
    for _ in range(ROUNDS):
        rust.append(by_rust(path))
        python.append(by_python(path))
    # Trial by trial the least of all rounds: what others do on the machine only adds.
    least = [sum(min(times) for times in zip(*side, strict=True)) / MEASURED for side in (rust, python)]
    print(f"ask and tell at n = {BEFORE}: rust {least[0] * 1e3:.3f} ms, python {least[1] * 1e3:.3f} ms")
    print(f"overhead of python: {100 * (least[1] / least[0] - 1):.2f} %")
    print(f"import: {importing() * 1e3:.0f} ms")


if __name__ == "__main__":
    main()

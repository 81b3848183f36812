"""A small version in seconds: `python -m unittest`. The Rust program is left out unless MIVABO_SYNTHETIC names it."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "comparison"))

import plot
import run
from tasks import drawn, make

PROGRAM = os.environ.get("MIVABO_SYNTHETIC")


class Functions(unittest.TestCase):
    def test_python_and_rust_give_recorded_points_the_same_value(self):
        for (task, seed), line in drawn.exported().items():
            function = drawn.function(line)
            for point in line["points"]:
                found = function(np.array(point["bits"], dtype=int), np.array(point["reals"]))
                self.assertAlmostEqual(found, point["value"], delta=1e-9 * (1 + abs(point["value"])), msg=(task, seed))

    def test_a_task_takes_bits_and_reals_by_their_names(self):
        for name in drawn.NAMES:
            point, task = drawn.exported()[name, 2]["points"][1], make(name, 2)
            params = {f"b{k}": bit for k, bit in enumerate(point["bits"])}
            params |= {f"x{k}": x for k, x in enumerate(point["reals"])}
            self.assertAlmostEqual(task.value(params), point["value"])
            self.assertTrue(task.is_feasible(params))

    @unittest.skipUnless(PROGRAM, "MIVABO_SYNTHETIC does not name the program")
    def test_the_program_exports_what_is_committed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "functions.jsonl"
            subprocess.run([PROGRAM, "--export", path, "--tasks", ",".join(drawn.NAMES), "--seeds", "1"], check=True)
            for line in run.read([path]):
                known = drawn.exported()[line["task"], line["seed"]]
                for name in ("monomials", "frequencies", "phases", "amplitudes", "weights"):
                    for row, other in zip(line[name], known[name], strict=True):
                        np.testing.assert_allclose(row, other, rtol=1e-12)


class Runs(unittest.TestCase):
    def test_a_peer_is_told_a_penalty_where_too_many_bits_are_set(self):
        lines = [json.loads(line) for line in run.run(run.Job("cardinality-own", "random", 0, 4, None)).splitlines()]

        self.assertTrue(all(line["feasible"] for line in lines))
        self.assertGreater(lines[-1]["violations"], 0)

    @unittest.skipUnless(PROGRAM, "MIVABO_SYNTHETIC does not name the program")
    def test_the_program_writes_lines_and_figures_come_of_them(self):
        tasks = ",".join(task + suffix for task in plot.TASKS for suffix in ("", "-own"))
        with tempfile.TemporaryDirectory() as folder:
            path, script = Path(folder) / "lines.jsonl", Path(__file__).with_name("plot.py")
            small = ["--tasks", tasks, "--methods", "random,improvement", "--seeds", "1", "--trials", "8"]
            subprocess.run([PROGRAM, path, *small], check=True, capture_output=True)
            peer = run.run(run.Job("gaussian-own", "random", 0, 8, None)).replace("random", "hyperopt")
            path.write_text(path.read_text() + peer)
            found = subprocess.run(
                [sys.executable, script, path, "--out", folder], check=True, capture_output=True, text=True
            )
            names = sorted(file.name for file in Path(folder).glob("*.svg"))

        self.assertEqual(names, ["synthetic-own.svg", "synthetic-peers.svg", "synthetic.svg"])
        self.assertIn("Infeasible suggestions of ours: 0 of 96", found.stdout)


class Curves(unittest.TestCase):
    def test_finding_nothing_feasible_is_an_error_of_one(self):
        errors = plot.normalised({"a": {0: [float("inf"), 2.0]}, "b": {0: [4.0, 0.0]}})

        self.assertEqual(errors, {"a": [[1.0, 0.5]], "b": [[1.0, 0.0]]})


if __name__ == "__main__":
    unittest.main()

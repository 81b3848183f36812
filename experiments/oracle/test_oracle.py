"""The harness against slow, obvious answers: `python -m unittest`. Left out where HiGHS or SCIP is not installed."""

import importlib.util
import itertools
import json
import random
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

for package in ("highspy", "pyscipopt"):
    if importlib.util.find_spec(package) is None:
        raise unittest.SkipTest(f"{package} is not installed")

import compare
import solvers
import table
from instances import Instance

STUB = """#!{python}
import json, sys
if sys.argv[1] == "--version":
    print("stub 1")
else:
    for line in open(sys.argv[2]):
        print(json.dumps(dict(name=json.loads(line)["name"], status="optimal", value={value}, bound={value},
                              nodes=1, seconds=0.0)))
"""


def random_instance(seed):
    """Seven bits under a row, a one-hot group and a table, in every sense and sign."""
    rng = random.Random(seed)
    n = 7
    return Instance(
        name=f"random_{seed}",
        family="random",
        n=n,
        linear=[rng.gauss(0, 1) for _ in range(n)],
        quadratic=[[i, j, rng.gauss(0, 1)] for i in range(n) for j in range(i + 1, n)],
        rows=[{"idx": [1, 3, 6], "coef": [2.0, -1.0, 3.0], "sense": "<=", "rhs": 3.0}],
        groups=[[0, 1, 2]] if seed % 2 else [],
        tables=[{"bits": [2, 4, 5], "allowed": rng.sample(range(8), 4)}],
    )


def exhaustive(instance):
    points = itertools.product((0, 1), repeat=instance.n)
    return min(instance.value(x) for x in points if instance.allows(x))


class Formulations(unittest.TestCase):
    def test_every_formulation_agrees_with_exhaustive_search(self):
        for seed in range(20):
            instance = random_instance(seed)
            best = exhaustive(instance)
            for solver in (solvers.Highs(), solvers.Scip()):
                for formulation in solver.formulations:
                    answer = solver.solve(instance, formulation, limit=10)
                    with self.subTest(seed=seed, solver=solver.name, formulation=formulation):
                        self.assertEqual(answer.status, "optimal")
                        self.assertAlmostEqual(answer.value, best, places=6)


class Comparison(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "bqp").mkdir()
        line = json.dumps({**vars(random_instance(0)), "best": exhaustive(random_instance(0)), "proven": True})
        (self.folder / "bqp" / "instances.jsonl").write_text(line + "\n", encoding="utf-8")

    def run_with_stub(self, value):
        stub = self.folder / "mivabo"
        stub.write_text(STUB.format(python=sys.executable, value=value), encoding="utf-8")
        stub.chmod(stub.stat().st_mode | stat.S_IXUSR)
        command = [sys.executable, "compare.py", "--data", self.folder, "--mivabo", stub, "--limit", "5"]
        out = ["--out", self.folder / "out.jsonl"]
        return subprocess.run(command + out, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)

    def lines(self):
        return (self.folder / "out.jsonl").read_text(encoding="utf-8").splitlines()

    def test_a_second_command_runs_nothing_again(self):
        best = exhaustive(random_instance(0))

        first, second = self.run_with_stub(best), self.run_with_stub(best)

        self.assertEqual((first.returncode, second.returncode), (0, 0), first.stderr)
        self.assertEqual(len(self.lines()), 6)

    def test_a_wrong_optimum_is_printed_loudly_and_fails(self):
        done = self.run_with_stub(exhaustive(random_instance(0)) - 1e-3)

        self.assertNotEqual(done.returncode, 0)
        self.assertIn("*** WRONG ***", done.stderr)

    def test_a_bound_above_a_known_value_is_wrong(self):
        line = {
            "instance": "i",
            "solver": "s",
            "formulation": "f",
            "best": -5.0,
            "proven": False,
            "status": "limit",
            "value": -4.0,
            "bound": -4.5,
        }

        self.assertEqual(len(compare.complaints(line)), 1)


class Tables(unittest.TestCase):
    def test_a_median_that_rests_on_an_unproved_run_is_a_lower_bound(self):
        proved, stopped = table.Time(1.0, True), table.Time(20.0, False)

        self.assertEqual(str(table.middle([proved, stopped])), "≥ 10")
        self.assertEqual(str(table.middle([proved, proved, stopped])), "1.0")

    def test_the_ratio_says_who_did_not_finish(self):
        proved, stopped = table.Time(1.0, True), table.Time(20.0, False)

        self.assertEqual(table.ratio(proved, stopped), "≥ 20")
        self.assertEqual(table.ratio(stopped, proved), "≤ 0.050")
        self.assertEqual(table.ratio(stopped, stopped), "?")


if __name__ == "__main__":
    unittest.main()

"""A small version in seconds: `python -m unittest`. Trainings are left out without XGBoost, runs without mivabo."""

import importlib.util
import itertools
import json
import tempfile
import unittest
from pathlib import Path

import numpy as np

import plot  # its folder first: it finds the comparison
import run
import trainings
from runs import Runs
from tasks import make, xgb

HAS = {name: importlib.util.find_spec(name) is not None for name in ("mivabo", "xgboost", "hyperopt", "optuna")}
PEERS = ["random"] + [
    name for name, package in {"hyperopt": "hyperopt", "optuna-tpe": "optuna"}.items() if HAS[package]
]


def write_data(folder: Path) -> None:
    """Data of the right form: the label of a steel plate is whether its first feature is positive."""
    rows = ["class a1 a2 a3 a4 a5 a6 ID", *(f"1 {k % 3 + 1} {k % 3 + 1} 1 1 3 1 data_{k}" for k in range(12))]
    (folder / "monks-1.train").write_text("\n".join(rows) + "\n")
    x = np.random.default_rng(0).normal(size=(90, 33)).round(3)
    lines = [",".join([*map(str, row), str(int(row[0] > 0))]) for row in x]
    (folder / "steel-plates-fault.csv").write_text("\n".join([",".join(["x"] * 34), *lines]) + "\n")


class Nearest(unittest.TestCase):
    def setUp(self):
        self.tree = trainings.setting(0) | {"booster": "gbtree", "nrounds": 100, "subsample": 0.5}
        self.linear = self.tree | {"booster": "gblinear"}
        self.value = xgb.nearest([{"params": self.tree, "value": 0.1}, {"params": self.linear, "value": 0.2}])

    def test_a_setting_of_the_table_has_its_own_value(self):
        self.assertEqual([self.value(self.tree), self.value(self.linear)], [0.1, 0.2])

    def test_rounds_are_near_by_their_logarithm(self):
        value = xgb.nearest([{"params": self.tree | {"nrounds": n}, "value": n} for n in (10, 1000)])

        self.assertEqual([value(self.tree | {"nrounds": n}) for n in (90, 110)], [10, 1000])

    def test_parameters_of_trees_do_not_matter_to_linear_boosting(self):
        far = self.linear | {"subsample": 0.1, "max_depth": 1}
        value = xgb.nearest(
            [{"params": self.linear, "value": 0.2}, {"params": far | {"eta": 0.99 * far["eta"]}, "value": 0.3}]
        )

        self.assertEqual(value(far), 0.2)

    def test_settings_of_the_committed_tables_are_their_own_neighbours(self):
        for name in xgb.NAMES:
            for k, line in enumerate(itertools.islice(run.read([xgb.TABLES / f"{name}.jsonl.gz"]), 20)):
                self.assertEqual(line["params"], trainings.setting(k))
                self.assertEqual(make(name, 3).value(line["params"]), line["value"])


@unittest.skipUnless(HAS["xgboost"], "xgboost is not installed")
class Table(unittest.TestCase):
    def test_a_table_that_is_continued_is_the_table_made_at_once(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_data(folder)
            found = []
            for parts in ((6,), (2, 6)):
                path = folder / f"{len(parts)}"
                path.mkdir()
                for most in parts:
                    trainings.build("xgb-steel", folder, path, 60.0, most)
                found.append([line["value"] for line in run.read([path / "xgb-steel.jsonl"])])

        self.assertEqual(*found)

    def test_monks_problem_has_the_rows_of_openml(self):
        with tempfile.TemporaryDirectory() as name:
            write_data(Path(name))

            x, y = xgb.monks(Path(name))

        self.assertEqual((x.shape, y.sum()), ((432 + 12, 17), 216 + 12))
        self.assertTrue((x.sum(axis=1) == 6).all())


@unittest.skipUnless(HAS["mivabo"], "mivabo is not installed")
class Methods(unittest.TestCase):
    def test_methods_run_on_the_table(self):
        for method in ["mivabo:improvement", "mivabo:random", *PEERS]:
            lines = [json.loads(line) for line in run.run(run.Job("xgb-steel", method, 0, 8, None)).splitlines()]
            self.assertEqual([line["feasible"] for line in lines], [True] * 8, method)


class Figures(unittest.TestCase):
    def test_the_same_lines_give_the_same_bytes_and_wins_are_counted(self):
        lines = [
            {"task": "xgb-steel", "method": method, "seed": seed, "index": i, "value": v / (i + 1)}
            for method, v in (("mivabo:improvement", 0.2), ("hyperopt", 0.3))
            for seed in range(2)
            for i in range(20)
        ]
        runs = Runs.read([line | {"feasible": True, "violations": 0, "seconds": 0.1} for line in lines], {})
        with tempfile.TemporaryDirectory() as name:
            paths = [Path(name) / f"{k}.svg" for k in range(2)]
            for path in paths:
                plot.draw(runs, ["xgb-steel"], path)
            self.assertEqual(*(path.read_bytes() for path in paths))

        self.assertIn("| `hyperopt` | 3.00 ± 0.00 | 1.50 ± 0.00 | - | - | > 20 | 2/0/0 | - | 2 |", plot.page(runs))


if __name__ == "__main__":
    unittest.main()

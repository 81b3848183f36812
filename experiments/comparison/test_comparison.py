"""A small comparison in seconds: `python -m unittest`. Peers that are not installed are left out."""

import importlib.util
import json
import random
import tempfile
import unittest
from pathlib import Path

import numpy as np

import ablation
import branches
import failures
import methods
import run
import scale
import table
import tasks
from runs import CONSTRAINED, FIXED, Runs, compare
from space import Parameter, Params, is_active
from tasks import boosting, vae

HAS_MIVABO = importlib.util.find_spec("mivabo") is not None
NEEDS = {"hyperopt": "hyperopt", "optuna-tpe": "optuna", "smac": "smac"}
INSTALLED = ["random"] + [method for method, package in NEEDS.items() if importlib.util.find_spec(package)]


def drawn(space: list[Parameter], draw: random.Random) -> Params:
    """A random point, feasible or not."""
    params: Params = {}
    for p in space:
        if is_active(p, params):
            params[p.name] = draw.choice(p.levels) if p.levels else draw.uniform(p.low, p.high)
    return params


def lines(task: str, method: str, values: list[float | None], seed: int = 0) -> list[dict]:
    base = {"task": task, "method": method, "seed": seed, "violations": 0, "seconds": 0.0}
    return [base | {"index": i, "value": v, "feasible": v is not None} for i, v in enumerate(values)]


class Tasks(unittest.TestCase):
    def test_an_instance_is_the_same_every_time_and_moves_with_its_seed(self):
        for name in tasks.CHEAP:
            first, again, other = (tasks.make(name, seed) for seed in (0, 0, 1))
            params = drawn(first.space, random.Random(3))
            self.assertEqual(first.value(params), again.value(params), name)
            self.assertEqual(first.value(params) == other.value(params), first.fixed, name)

    def test_no_value_is_below_the_known_optimum(self):
        for name in tasks.CHEAP:
            task, draw = tasks.make(name, 2), random.Random(0)
            if task.best is not None:
                points = [drawn(task.space, draw) for _ in range(300)]
                found = [task.value(p) for p in points if task.is_feasible(p)]
                self.assertGreaterEqual(min(found, default=np.inf), task.best - 1e-6, name)

    def test_known_designs_have_their_known_values(self):
        vessel, reducer = tasks.make("pressure-vessel", 0), tasks.make("speed-reducer", 0)
        best = {"shell": 13, "head": 7, "radius": 42.0984455, "length": 176.6366}
        gears = {"width": 3.5, "module": 0.7, "teeth": 17, "length1": 7.3, "length2": 7.71532, "diameter1": 3.35021467}
        gears["diameter2"] = 5.28665447

        self.assertAlmostEqual(vessel.value(best), 6059.714, delta=0.01)
        self.assertAlmostEqual(reducer.value(gears), 2994.471, delta=0.01)
        self.assertLess(max(reducer.excess(gears)), 1e-5)

    def test_the_optimum_of_a_moved_function_is_where_it_was_moved(self):
        sphere = tasks.make("rastrigin", 5)
        draw = tasks.task.draws("rastrigin", 5)
        shift = [*map(int, draw.integers(-5, 6, 5)), *draw.uniform(-5, 5, 3)]
        names = [p.name for p in sphere.space]

        self.assertAlmostEqual(sphere.value(dict(zip(names, shift, strict=True))), 0.0)

    def test_only_the_best_branch_of_a_choice_among_algorithms_counts_as_found(self):
        for name in tasks.branches.NAMES:
            for seed in range(3):
                task, draw = tasks.make(name, seed), random.Random(seed)
                points = [drawn(task.space, draw) for _ in range(2000)]
                found = {p["model"] for p in points if task.value(p) < tasks.branches.FOUND}
                self.assertLessEqual(len(found), 1, name)
                self.assertGreaterEqual(min(map(task.value, points)), task.best)

    def test_the_tables_know_which_tasks_are_constrained(self):
        for name in tasks.CHEAP:
            task = tasks.make(name, 0)
            self.assertEqual((task.is_constrained, task.fixed), (name in CONSTRAINED, name in FIXED), name)

    def test_a_layer_is_there_only_where_its_condition_holds(self):
        space = {p.name: p for p in tasks.make("layers", 0).space}

        self.assertEqual(space["units2"].condition.values, (3, 4))
        self.assertFalse(is_active(space["units2"], {"n_layers": 2}))

    def test_constraints_of_the_vae_are_those_of_the_paper(self):
        one = {"n_conv": 0, "n_deconv": 1, "d1_stride": 2, "d1_filter": 3, "d1_pad": 0, "d1_out": 3, "d1_channels": 8}

        self.assertEqual(vae.excess(one), [10])
        self.assertEqual(vae.excess({"n_conv": 0, "n_deconv": 0, "d1_channels": 16}), [0.0])

    @unittest.skipUnless(HAS_MIVABO, "mivabo is not installed")
    def test_plain_python_and_mivabo_agree_on_what_is_feasible(self):
        import mivabo

        texts = {name: tasks.make(name, 0) for name in tasks.CHEAP if name in CONSTRAINED}
        texts["vae"] = tasks.Task("vae", 0, vae.TEXT, lambda _: 0.0, vae.excess)
        for name, task in texts.items():
            space, draw = mivabo.Space.from_toml(task.text), random.Random(1)
            inside = [dict(params) for params in space.sample(10, seed=1)]
            for params in inside + [drawn(task.space, draw) for _ in range(100)]:
                self.assertEqual(task.is_feasible(params), not space.check(params), (name, params))


@unittest.skipUnless(HAS_MIVABO, "mivabo is not installed")
class Comparison(unittest.TestCase):
    def test_every_method_that_is_installed_runs_and_ours_is_never_infeasible(self):
        ours = ["mivabo:improvement", "mivabo:random"]
        for method in ours + INSTALLED:
            for name in ("func3c", "layers"):
                found = [json.loads(line) for line in run.run(run.Job(name, method, 0, 4, None)).splitlines()]
                self.assertEqual([line["index"] for line in found], [0, 1, 2, 3])
                if method in ours:
                    self.assertTrue(all(line["feasible"] and line["violations"] == 0 for line in found))

    def test_failed_evaluations_count_and_have_no_value(self):
        def values(name: str, failing: str) -> list[float | None]:
            job = run.Job(name, "mivabo:improvement", 0, 12, None, failing=failing)
            found = [json.loads(line) for line in run.run(job).splitlines()]
            self.assertTrue(all(line["feasible"] and line["violations"] == 0 for line in found))
            return [line["value"] for line in found]

        self.assertEqual(values("func3c", "1.0"), [None] * 12)
        self.assertIn(values("func3c", "0.5").count(None), range(2, 11))
        self.assertEqual(len(values("heads", "untold")), 12)
        heads = tasks.make("heads", 0)
        self.assertNotIn("[constraints]", heads.untold().text)
        self.assertEqual(heads.untold().space, heads.space)
        points = [drawn(heads.space, random.Random(seed)) for seed in range(50)]
        self.assertEqual([heads.untold().fails(p) for p in points], [not heads.is_feasible(p) for p in points])

    def test_the_committed_table_of_failures_is_that_of_its_lines(self):
        folder = failures.RESULTS
        self.assertEqual((folder / "README.md").read_text(), failures.text(sorted(folder.glob("*.gz"))))

    def test_the_committed_table_of_branches_is_that_of_its_lines(self):
        folder = branches.RESULTS
        self.assertEqual((folder / "README.md").read_text(), branches.text(sorted(folder.glob("*.gz"))))

    @unittest.skipUnless("optuna-tpe" in INSTALLED, "Optuna is not installed")
    def test_a_repaired_peer_is_never_infeasible(self):
        found = [json.loads(line) for line in run.run(run.Job("buffers", "optuna-tpe:repair", 0, 4, None)).splitlines()]

        self.assertEqual(found[-1]["violations"], 0)

    def test_equal_seeds_give_equal_runs(self):
        first, again = (run.run(run.Job("ackley", "mivabo:improvement", 1, 8, None)) for _ in range(2))
        values = [[json.loads(line)["value"] for line in text.splitlines()] for text in (first, again)]

        self.assertEqual(*values)

    def test_a_strategy_is_named_with_the_size_of_its_design(self):
        method = methods.make("mivabo:improvement@2", methods.Setting(tasks.make("func3c", 0), 0, 3, 0.0))
        for value in (1.0, 0.5):
            method.tell(method.ask(), value)

        method.ask()

        self.assertIn("improvement", method.trial.origin)


class Tables(unittest.TestCase):
    def setUp(self):
        self.scale = {
            "nk/0": {"median": 1.0, "worst": 9.0, "best": 0.0},
            "heads/0": {"median": 3.0, "worst": 9.0, "best": None},
        }

    def test_a_score_is_zero_at_the_best_known_and_one_at_the_median_or_without_a_point(self):
        runs = Runs.read(
            lines("nk", "a", [2.0, 0.5, 0.7]) + lines("heads", "a", [None, 2.0]) + lines("heads", "b", [1.0]),
            self.scale,
        )

        self.assertEqual(list(runs.scores("nk", "a")[0]), [1.0, 0.5, 0.5])
        self.assertEqual(list(runs.scores("heads", "a")[0]), [1.0, 0.5])

    def test_finding_nothing_ties_with_finding_nothing_and_loses_to_anything(self):
        self.assertEqual([compare(np.inf, np.inf), compare(1.0, np.inf), compare(1.0, 1.0 + 1e-12)], [0, 1, 0])

    def test_a_variant_for_constraints_is_its_peer_where_there_are_none(self):
        runs = Runs.read(lines("nk", "optuna-tpe", [2.0]) + lines("heads", "optuna-tpe:repair", [2.0]), self.scale)

        self.assertEqual(list(runs.seeds("nk", "optuna-tpe:repair")[0]), [2.0])
        self.assertEqual(list(runs.seeds("heads", "optuna-tpe:repair")), [0])

    def test_the_same_lines_give_the_same_bytes(self):
        found = [
            lines(t, m, [3.0 - i / 80 for i in range(80)])
            for t in ("nk", "heads")
            for m in ("mivabo:improvement", "smac")
        ]
        runs = Runs.read(
            [line for run_lines in found for line in run_lines],
            self.scale
            | {
                f"{name}/0": {"median": 1.0, "worst": 1.0, "best": 1.0} for name in ("pressure-vessel", "speed-reducer")
            },
        )
        bytes_ = []
        for _ in range(2):
            with tempfile.TemporaryDirectory() as folder:
                table.figures.draw(runs, table.groups(runs), Path(folder))
                page = table.page(runs, "mivabo:improvement")
                bytes_.append((page, (Path(folder) / "scores.svg").read_bytes()))

        self.assertIn("0/1/0", bytes_[0][0])
        self.assertEqual(*bytes_)

    def test_an_ablation_compares_equal_tasks_and_seeds(self):
        variant = f"{ablation.DEFAULT}:draws=no"
        scale_of_two = self.scale | {"nk/1": self.scale["nk/0"], "nk/2": self.scale["nk/0"]}
        curves = [("draws=no", 0, 0.5), ("draws=no", 1, 0.7), ("", 0, 0.4), ("", 1, 0.4), ("", 2, 0.1)]
        found = [
            line
            for settings, seed, value in curves
            for line in lines("nk", variant if settings else ablation.DEFAULT, [value] * 80, seed)
        ]

        row = ablation.row(Runs.read(found, scale_of_two), "draws=no")

        self.assertEqual(row[2:4], ["2", "+0.200 ± 0.100"])
        self.assertEqual(row[-1], "not run")

    @unittest.skipUnless(HAS_MIVABO, "mivabo is not installed")
    def test_mivabo_knows_every_variant_of_the_ablation(self):
        for method in ablation.METHODS:
            self.assertEqual(len(run.run(run.Job("func3c", method, 0, 1, None)).splitlines()), 1)

    def test_finished_runs_are_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "lines.jsonl"
            path.write_text(
                "".join(json.dumps(line) + "\n" for line in [{"versions": {}}, *lines("nk", "smac", [1.0])])
            )

            self.assertEqual(run.finished(path), {("nk", "smac", 0)})

    def test_runs_that_are_made_again_are_dropped_first_and_others_stay(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "lines.jsonl"
            kept = [{"versions": {}}, *lines("nk", "smac", [1.0]), *lines("heads", "hyperopt", [1.0])]
            path.write_text("".join(json.dumps(line) + "\n" for line in kept + lines("nk", "hyperopt", [2.0])))

            run.forget(path, ["nk"], ["hyperopt", "random"])

            self.assertEqual(list(run.read([path])), kept)

    def test_every_instance_of_the_results_has_a_scale(self):
        known = scale.read()
        for path in scale.PATH.parent.glob("*.jsonl.gz"):
            for line in run.read([path]):
                if "task" in line:
                    self.assertIn(Runs.instance(line["task"], line["seed"]), known)


class Speed(unittest.TestCase):
    @unittest.skipUnless(HAS_MIVABO and "optuna-tpe" in INSTALLED, "mivabo or Optuna is not installed")
    def test_both_sides_of_the_clock_take_the_same_outcomes(self):
        import speed

        known = speed.outcomes(3)

        for side in (speed.ours, speed.theirs):
            self.assertEqual(len(speed.times(side(known), 2)), 2)


class DefineByRun(unittest.TestCase):
    @unittest.skipUnless(HAS_MIVABO and "optuna-tpe" in INSTALLED, "mivabo or Optuna is not installed")
    def test_every_method_evaluates_both_objectives(self):
        import define_by_run

        jobs = [(name, method, 0, 4) for name in define_by_run.OBJECTIVES for method in define_by_run.METHODS]
        lines = [define_by_run.line(job) for job in jobs]

        self.assertEqual(define_by_run.table(lines).count(" of 1 |"), len(jobs))


class Data(unittest.TestCase):
    def test_monks_has_432_rows_of_which_half_are_positive(self):
        x, y = boosting.monks()

        self.assertEqual((x.shape, int(y.sum())), ((432, 17), 216))

    def test_an_unknown_method_is_named(self):
        with self.assertRaisesRegex(ValueError, "`nonsense`"):
            methods.make("nonsense", methods.Setting(tasks.make("nk", 0), 0, 1, 0.0))


if __name__ == "__main__":
    unittest.main()

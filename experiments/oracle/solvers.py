"""The three solvers under one contract.

`solve(instance, formulation, limit)` of each returns an `Answer`: status in the words of `mivabo solve`
(`optimal`, `limit`, `infeasible`, `unknown`), CPU seconds, the value of the point found (recomputed where the
solver hands the point out) and the bound. All run on one thread, with relative gap 1e-9 and the same limit.
"""

import hashlib
import json
import resource
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import highspy
import pyscipopt

import linearise

GAP = 1e-9


@dataclass(frozen=True)
class Answer:
    """What one run found, and what it cost."""

    status: str
    seconds: float
    value: float | None = None
    bound: float | None = None
    nodes: int | None = None
    reported_seconds: float | None = None


class Highs:
    """HiGHS on a linearisation: its own quadratic objectives are convex and continuous only."""

    name = "highs"
    formulations = ("fortet", "glover")

    def version(self):
        return highspy.Highs().version()

    def solve(self, instance, formulation, limit):
        mip = getattr(linearise, formulation)(instance)
        highs = linearise.quiet_highs()
        highs.setOptionValue("mip_rel_gap", GAP)
        highs.setOptionValue("mip_abs_gap", GAP)
        highs.setOptionValue("time_limit", float(limit))
        highs.passModel(linearise.highs_model(mip))
        start = time.process_time()
        highs.run()
        return self._answer(highs, instance, time.process_time() - start)

    @staticmethod
    def _answer(highs, instance, seconds):
        statuses = highspy.HighsModelStatus
        status = {
            statuses.kOptimal: "optimal",
            statuses.kTimeLimit: "limit",
            statuses.kInfeasible: "infeasible",
        }.get(highs.getModelStatus(), "unknown")
        info = highs.getInfo()
        has_point = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        point = highs.getSolution().col_value if has_point else None
        value = _value_at(instance, point)
        return Answer(status, seconds, value, _finite(info.mip_dual_bound), info.mip_node_count)


class Scip:
    """SCIP on its native quadratic form (epigraph t >= x'Qx + c'x), or on either linearisation."""

    name = "scip"
    formulations = ("native", "fortet", "glover")

    def version(self):
        model = pyscipopt.Model()
        return f"{model.getMajorVersion()}.{model.getMinorVersion()}.{model.getTechVersion()}"

    def solve(self, instance, formulation, limit):
        model, bits = self._model(instance, formulation)
        model.hideOutput()
        model.setParam("limits/gap", GAP)
        model.setParam("limits/time", float(limit))
        model.setParam("lp/threads", 1)
        start = time.process_time()
        model.optimize()
        return self._answer(model, bits, instance, time.process_time() - start)

    def _model(self, instance, formulation):
        if formulation != "native":
            return _scip_model(getattr(linearise, formulation)(instance))
        model, bits = _scip_model(linearise.constraints(instance))
        _add_epigraph(model, bits, instance)
        return model, bits

    @staticmethod
    def _answer(model, bits, instance, seconds):
        status = {
            "optimal": "optimal",
            "gaplimit": "optimal",
            "timelimit": "limit",
            "infeasible": "infeasible",
        }.get(model.getStatus(), "unknown")
        point = [model.getVal(bit) for bit in bits] if model.getNSols() else None
        bound = _finite(model.getDualbound())
        return Answer(status, seconds, _value_at(instance, point), bound, model.getNTotalNodes())


class Mivabo:
    """Our solver, as a user meets it: one process per instance, its whole CPU time counted.

    Start-up and reading the file count against us (about a millisecond); what the solver says of its own time is
    kept as `reported_seconds`.
    """

    name = "mivabo"
    formulations = ("exact",)

    def __init__(self, binary):
        self._binary = str(binary)

    def version(self):
        """The version it prints and the start of the binary's hash: a rebuilt binary is another solver."""
        printed = subprocess.run([self._binary, "--version"], check=True, capture_output=True, text=True).stdout
        build = hashlib.sha256(Path(self._binary).read_bytes()).hexdigest()[:8]
        return f"{printed.strip()}, build {build}"

    def solve(self, instance, formulation, limit):
        del formulation  # there is one
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "instance.jsonl"
            file.write_text(json.dumps(_without_answer(instance)) + "\n", encoding="utf-8")
            command = [self._binary, "solve", str(file), "--limit", str(limit), "--threads", "1"]
            before = _children_cpu()
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=patience(limit))
            except subprocess.TimeoutExpired:
                return Answer("limit", limit)
            seconds = _children_cpu() - before
        if done.returncode != 0 or not done.stdout.strip():
            raise RuntimeError(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
        return self._answer(json.loads(done.stdout.splitlines()[0]), instance, seconds)

    @staticmethod
    def _answer(line, instance, seconds):
        point = [int(bit) for bit in line["x"]] if line.get("x") else None
        value = line["value"] if point is None else _value_at(instance, point)
        return Answer(line["status"], seconds, value, line["bound"], line["nodes"], line["seconds"])


def patience(limit):
    """Wall seconds after which a solver that ignores its limit is stopped: it then gets no value and no bound."""
    return 2.0 * limit + 30.0


def _without_answer(instance):
    """The instance as a user would write it: a solver must not be able to read the best value known."""
    return {key: value for key, value in vars(instance).items() if key not in ("best", "proven")}


def _children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _value_at(instance, point):
    """The objective at the rounded point, because solvers allow themselves 1e-6 on every row and bit."""
    if point is None:
        return None
    x = [round(bit) for bit in point[: instance.n]]
    if not instance.allows(x):
        raise RuntimeError(f"{instance.name}: the rounded point violates a constraint")
    return instance.value(x)


def _finite(bound):
    return bound if abs(bound) < 1e19 else None


def _scip_model(mip):
    """`mip` as a SCIP model, and the variables of its bits."""
    model = pyscipopt.Model()
    columns = [
        model.addVar(
            vtype="B" if i < mip.n_bits else "C",
            lb=mip.lower[i],
            ub=None if mip.upper[i] == linearise.INFINITY else mip.upper[i],
            obj=mip.cost[i],
        )
        for i in range(mip.n_columns)
    ]
    for lower, upper, indices, coefficients in mip.rows:
        activity = pyscipopt.quicksum(c * columns[i] for i, c in zip(indices, coefficients, strict=True))
        if lower == upper:
            model.addCons(activity == lower)
        elif lower == -linearise.INFINITY:
            model.addCons(activity <= upper)
        else:
            model.addCons(activity >= lower)
    return model, columns[: mip.n_bits]


def _add_epigraph(model, bits, instance):
    """t >= Σ q_ij x_i x_j with t in the objective: SCIP accepts only linear objectives."""
    epigraph = model.addVar(lb=None, obj=1.0)
    products = linearise.possible_products(instance)
    model.addCons(pyscipopt.quicksum(q * bits[i] * bits[j] for i, j, q in products) <= epigraph)
